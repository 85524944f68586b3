"""Reads the temperature of each room and reports them, again while the service is busy."""
import json
import time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

HOUSE = "http://house"


def get(path):
    with urlopen(HOUSE + path, timeout=10) as answer:
        return json.load(answer)


def report(body):
    headers = {"Content-Type": "application/json", "X-Api-Version": "2"}
    for _ in range(3):
        try:
            return urlopen(Request(f"{HOUSE}/reports", json.dumps(body).encode(), headers), timeout=10).close()
        except HTTPError as error:
            if error.code != 503:
                raise
            time.sleep(float(error.headers.get("Retry-After", 1)))
    raise SystemExit("the service stays busy")


readings = [{"room": room, "celsius": get(f"/rooms/{room}")["celsius"]} for room in get("/rooms?unit=celsius")]
report({"source": "agent", "readings": readings})
print(f"{len(readings)} rooms reported")
