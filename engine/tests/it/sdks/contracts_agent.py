# An agent that uses stock packages while tool contracts decide on the calls of its model.
import anthropic
import openai

PARAMETERS = {"type": "object", "properties": {"amount": {"type": "number"}}}
CHAT = [{"type": "function", "function": {"name": name, "parameters": PARAMETERS}} for name in ("look", "pay")]
RESPONSES = [{"type": "function", "name": name, "parameters": PARAMETERS, "strict": False} for name in ("look", "pay")]
MESSAGES = [{"name": name, "input_schema": PARAMETERS} for name in ("look", "pay")]
USER = {"role": "user", "content": "pay"}

# The clients' own retries are on: a refusal is not tried again.
one = openai.OpenAI(_strict_response_validation=True)
other = anthropic.Anthropic(_strict_response_validation=True)

try:
    one.chat.completions.create(model="m", messages=[USER], tools=CHAT)
except openai.PermissionDeniedError as error:
    print("chat", error.type, error.code)

stream = one.chat.completions.create(model="m", messages=[USER], tools=CHAT, stream=True)
names = [call.function.name for chunk in stream for choice in chunk.choices for call in choice.delta.tool_calls or [] if call.function.name]
print("stream", *names)
history = [
    USER,
    {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1_0", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "call_1_0", "content": '{"state": "fine"}'},
]
answer = one.chat.completions.create(model="m", messages=history, tools=CHAT)
print("paid", answer.choices[0].message.tool_calls[0].function.arguments)

try:
    with other.messages.stream(model="m", max_tokens=100, messages=[USER], tools=MESSAGES) as stream:
        stream.get_final_message()
except anthropic.PermissionDeniedError as error:
    print("messages", error.body["error"]["type"], error.body["error"]["code"])

try:
    one.responses.create(model="m", input="pay", tools=RESPONSES)
except openai.PermissionDeniedError as error:
    print("responses", error.type, error.code)

print("text", one.responses.create(model="m", input="thanks", tools=RESPONSES).output_text)
