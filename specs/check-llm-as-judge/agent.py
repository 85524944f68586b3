"""Sums up minutes with rules: who moves what, why, and who does what by when. A real agent would ask a model."""
import json
import re
from pathlib import Path
from urllib.request import Request, urlopen

minutes = Path("minutes.txt").read_text()
planned = re.search(r"planned for (\w+)", minutes)[1]
reason = re.search(r"but the (.+?) still fail", minutes)[1]
who, when = re.search(r"(\w+): I can repair the \w+ by (\w+)", minutes).groups()
new = re.search(r"we release on (\w+)", minutes)[1]

text = f"The release moves from {planned} to {new}, because the {reason} still fail. {who} repairs them by {when}."
Path("summary.txt").write_text(text + "\n")
body = json.dumps({"text": text}).encode()
urlopen(Request("http://chat/messages", body, {"Content-Type": "application/json"}), timeout=10).close()
print("I wrote a summary of the minutes to summary.txt and posted it to the chat.")
