"""Looks whether a name of the outside exists."""
import socket

try:
    socket.getaddrinfo("www.partner.example", 443)
    found = "exists"
except socket.gaierror:
    found = "does not exist"
with open("name.txt", "w") as file:
    file.write(found + "\n")
