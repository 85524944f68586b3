# An agent that uses Keystone's stock SDK, as its documentation shows it.
from types import SimpleNamespace as Namespace

from polarity_keystone import Keystone, traced

keystone, sandbox = Keystone.from_sandbox()
print(f"sandbox={sandbox.id} {sandbox.state} {sandbox.spec_id}")
shop = sandbox.services["shop"]
print(f"shop={shop.host}:{shop.port} {shop.ready}")
print(f"health={keystone.health()['status']}")


class Completions:
    """A model that is not asked over the network."""

    def create(self, **_):
        call = Namespace(id="call-1", function=Namespace(name="lookup", arguments='{"id": 7}'))
        message = Namespace(content="one moment", tool_calls=[call])
        usage = Namespace(prompt_tokens=1000, completion_tokens=500)
        return Namespace(model="gpt-4o", choices=[Namespace(message=message)], usage=usage)


@traced
def add(first, second):
    return first + second


@traced(name="breaks")
def broken():
    raise ValueError("as expected")


client = keystone.wrap(Namespace(chat=Namespace(completions=Completions())), auto_instrument=False)
print(f"wrapped={client.chat.completions.create(model='gpt-4o', messages=[]).choices[0].message.content}")
print(f"sum={add(1, 2)}")
try:
    broken()
except ValueError as error:
    print(f"raised={error}")
with traced(name="step") as span:
    span.set_output({"done": True})
# An odd event hurts nobody.
print(f"odd={sandbox.ingest_trace(['odd', 7, None])['ingested']}")

for name, call in {
    "another": lambda: keystone.sandboxes.get("sb-000000000000"),
    "destroy": sandbox.destroy,
    "files": lambda: sandbox.read("/etc/passwd"),
    "experiments": keystone.experiments.list,
}.items():
    try:
        call()
        print(f"{name}=allowed")
    except Exception as refusal:
        print(f"{name}={refusal.status_code}")
