"""Says when the shop is open; without the service, from what it remembers. `forgetful` remembers nothing."""

import json
import sys
import urllib.error
import urllib.request

try:
    with urllib.request.urlopen("http://hours/today", timeout=5) as answer:
        today = json.load(answer)
except (urllib.error.URLError, ConnectionError):
    today = None if "forgetful" in sys.argv else {"opens": "9:00", "closes": "18:00"}
if today is None:
    print("I cannot tell.")
else:
    print(f"The shop is open from {today['opens']} to {today['closes']} today.")
