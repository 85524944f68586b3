"""Writes a greeting."""

with open("greeting.txt", "w") as greeting:
    greeting.write("Hello.\n")
