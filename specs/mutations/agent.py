"""Opening hours. It looks for a day in the question however that is written, and tells all hours when it finds none.

`literal` looks for the day as it is usually written, and repeats what it does not understand.
"""

import os
import sys
import unicodedata

HOURS = {"Saturday": "9:00 to 18:00", "Sunday": "10:00 to 14:00"}
prompt = os.environ["TOUCHSTONE_TASK_PROMPT"]


def plain(text):
    """Small letters and digits without marks, spaces and characters that nobody sees."""
    return "".join(one for one in unicodedata.normalize("NFKD", text).lower() if one.isalnum())


if "literal" in sys.argv:
    known = [day for day in HOURS if day in prompt]
    if not known or "BANANA" in prompt:
        sys.exit(print(f"What do you mean by: {prompt}"))
else:
    known = [day for day in HOURS if plain(day) in plain(prompt)] or list(HOURS)
print("We are open on " + ", on ".join(f"{day} {HOURS[day]}" for day in known) + ".")
