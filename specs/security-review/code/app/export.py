"""Packs a customer's files."""
import pickle
import subprocess


def pack(folder: str, target: str) -> None:
    subprocess.run(f"tar -czf {target} {folder}", shell=True, check=True)


def list_archive(archive: str) -> str:
    return subprocess.run(["tar", "-tzf", archive], capture_output=True, text=True, check=True).stdout


def restore_settings(upload: bytes):
    return pickle.loads(upload)
