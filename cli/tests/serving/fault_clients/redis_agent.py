"""Connects to a Redis that breaks in every way that its connections can, with redis-cli, and prints what it saw."""

import json
import subprocess
import time

found = {}
for mode in ("refuse", "reset", "hang", "slow", "unharmed"):
    began = time.monotonic()
    done = subprocess.run(["redis-cli", "-h", mode, "PING"], capture_output=True, text=True)
    said = (done.stdout + done.stderr).strip().split("\n")[-1]
    found[mode] = said + (" late" if time.monotonic() - began >= 0.2 else "")
print(json.dumps(found))
