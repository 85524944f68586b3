"""Calls routes that break in every way of `tool_faults`, with requests, httpx and curl, and prints what each of them saw."""

import json
import subprocess
import sys
import time

import httpx
import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

LATE = 0.2


def seen(status, text, began):
    late = " late" if time.monotonic() - began >= LATE else ""
    try:
        body = json.dumps(json.loads(text)) if len(text) < 1000 else f"JSON, {len(text)} bytes"
    except ValueError:
        body = f"no JSON, {len(text)} bytes"
    return f"{status} {body}{late}"


def by_requests(url):
    began = time.monotonic()
    try:
        answer = requests.get(url, timeout=10)
    except requests.RequestException as error:
        return type(error).__name__
    return seen(answer.status_code, answer.text, began)


def by_httpx(url):
    began = time.monotonic()
    try:
        answer = httpx.get(url, timeout=10)
    except httpx.HTTPError as error:
        return type(error).__name__
    return seen(answer.status_code, answer.text, began)


def by_curl(url):
    began = time.monotonic()
    done = subprocess.run(["curl", "-s", "-m", "10", "-w", "\n%{http_code}", url], capture_output=True, text=True)
    text, _, status = done.stdout.rpartition("\n")
    return seen(status, text, began) if done.returncode == 0 else f"exit {done.returncode}"


report = {}
for client, get in {"requests": by_requests, "httpx": by_httpx, "curl": by_curl}.items():
    report[client] = {mode: get(f"http://lab/{client}/{mode}") for mode in sys.argv[1].split(",")}
    report[client]["connection_refused"] = get("http://gone/")
    # One call a second is allowed: of two right after each other one is refused, the first or the second. More are made for slow machines.
    answers = (get(f"http://lab/{client}/rate_limit") for _ in range(10))
    report[client]["rate_limit again"] = next((answer for answer in answers if not answer.startswith("200 ")), "never refused")

# Their own logic of retries: what they try again by themselves works in the end.
session = requests.Session()
session.mount("http://", HTTPAdapter(max_retries=Retry(total=3, status_forcelist=[503], backoff_factor=0)))
for mode in ("error", "connection_reset", "lost_response"):
    report["requests"][f"{mode} retried"] = str(session.get(f"http://lab/retried/{mode}", timeout=10).status_code)
retrying = httpx.Client(transport=httpx.HTTPTransport(retries=3), timeout=10)
try:
    report["httpx"]["lost_response retried"] = str(retrying.get("http://lab/httpx-retried/lost_response").status_code)
except httpx.HTTPError as error:
    report["httpx"]["lost_response retried"] = type(error).__name__
curl = ["curl", "-s", "-m", "20", "-o", "body", "-w", "%{http_code}", "--retry", "2", "http://lab/curl-retried/error"]
report["curl"]["error retried"] = subprocess.run(curl, capture_output=True, text=True).stdout
print(json.dumps(report))
