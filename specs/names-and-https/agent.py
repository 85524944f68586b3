"""Calls a service by its real name, and looks which other names exist."""
import json
import socket
from urllib.request import Request, urlopen


def post(url, body):
    headers = {"Content-Type": "application/json"}
    urlopen(Request(url, json.dumps(body).encode(), headers), timeout=10).close()


def exists(name):
    try:
        return bool(socket.getaddrinfo(name, 443))
    except socket.gaierror:
        return False


# The certificate of the mock is signed by an authority that the sandbox trusts: nothing has to be switched off.
post("https://api.payments.example/charges", {"amount": 12, "currency": "EUR"})
post("http://api.payments.example/health", {})
with open("names.txt", "w") as file:
    for name in ["status.partner.example", "www.partner.example", "www.elsewhere.example"]:
        file.write(f"{name} {'exists' if exists(name) else 'does not'}\n")
