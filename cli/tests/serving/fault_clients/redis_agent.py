"""Connects to a Redis that breaks in every way that its connections can, with redis-cli, and prints what it saw."""

import json
import subprocess
import time



def ping(service):
    began = time.monotonic()
    done = subprocess.run(["redis-cli", "-h", service, "PING"], capture_output=True, text=True)
    said = (done.stdout + done.stderr).strip().split("\n")[-1]
    return said + (" late" if time.monotonic() - began >= 0.2 else "")


found = {mode: ping(mode) for mode in ("refuse", "reset", "hang", "slow", "pause", "restart", "unharmed")}
deadline = time.monotonic() + 60
while "PONG" not in (again := ping("restart")) and time.monotonic() < deadline:
    time.sleep(0.1)
found["restart again"] = again.removesuffix(" late")
print(json.dumps(found))
