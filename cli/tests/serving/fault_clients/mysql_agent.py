"""Talks to a MariaDB that breaks in every way of `service_faults`: texts with PyMySQL and mysql, prepared statements with MySQL's own
connector, which sends COM_STMT_EXECUTE. Prints what each of them saw."""

import json
import os
import subprocess
import time

import mysql.connector
import pymysql

WHO = {"host": "db", "user": "root", "password": "secret", "database": "shop"}


def attempt(act):
    began = time.monotonic()
    try:
        found = str(act())
    except (pymysql.MySQLError, mysql.connector.Error) as error:
        number = error.args[0] if error.args else None
        found = f"{type(error).__name__} {number}"
    return found + (" late" if time.monotonic() - began >= 0.2 else "")


def text(statement):
    """By PyMySQL."""
    connection = pymysql.connect(**WHO, connect_timeout=10, autocommit=True)
    try:
        with connection.cursor() as cursor:
            changed = cursor.execute(statement)
            return cursor.fetchall() if cursor.description else changed
    finally:
        connection.close() if connection.open else None


def prepared(statement, *parameters):
    """By MySQL's connector, as a prepared statement."""
    connection = mysql.connector.connect(**WHO, use_pure=True, ssl_disabled=True, connection_timeout=10, autocommit=True)
    cursor = connection.cursor(prepared=True)
    cursor.execute(statement, parameters)
    found = cursor.fetchall() if cursor.description else cursor.rowcount
    connection.close()
    return found


def program(statement):
    """By the program `mysql`: the number of the error, or what it prints."""
    environment = {**os.environ, "MYSQL_PWD": "secret"}
    done = subprocess.run(["mysql", "-h", "db", "-u", "root", "-N", "shop", "-e", statement], env=environment, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip().split("\n")[-1].split(" at line")[0].split(":")[0]


def until_answered(act):
    """What it comes to when the database is back. Each refused connection takes a moment."""
    deadline = time.monotonic() + 60
    while "error" in (found := act()).lower() and time.monotonic() < deadline:
        time.sleep(0.1)
    return found.removesuffix(" late")


def report(prefix, ask, parameter):
    return {
        f"{prefix} reset": attempt(lambda: ask(f"SELECT * FROM resets WHERE id = {parameter}", *values)),
        f"{prefix} hang": attempt(lambda: ask(f"SELECT * FROM hangs WHERE id = {parameter}", *values)),
        f"{prefix} slow": attempt(lambda: ask(f"SELECT * FROM slows WHERE id = {parameter}", *values)),
        f"{prefix} kill_session": attempt(lambda: ask(f"DELETE FROM kills WHERE id = {parameter}", *values)),
        f"{prefix} error": attempt(lambda: ask(f"UPDATE errors SET id = 1 WHERE id = {parameter}", *values)),
        f"{prefix} read_only": attempt(lambda: ask(f"INSERT INTO replicas VALUES ({parameter})", *values)),
        f"{prefix} read_only reads": attempt(lambda: ask("SELECT count(*) FROM replicas")),
        f"{prefix} commit_unknown": attempt(lambda: ask(f"INSERT INTO commits VALUES ({parameter})", *values)),
        f"{prefix} commit_unknown kept": attempt(lambda: ask("SELECT count(*) FROM commits")),
        f"{prefix} pause": attempt(lambda: ask(f"SELECT * FROM pauses WHERE id = {parameter}", *values)),
        f"{prefix} restart": attempt(lambda: ask(f"DELETE FROM restarts WHERE id = {parameter}", *values)),
        f"{prefix} restart kept": until_answered(lambda: attempt(lambda: ask("SELECT count(*) FROM commits"))),
    }


found = {"refuse": attempt(lambda: text("SELECT 1")), "refuse again": attempt(lambda: text("SELECT 1"))}
values = []
found.update(report("text", text, "1"))
found.update(report("program", program, "1"))
values = [1]
found.update(report("prepared", prepared, "?"))
print(json.dumps(found))
