"""Reviews Python code by its syntax tree and writes findings.json.

It knows what a dangerous call looks like, but follows no value from where it comes in to where it is used. So it cannot
see that a file name from outside may contain `..`.
"""
import ast
import json
import pathlib


def name_of(node):
    """The dotted name of what is called, such as `hashlib.md5`."""
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def built_from_values(node, assigned):
    """Whether a text is put together from values; a name stands for what was assigned to it."""
    if isinstance(node, ast.Name):
        node = assigned.get(node.id, node)
    return isinstance(node, (ast.JoinedStr, ast.BinOp))


def weakness(call, assigned):
    """The kind of a dangerous call and why it is one."""
    name = name_of(call.func)
    if name.endswith(".execute") and call.args and built_from_values(call.args[0], assigned):
        return "sql-injection", "a query is put together from values"
    if name.startswith("subprocess.") and any(
        word.arg == "shell" and getattr(word.value, "value", False) is True for word in call.keywords
    ):
        return "command-injection", "a shell reads the arguments"
    if name in ("pickle.loads", "pickle.load"):
        return "unsafe-deserialization", "pickle runs code that the data names"
    if name in ("hashlib.md5", "hashlib.sha1"):
        return "weak-hash", "this hash can be computed too fast to protect a password"
    return None


def review(path):
    tree = ast.parse(path.read_text())
    assigned = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        found = weakness(node, assigned) if isinstance(node, ast.Call) else None
        if found:
            kind, reason = found
            yield {"file": path.as_posix(), "line": node.lineno, "kind": kind, "reason": reason}


findings = [finding for path in sorted(pathlib.Path("app").rglob("*.py")) for finding in review(path)]
pathlib.Path("findings.json").write_text(json.dumps(findings, indent=2) + "\n")
print(f"{len(findings)} findings")
