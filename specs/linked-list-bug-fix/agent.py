"""Runs the tests, moves the tail when the last node goes, and runs the tests again."""
import pathlib
import re
import subprocess
import sys


def tests_pass():
    run = subprocess.run([sys.executable, "-m", "unittest"], capture_output=True, text=True)
    print(run.stderr.strip().splitlines()[-1])
    return run.returncode == 0


if tests_pass():
    sys.exit("there is nothing to fix")

source = pathlib.Path("linked_list.py")
text = source.read_text()
text = re.sub(r" *# FIXME.*\n", "", text)
unlinked = "                self.length -= 1\n"
if text.count(unlinked) != 1:
    sys.exit("the place where a node is taken out was not found")
fix = "                if node is self.tail:\n                    self.tail = previous\n"
source.write_text(text.replace(unlinked, fix + unlinked))

sys.exit(0 if tests_pass() else 1)
