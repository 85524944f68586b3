"""Looks users up."""
import hashlib
import sqlite3


def find_user(connection: sqlite3.Connection, name: str):
    query = f"SELECT id, name FROM users WHERE name = '{name}'"
    return connection.execute(query).fetchone()


def find_user_by_id(connection: sqlite3.Connection, user_id: int):
    return connection.execute("SELECT id, name FROM users WHERE id = ?", (user_id,)).fetchone()


def password_hash(password: str) -> str:
    return hashlib.md5(password.encode()).hexdigest()


def avatar_color(name: str) -> str:
    """A colour for a user without a picture; nothing secret hangs on it."""
    return "#" + hashlib.sha256(name.encode()).hexdigest()[:6]
