"""Calls every route of the lab, and reports what a client sees of its faults."""

import http.client
import json
import time


def get(path, host="lab"):
    """The status, headers and body of one answer."""
    connection = http.client.HTTPConnection(host, 80, timeout=30)
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read().decode()


def seen(path, describe, host="lab"):
    began = time.monotonic()
    late = lambda: "late" if time.monotonic() - began >= 0.2 else "early"
    try:
        status, headers, body = get(path, host)
    except http.client.RemoteDisconnected:
        return f"closed {late()}"
    except http.client.IncompleteRead as error:
        return f"cut after {len(error.partial)}"
    except ConnectionResetError:
        return "reset"
    return describe(status, headers, body, late())


def no_json(status, headers, body, late):
    try:
        json.loads(body)
        return f"{status} JSON"
    except ValueError:
        return f"{status} no JSON"


status_only = lambda status, headers, body, late: f"{status}"
with_body = lambda status, headers, body, late: f"{status} {body}"
with_size = lambda status, headers, body, late: f"{status} with {len(body)} bytes"
with_time = lambda status, headers, body, late: f"{status} {late}"
document = lambda status, headers, body, late: json.dumps(json.loads(body), separators=(",", ":"))

report = {
    "timeout": seen("/timeout", with_time),
    "error": seen("/error", lambda status, headers, body, late: f"{status} {body} {headers['Retry-After']}"),
    "malformed": seen("/malformed", no_json),
    "slow": seen("/slow", with_time),
    "malicious": seen("/malicious", with_body),
    "reset": seen("/reset", status_only),
    "refused": " ".join(seen("/", status_only, "door") for _ in range(2)),
    "truncated": seen("/truncated", with_size),
    "quarter": seen("/quarter", with_size),
    "empty": seen("/empty", with_size),
    "lost": seen("/lost", with_time),
    "large": seen("/large", with_size),
    "html": seen("/html", lambda status, headers, body, late: f"{status} with a page" if "<html>" in body else body),
    "unauthorized": seen("/unauthorized", status_only),
    "dribble": seen("/dribble", with_time),
    "url": " ".join(seen(path, status_only) for path in ("/url?fault=no", "/url?fault=yes")),
}
for name in ("set", "entity", "swap", "zero", "drop", "share", "schema"):
    report[name] = seen(f"/{name}", document)
report["stale"] = " ".join(seen("/stale", document) for _ in range(2))
for name, calls in (("rate", 2), ("probability", 8), ("after", 3), ("on", 3), ("times", 3), ("every", 4), ("burst", 4), ("between", 1)):
    report[name] = " ".join(seen(f"/{name}", status_only) for _ in range(calls))
first = seen("/for", status_only)
time.sleep(0.05)
report["for"] = f"{first} {seen('/for', status_only)}"

connection = http.client.HTTPConnection("lab", 80, timeout=30)
connection.request("POST", "/report", json.dumps(report), {"Content-Type": "application/json"})
print(connection.getresponse().status, json.dumps(report, indent=1))
