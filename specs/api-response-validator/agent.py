"""Asks the API for the state of each order in orders.txt and writes them to states.json."""
import json
import os
from pathlib import Path
from urllib.request import urlopen

states = {}
for number in Path("orders.txt").read_text().split():
    with urlopen(f"{os.environ['API']}/orders/{number}", timeout=10) as answer:
        order = json.load(answer)
    states[order["id"]] = order["status"]
    print(f"{order['id']}: {order['status']}")
Path("states.json").write_text(json.dumps(states, indent=2) + "\n")
