"""The page of calls that wait for a person, in a real browser: it counts down, keeps what is typed, and decides.

No sandbox holds a call here: rows are written into the database as a worker writes them, hostile text in every place.
"""

import json
import os
import re
import sqlite3
import time
import urllib.request

from playwright.sync_api import expect

from test_fault_pages import site  # noqa: F401: a fixture
from test_pages import HOSTILE, until_ended

SPEC = """\
version: 1
id: waits
base: debian
task: { prompt: x }
agent: { type: cli, command: sleep 60 }
invariants: { there: { description: x, check: { type: file_exists, path: out } } }
"""


def begin(site):
    """Begins a run whose agent acts for a while: the id of its experiment."""
    headers = {"Authorization": f"Bearer {site.key}", "Content-Type": "application/x-yaml"}
    request = urllib.request.Request(f"{site.base}/v1/runs", SPEC.encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["id"]


def hold(site, experiment, number):
    """Holds a call of an experiment for five minutes: the approval's id."""
    now = int(time.time() * 1000)
    row = {
        "id": f"ap_{number}", "experiment": experiment, "run": 1, "scenario": "default-r0", "session": HOSTILE, "tool": f"refund_{number}",
        "arguments_hash": "sha256:a", "contract": "sha256:c", "repetition": 0, "call": HOSTILE, "state_version": 1,
        "context": json.dumps([["Amount", 120], [HOSTILE, {"to": HOSTILE}]]), "checkpoints": json.dumps([HOSTILE]), "reason": HOSTILE,
        "requested_at": now + number, "deadline": now + 300_000, "allows_on_timeout": False, "status": "pending", "told": 0, "due_at": now,
    }
    database = sqlite3.connect(os.path.join(site.folder, "data", "touchstone.db"), timeout=30)
    with database:
        database.execute(f"INSERT INTO approvals ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
    database.close()
    return row["id"]


def test_calls_are_shown_as_they_come_and_decided_on(site):  # noqa: F811
    page = site.page
    experiment = begin(site)
    page.goto("/approvals")
    expect(page.get_by_role("main")).to_contain_text("No call waits for a person.")
    first = page.locator(f"#{hold(site, experiment, 1)}")
    expect(first).to_contain_text("refund_1")
    expect(page.get_by_role("navigation", name="Pages").get_by_role("link", name=re.compile("^Approvals"))).to_have_text(re.compile(r"Approvals \(1"))
    left = first.locator("[data-deadline]")
    before = left.inner_text()
    expect(left).not_to_have_text(before)
    expect(left).to_have_text(re.compile(r"^4 min \d\d s$"))
    note = first.get_by_label("Note")
    note.fill("asked the customer")
    second = page.locator(f"#{hold(site, experiment, 2)}")
    expect(second).to_contain_text("refund_2")
    expect(note).to_have_value("asked the customer")
    expect(note).to_be_focused()
    site.look("approvals")
    first.get_by_role("button", name="Approve").click()
    decided = page.get_by_role("row", name=re.compile("refund_1"))
    expect(decided).to_contain_text("approved")
    expect(decided).to_contain_text("asked the customer")
    expect(second).to_be_visible()
    page.goto(f"/experiments/{experiment}")
    expect(page.get_by_role("main")).to_contain_text("A call waits for a person: decide.")
    page.get_by_role("link", name="decide", exact=True).click()
    second.get_by_role("button", name="Deny").click()
    expect(page.get_by_role("main")).to_contain_text("No call waits for a person.")
    site.look("approvals-decided")
    assert page.evaluate("window.stolen") is None
    page.goto(f"/experiments/{experiment}")
    page.get_by_role("button", name="End it early").click()
    until_ended(site)
