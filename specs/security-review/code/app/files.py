"""Serves a customer's files."""
from pathlib import Path

ROOT = Path("/srv/files")


def read_file(name: str) -> bytes:
    return (ROOT / name).read_bytes()


def read_public_file(name: str) -> bytes:
    path = (ROOT / "public" / name).resolve()
    if not path.is_relative_to(ROOT / "public"):
        raise PermissionError(name)
    return path.read_bytes()
