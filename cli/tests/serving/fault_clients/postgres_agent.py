"""Talks to a Postgres that breaks in every way of `service_faults`, with psycopg, and prints what it saw."""

import json
import time

import psycopg

WHERE = "host=db user=app password=secret dbname=shop connect_timeout=10"


def attempt(act):
    began = time.monotonic()
    try:
        found = str(act())
    except psycopg.Error as error:
        found = f"{type(error).__name__} {error.sqlstate}"
    return found + (" late" if time.monotonic() - began >= 0.2 else "")


def ask(statement, parameters=None, **options):
    with psycopg.connect(WHERE, autocommit=True) as connection:
        cursor = connection.execute(statement, parameters, **options)
        return cursor.fetchall() if cursor.description else cursor.rowcount


def in_transaction():
    """The error, what the connection says to the next statement, and whether it goes on after a rollback."""
    with psycopg.connect(WHERE) as connection:
        first = attempt(lambda: connection.execute("UPDATE errors SET id = 2 WHERE id = %s", [1], prepare=True))
        second = attempt(lambda: connection.execute("SELECT 1"))
        connection.rollback()
        return f"{first}, {second}, {connection.execute('SELECT 1').fetchone()}"


def until_answered(act):
    """What it comes to when the database is back. Each refused connection takes a moment."""
    deadline = time.monotonic() + 60
    while "Error" in (found := act()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found.removesuffix(" late")


def commit():
    with psycopg.connect(WHERE) as connection:
        connection.execute("INSERT INTO commits VALUES (%s)", [1])


report = {
    "refuse": attempt(lambda: ask("SELECT 1")),
    "refuse again": attempt(lambda: ask("SELECT 1")),
    "reset": attempt(lambda: ask("SELECT * FROM resets")),
    "hang": attempt(lambda: ask("SELECT * FROM hangs")),
    "slow": attempt(lambda: ask("SELECT * FROM slows")),
    "kill_session": attempt(lambda: ask("DELETE FROM kills WHERE id = %s", [1], prepare=True)),
    "error": in_transaction(),
    "read_only": attempt(lambda: ask("INSERT INTO replicas VALUES (%s)", [9], prepare=True)),
    "read_only reads": attempt(lambda: ask("SELECT count(*) FROM replicas")),
    "commit_unknown": attempt(commit),
    "commit_unknown kept": attempt(lambda: ask("SELECT count(*) FROM commits")),
    "pause": attempt(lambda: ask("SELECT * FROM pauses")),
    "restart": attempt(lambda: ask("DELETE FROM restarts")),
    "restart kept": until_answered(lambda: attempt(lambda: ask("SELECT count(*) FROM commits"))),
}
print(json.dumps(report))
