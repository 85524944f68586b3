"""Faults on the pages, in a real browser: an example with faults is run, and its faults are seen beside their calls and by themselves."""

import io
import json
import os
import re
import shutil
import tarfile
import tempfile
import urllib.request

import pytest
from playwright.sync_api import expect, sync_playwright

from processes import ROOT
from test_pages import PICTURES, Site, until_ended


@pytest.fixture(scope="module")
def site():
    os.makedirs(PICTURES, exist_ok=True)
    with sync_playwright() as playwright:
        site = Site(playwright)
        site.page.goto("/sign-in")
        site.page.get_by_label("API key").fill(site.key)
        site.page.keyboard.press("Enter")
        site.page.wait_for_url("**/experiments")
        yield site
        site.end()


def run_example(site, name, changed=None):
    """Runs an example over the API, with other files in place of some of its own, and opens the page of its experiment: its id."""
    archive = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="touchstone-example-") as scratch, tarfile.open(fileobj=archive, mode="w:gz") as file:
        folder = shutil.copytree(os.path.join(ROOT, "specs", name), os.path.join(scratch, name))
        for path, change in (changed or {}).items():
            path = os.path.join(folder, path)
            text = change(open(path).read()) if callable(change) else change
            open(path, "w").write(text)
        file.add(folder, arcname=".")
    headers = {"Authorization": f"Bearer {site.key}", "Content-Type": "application/gzip"}
    request = urllib.request.Request(f"{site.base}/v1/runs", archive.getvalue(), headers)
    with urllib.request.urlopen(request) as answer:
        experiment = json.load(answer)["id"]
    site.page.goto(f"/experiments/{experiment}")
    until_ended(site)
    return experiment


def test_faults_stand_beside_their_calls_and_are_shown_alone(site):
    page = site.page
    run_example(site, "chaos-lost-answer")
    page.get_by_role("link", name="default-r0", exact=True).first.click()
    faults = page.locator("section", has=page.get_by_role("heading", name="Faults", exact=True))
    expect(faults.get_by_role("table").first).to_contain_text("tool_faults[0]")
    expect(faults).to_contain_text("shop:POST /refunds")
    requests = page.locator(".story > li", has=page.locator(".kind.http"))
    expect(requests).to_have_count(2)
    expect(requests.first.locator(".fault")).to_have_text("fault: lost_response")
    expect(requests.last.locator(".fault")).to_have_count(0)
    site.look("scenario-faults")
    page.get_by_role("link", name=re.compile("^faulted only")).click()
    page.wait_for_url("**faulted=only**")
    expect(page.locator(".story > li")).to_have_count(1)
    expect(page.locator(".story > li")).to_contain_text("fault: lost_response")
    chosen = page.get_by_role("link", name=re.compile("^faulted only 1"))
    assert chosen.get_attribute("aria-current") == "true"
    site.look("scenario-faulted-only")
    chosen.click()
    expect(requests).to_have_count(2)


def test_worlds_stand_beside_each_other(site):
    page = site.page
    run_example(site, "chaos-matrix")
    grid = page.locator("table.grid")
    worlds = grid.locator("th.world")
    names = [text.removeprefix("chaos ") for text in worlds.all_inner_texts()]
    assert "search-tool-down" in names and len(names) == 6, names
    expect(grid.locator("tbody tr")).to_have_count(1)
    site.look("experiment-worlds")
    grid.get_by_role("link", name=re.compile("^scenario, chaos=search-tool-down")).first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("search-tool-down--")
