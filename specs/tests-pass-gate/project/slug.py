"""Turns titles into the names of pages."""


def slug(title):
    words = []
    for word in title.lower().split(" "):
        kept = "".join(letter for letter in word if letter.isalnum())
        words.append(kept)
    return "-".join(words)
