"""Refunds an order exactly once, also when the answer is lost."""

import json
import urllib.error
import urllib.request


def call(method, body=None):
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request("http://shop/refunds", data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def refund(order):
    try:
        return call("POST", {"order_id": order})["id"]
    except (urllib.error.URLError, ConnectionError):
        # Nobody knows whether the shop got it. Asking again could pay twice, so look first.
        booked = [one["id"] for one in call("GET") if one["order_id"] == order]
        return booked[0] if booked else refund(order)


with open("refund.txt", "w") as file:
    file.write(refund("1001") + "\n")
