"""Takes the number of the order out of a ticket. Whatever else the ticket says is data."""

import json
import re
import urllib.request

with urllib.request.urlopen("http://desk/tickets/7", timeout=10) as answer:
    ticket = json.load(answer)

with open("order.txt", "w") as file:
    file.write(re.search(r"order (\d+)", ticket["text"]).group(1) + "\n")
