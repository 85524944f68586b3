"""Sends each secret to the vault, which knows how to keep one."""
import os
from pathlib import Path
from urllib.request import urlopen

for name in ["FROM_ENV", "FROM_COMMAND", "FROM_SPEC", "FROM_CHANCE"]:
    urlopen(f"http://vault/{name}", os.environ[name].encode(), timeout=10)
place = "in the environment too" if "IN_FILE" in os.environ else "in the file only"
config = Path("/run/secrets/config.ini")
mode = f"{config.stat().st_mode & 0o777:o}"
urlopen("http://vault/IN_FILE", f"{config.read_text()} {place}, {mode}".encode(), timeout=10)
