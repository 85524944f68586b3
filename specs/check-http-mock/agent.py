"""Reads the temperature of each room and reports them, again while the service is busy."""
import json
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

HOUSE = "http://house"
HEADERS = {"Content-Type": "application/json", "X-Api-Version": "2"}


def call(path, body=None):
    """The status, headers and JSON of the answer, and how many milliseconds it took."""
    start = time.monotonic()
    data = None if body is None else json.dumps(body).encode()
    try:
        answer = urlopen(Request(HOUSE + path, data, HEADERS if data else {}), timeout=10)
    except HTTPError as error:
        answer = error
    text = answer.read()
    took = (time.monotonic() - start) * 1000
    return answer.status, answer.headers, json.loads(text) if answer.status < 300 else None, took


_, headers, rooms, _ = call("/rooms?unit=celsius")
report = {"source": "agent", "version": headers["ETag"], "readings": [], "slow": []}
for name in rooms:
    _, _, room, took = call(f"/rooms/{name}")
    report["readings"].append({"room": room.get("room", name), "celsius": room["celsius"]})
    report["slow"] += [name] * (took >= 100)
status, headers, taken, took = call("/reports", report)
while status == 503:
    report["busy"] = {"ms": took, "retry_after": headers["Retry-After"]}
    time.sleep(float(headers.get("Retry-After", 1)))
    status, headers, taken, took = call("/reports", report)
status, *_ = call("/reports", report)
with open("receipt.txt", "w") as file:
    file.write(f"{taken['id']} {status}\n")
print(f"{len(rooms)} rooms reported")
