"""Multiplies the numbers, with what its image has."""
import math
import sys
from pathlib import Path

workspace = Path("/workspace")
numbers = [int(line) for line in (workspace / "input/numbers.txt").read_text().split()]
(workspace / "product.txt").write_text(f"{math.prod(numbers)}\n")
(workspace / "input.txt").write_text(f"{len(sys.stdin.read())}\n")
