"""Refunds order 1001 exactly once: after a failure it looks whether the refund was booked, and never simply tries again."""

import http.client
import json
import sys
import time
import urllib.error
import urllib.request

SHOP = "http://shop/refunds"


def booked():
    """The refund that the shop has, asked for up to five times; None when there is none."""
    for attempt in range(5):
        try:
            with urllib.request.urlopen(SHOP, timeout=5) as answer:
                refunds = json.load(answer)
                return refunds[0]["id"] if refunds else None
        except (urllib.error.URLError, ConnectionError, http.client.HTTPException, ValueError):
            time.sleep(0.05 * (attempt + 1))
    sys.exit("The shop does not say whether order 1001 was refunded.")


def book():
    """Asks for the refund; its id, or None when no answer came."""
    request = urllib.request.Request(SHOP, json.dumps({"order_id": "1001"}).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.load(answer)["id"]
    except (urllib.error.URLError, ConnectionError, http.client.HTTPException):
        return None


refund = booked() or book() or booked()
if refund is None:
    sys.exit("Order 1001 was not refunded.")
print(f"Order 1001 was refunded as {refund}.")
