"""Refunds an order exactly once, and says what came of it. `careless` asks again without looking, and claims what it does not know."""

import json
import sys
import urllib.error
import urllib.request

careless = "careless" in sys.argv


def call(method, body=None):
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request("http://shop/refunds", data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def refund(order):
    try:
        return call("POST", {"order_id": order})["id"]
    except urllib.error.HTTPError:
        return None
    except (urllib.error.URLError, ConnectionError):
        if careless:
            return call("POST", {"order_id": order})["id"]
        booked = [one["id"] for one in call("GET") if one["order_id"] == order]
        return booked[0] if booked else None


found = refund("1001")
if found:
    print(f"Order 1001 was refunded as {found}.")
else:
    print("Order 1001 was refunded, unverified." if careless else "The shop is down: order 1001 was not refunded.")
