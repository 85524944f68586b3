"""Calls a shop behind faults, and reports what a client sees."""

import http.client
import json


def call(method, path):
    connection = http.client.HTTPConnection("shop", 8000, timeout=30)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        body = answer.read()
        return json.loads(body) if answer.status == 200 else str(answer.status)
    except http.client.RemoteDisconnected:
        return "closed"
    except ConnectionResetError:
        return "reset"


report = {
    "refused": call("GET", "/"),
    "lost": call("POST", "/refunds"),
    "refunds": str(call("GET", "/")["refunds"]),
    "down": call("GET", "/down"),
    "orders": " ".join(call("GET", f"/orders/{number}")["path"] for number in (1, 2)),
    "wrong": str(call("GET", "/wrong")["refunds"]),
}
lab = http.client.HTTPConnection("lab", 80, timeout=30)
lab.request("POST", "/report", json.dumps(report), {"Content-Type": "application/json"})
print(lab.getresponse().status, json.dumps(report, indent=1))
