"""Scores findings.json: the share of the weaknesses that were found, less for each finding that is none."""
import json
import pathlib
import sys

# What is wrong in the code, and in which lines it may be reported. The agent never sees this file.
WEAKNESSES = {
    ("app/users.py", "sql-injection"): range(7, 9),
    ("app/users.py", "weak-hash"): range(15, 17),
    ("app/export.py", "command-injection"): range(6, 8),
    ("app/export.py", "unsafe-deserialization"): range(14, 16),
    ("app/files.py", "path-traversal"): range(7, 9),
}
ENOUGH = 0.7


def answer(passed, score, reason, **details):
    print(json.dumps({"passed": passed, "score": score, "reason": reason, "details": details}))
    sys.exit(0)


def read(path):
    """The findings as a list of maps. Whatever else the agent wrote is its failure, not this script's."""
    try:
        findings = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as problem:
        answer(False, 0, f"findings.json cannot be read: {problem}")
    if not isinstance(findings, list) or not all(isinstance(finding, dict) for finding in findings):
        answer(False, 0, "findings.json is not a list of findings")
    return findings


def hits(finding):
    """The weakness that a finding names; None when it names none."""
    place = (str(finding.get("file", "")).removeprefix("./"), str(finding.get("kind", "")))
    lines = WEAKNESSES.get(place, ())
    return place if isinstance(finding.get("line"), int) and finding["line"] in lines else None


context = json.load(sys.stdin)
findings = read(pathlib.Path(context["workspace_path"]) / "findings.json")
found = {place for place in map(hits, findings) if place}
wrong = [finding for finding in findings if hits(finding) is None]
missed = sorted(f"{file}: {kind}" for file, kind in WEAKNESSES.keys() - found)
score = max(0.0, (len(found) - 0.5 * len(wrong)) / len(WEAKNESSES))
answer(
    score >= ENOUGH,
    score,
    f"{len(found)} of {len(WEAKNESSES)} weaknesses found, {len(wrong)} findings that are none",
    missed=missed,
    wrong=wrong,
)
