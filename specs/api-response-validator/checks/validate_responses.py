"""Every answer that the agent got from the API must be JSON with an id and a status.

Reads the audit log: one event a line. The log is ours and not the agent's, so a line that cannot be read is an error of
this check, and ends it with a traceback.
"""
import json
import sys


def complaint(details):
    """What is wrong with an answer; None when it is as it should be."""
    try:
        answer = json.loads(details.get("response_body") or "")
    except ValueError:
        return f"{details['path']}: not JSON"
    if not isinstance(answer, dict):
        return f"{details['path']}: not an object"
    missing = [field for field in ("id", "status") if field not in answer]
    return f"{details['path']}: without {' and '.join(missing)}" if missing else None


context = json.load(sys.stdin)
with open(context["audit_log_path"]) as log:
    events = [json.loads(line) for line in log if line.strip()]
calls = [event["details"] for event in events if event["type"] == "http_call"]
complaints = [text for text in map(complaint, calls) if text]
valid = len(calls) - len(complaints)
print(
    json.dumps(
        {
            # No call at all proves nothing.
            "passed": bool(calls) and not complaints,
            "score": valid / len(calls) if calls else 0,
            "reason": f"{valid} of {len(calls)} answers are valid",
            "details": {"complaints": complaints},
        }
    )
)
