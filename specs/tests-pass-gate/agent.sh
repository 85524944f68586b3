# Repairs slug.py by writing it anew. That works, but changes more than the two words that were needed.
set -e

cat > slug.py <<'PY'
"""Makes page names out of titles."""
import re

SEPARATOR = "-"
NOT_KEPT = re.compile(r"[^\w\s]|_")


def clean(text):
    """The text in lower case, with letters, digits and blanks only."""
    return NOT_KEPT.sub("", text.lower())


def words(text):
    """The words of a text; blanks beside each other count as one."""
    return clean(text).split()


def slug(title):
    """The name of the page with this title."""
    return SEPARATOR.join(words(title))
PY

python3 -m unittest
echo "The tests pass."
