"""The share of lines that are the right prime number."""
import json
import sys
from pathlib import Path

context = json.load(sys.stdin)
count = int(context["scenario_params"]["count"])
expected = [number for number in range(2, 100) if all(number % other for other in range(2, number))][:count]
try:
    lines = (Path(context["workspace_path"]) / "primes.txt").read_text().split()
except (OSError, ValueError) as problem:
    # The agent's failure: a verdict, and not an exit code that says the check is broken.
    lines, reason = [], f"primes.txt cannot be read: {problem}"
else:
    reason = f"{len(lines)} lines"
right = sum(line == str(prime) for line, prime in zip(lines, expected))
print(
    json.dumps(
        {
            "passed": right == count == len(lines),
            "score": right / max(count, len(lines)),
            "reason": f"{right} of {count} right; {reason}",
            "details": {"task": context["task"]["prompt"]},
        }
    )
)
