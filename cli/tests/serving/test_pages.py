"""The pages in a real browser: sign in, submit, follow a run, open what failed down to its evidence, compare, and find it again.

Every page is looked at in light and dark, and as wide as a phone; pictures of them are kept in target/pages. What an agent, a spec and
a request can write is hostile here: nothing of it may become markup, a script or a request.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from urllib.parse import quote

import pytest
from playwright.sync_api import expect, sync_playwright

from processes import BINARY, PATIENCE, ROOT, Process

PICTURES = os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "pages")
CHECKS = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "page_checks.js")).read()
expect.set_options(timeout=PATIENCE * 1000)
BROWSER = shutil.which("chromium") or "/usr/bin/chromium"

# What somebody writes who wants to be more than text.
HOSTILE = """<script>window.stolen=1</script><img src=x onerror=window.stolen=1><svg/onload=window.stolen=1></pre></code></textarea>\
"><b onmouseover=window.stolen=1>'-->]]><a href="javascript:window.stolen=1">x</a><style>*{display:none}</style><base href=//evil.example/>"""

AGENT = r'''
import json, os, sys, time, urllib.request
hostile = open("hostile.txt").read().strip()
print("\x1b[1;32mbegins\x1b[0m", hostile, "\u202etxt.exe\x1b[2J\x1b]0;owned\x07")
print("\x1b[31;41mhidden by its colours\x1b[0m", file=sys.stderr)
for path in ["/orders/1", "/orders/%3Cscript%3Ewindow.stolen=1%3C/script%3E"]:
    body = json.dumps({"note": hostile, "amount": 25}).encode()
    headers = {"Content-Type": "application/json", "X-Note": hostile.replace("\n", " ")}
    try:
        urllib.request.urlopen(urllib.request.Request("http://shop" + path, body, headers))
    except Exception as problem:
        print(problem)
model = os.environ["OPENAI_BASE_URL"].rstrip("/") + "/chat/completions"
asked = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": hostile}]}).encode()
headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
answer = json.load(urllib.request.urlopen(urllib.request.Request(model, asked, headers)))
print(answer["choices"][0]["message"]["content"])
open("<img src=x onerror=window.stolen=1>.txt", "w").write(hostile)
open("notes.txt", "w").write("one\n" + hostile + "\n")
time.sleep(0.4)
if sys.argv[1] == "good":
    open("done.txt", "w").write("done")
'''

INDENTED = AGENT.replace("\n", "\n        ")
SPEC = f"""\
version: 1
id: shop-agent
description: '{HOSTILE.replace("'", "''")}'
tags: [nightly, pages, 'team:a/b.c']
base: debian:bookworm-slim
task: {{ prompt: Book the order. }}
agent: {{ type: cli, command: 'python3 agent.py {{{{ params.mood }}}}' }}
model:
  mode: scripted
  on_exhausted: repeat_last
  turns: [{{ content: '{HOSTILE.replace("'", "''")}', prompt_tokens: 120, completion_tokens: 30 }}]
services:
  - name: shop
    type: http_mock
    record: true
    ports: [80]
    routes: [{{ method: POST, path: /orders/1, status: 201, response: {{ ok: true }} }}]
setup:
  files:
    - {{ path: notes.txt, content: "one\\n" }}
    - {{ path: hostile.txt, content: '{HOSTILE.replace("'", "''")}' }}
    - path: agent.py
      content: |
        {INDENTED}
parallelism: {{ replicas: 2, matrix: {{ mood: [good, bad], note_1: ['{HOSTILE.replace("'", "''")}'] }} }}
invariants:
  finished:
    description: '{HOSTILE.replace("'", "''")}'
    gate: true
    check: {{ type: file_content, path: done.txt, contains: done }}
  printed_all:
    description: What a command prints is foreign too
    check: {{ type: command_exit, command: 'cat notes.txt; test -e done.txt' }}
  booked:
    description: The order was booked
    check: {{ type: http_mock_assertions, service: shop, assertions: [{{ field: request_count, filters: {{ path: /orders/1 }}, equals: 1 }}] }}
"""


class Site:
    """A server with a worker without Docker, a browser, and what goes wrong in it."""

    def __init__(self, playwright):
        self.folder = tempfile.mkdtemp(prefix="touchstone-pages-")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHSTONE_")}
        data = os.path.join(self.folder, "data")
        self.server = Process(["serve", "--backend", "local", "--listen", "127.0.0.1:0", "--max-concurrent", "1", "--data-dir", data], environment)
        line = self.server.wait_for("serving on")
        self.base = re.search(r"http://[\d.:]+", line)[0]
        self.key = next(told.split("=")[1] for told in self.server.told if told.startswith("TOUCHSTONE_API_KEY="))
        self.browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-dev-shm-usage"])
        self.context = self.browser.new_context(base_url=self.base, viewport={"width": 1280, "height": 900})
        self.problems = []
        self.page = self.watched(self.context)

    def watched(self, context):
        page = context.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.add_init_script("addEventListener('securitypolicyviolation', (event) => console.error('refused by policy: ' + event.violatedDirective + ' ' + event.blockedURI))")
        page.on("console", lambda message: self.problems.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", lambda dialog: (self.problems.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self.problems.append(f"asked {request.url}") if not request.url.startswith(self.base) else None)
        return page

    def look(self, name):
        """Looks at the page in both colours and as wide as a phone, and keeps pictures."""
        page = self.page
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(CHECKS) == [], f"{name}, {scheme}"
            page.screenshot(path=os.path.join(PICTURES, f"{name}-{scheme}.png"), full_page=True, animations="disabled", caret="initial")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 375, "height": 800})
        wide = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert wide[0] <= wide[1], f"{name} is wider than a phone: {wide}"
        page.screenshot(path=os.path.join(PICTURES, f"{name}-phone.png"), animations="disabled", caret="initial")
        page.set_viewport_size({"width": 1280, "height": 900})
        assert self.problems == [], name

    def end(self):
        self.browser.close()
        self.server.end()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture(scope="module")
def site():
    os.makedirs(PICTURES, exist_ok=True)
    with sync_playwright() as playwright:
        site = Site(playwright)
        yield site
        site.end()


def run(site, text, name):
    """Submits a spec; the page of its experiment."""
    site.page.goto("/submit")
    site.page.get_by_label("Spec", exact=True).fill(text)
    site.page.get_by_label("Name of the experiment").fill(name)
    site.page.get_by_role("button", name="Run", exact=True).click()
    site.page.wait_for_url(re.compile(r"/experiments/[0-9a-f-]{36}$"))
    return site.page.url


def until_ended(site):
    expect(site.page.locator(".head .badge:not(.running)")).to_be_visible()


def test_who_signs_in_comes_to_where_they_wanted(site):
    page = site.page
    page.goto("/workers")
    assert "/sign-in?next=" in page.url
    site.look("sign-in")
    page.get_by_label("API key").fill("ts_live_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not known here")
    # The browser itself says that the answer was a refusal.
    site.problems = [problem for problem in site.problems if "401" not in problem]
    page.get_by_label("API key").fill(site.key)
    page.keyboard.press("Enter")
    page.wait_for_url("**/workers")
    cookie = next(cookie for cookie in site.context.cookies() if cookie["name"] == "touchstone_session")
    assert (cookie["httpOnly"], cookie["sameSite"], site.key in cookie["value"]) == (True, "Strict", False)
    assert page.evaluate("document.cookie") == ""
    expect(page.get_by_role("cell", name="yes")).to_be_visible()
    site.look("workers")
    page.goto("/")
    expect(page.get_by_text("There is no experiment yet.")).to_be_visible()
    site.look("history-empty")


def test_a_spec_is_checked_before_it_is_run(site):
    page = site.page
    page.goto("/submit")
    site.look("submit")
    page.get_by_label("Spec", exact=True).fill(SPEC.replace("invariants:", "invariant:"))
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("did you mean")
    site.problems = [problem for problem in site.problems if "400" not in problem]
    assert page.get_by_label("Spec", exact=True).input_value().startswith("version: 1\nid: shop-agent")
    page.get_by_role("link", name=re.compile("^line ")).last.click()
    selected = page.evaluate("[document.activeElement.id, document.activeElement.value.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)]")
    assert selected == ["spec", "invariant:"], "the line is selected where it can be changed"
    site.look("submit-findings")


def test_a_run_is_followed_while_it_goes_on(site):
    page = site.page
    run(site, SPEC, f"Nightly {HOSTILE}"[:200])
    # The page changes without being loaded again: what is written into it stays.
    page.evaluate("window.stays = true")
    expect(page.locator("#live .sign.running, #live .sign.pass").first).to_be_visible()
    expect(page.locator("#scenarios ~ .scroll .badge.pass").first).to_be_visible()
    assert page.evaluate("window.stays === true"), "the grid is live"
    site.look("experiment-running")
    until_ended(site)
    expect(page.locator(".head .badge")).to_have_text("✗failed")
    expect(page.get_by_role("link", name="50 %").first).to_be_visible()
    site.look("experiment")


def again(site, command, rerun):
    """Does what the page says, as somebody on another machine would: the same scenario fails again."""
    with tempfile.TemporaryDirectory(prefix="touchstone-again-") as folder:
        with site.page.expect_download() as download:
            site.page.get_by_role("link", name="download shop-agent.yaml").click()
        download.value.save_as(os.path.join(folder, download.value.suggested_filename))
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHSTONE_")}
        environment = {**kept, "PATH": os.path.dirname(BINARY) + os.pathsep + os.environ["PATH"], "TOUCHSTONE_API_KEY": site.key,
                       "TOUCHSTONE_BACKEND": "local", "TOUCHSTONE_DATA_DIR": os.path.join(folder, "data")}
        for line, many in [(f"{command} --format json", 1), (f"{rerun} --format json", 1)]:
            done = subprocess.run(line, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE)
            assert done.returncode == 1, f"{line}: {done.stdout}{done.stderr}"
            scenarios = json.loads(done.stdout)["experiments"][0]["scenarios"]
            failed = {scenario["scenario_id"] for scenario in scenarios if scenario["status"] == "fail"}
            assert len(scenarios) == many and site.page.get_by_role("heading", level=1).inner_text() in failed, line


def test_what_failed_is_followed_to_its_evidence(site):
    page = site.page
    page.get_by_role("link", name=re.compile(r"finished, mood=bad note_1=<script>.*, replica 0: failed")).click()
    page.wait_for_url("**/scenarios/**#invariant-0")
    failed = page.locator("#invariant-0")
    expect(failed).to_contain_text("done.txt")
    expect(failed.get_by_text("Nothing is there.")).to_be_visible()
    request = page.locator(".story details", has_text="POST").first
    request.locator("summary").click()
    expect(request).to_contain_text("x-note")
    expect(request).to_contain_text('"amount": 25')
    call = page.locator(".story details", has_text="gpt-4o").first
    call.locator("summary").first.click()
    expect(call.locator(".said.user .text").first).to_be_visible()
    expect(call.locator(".said.answer")).to_have_count(1)
    raw = call.locator("details.raw")
    expect(raw.locator("pre").first).to_be_hidden()
    raw.locator("summary").click()
    expect(raw.locator("pre").first).to_contain_text('"role": "user"')
    expect(page.locator("#output ~ pre").first).to_contain_text("<script>window.stolen=1</script>")
    expect(page.locator("#output ~ pre .front2")).to_have_text("begins")
    page.locator(".files details summary").first.click()
    site.look("scenario")
    again(site, page.locator("#command").inner_text(), page.locator("#rerun").inner_text())
    with page.expect_download() as download:
        page.get_by_role("link", name="Download stdout").click()
    assert HOSTILE in open(download.value.path()).read()


def test_the_times_of_a_story_stand_above_its_bars_and_it_is_searched(site):
    page = site.page
    scenario = page.url.split("#")[0]
    places = "[...document.querySelectorAll('.axis .scale, .story .bar')].map((one) => { const { left, right } = one.getBoundingClientRect(); return [left, right]; })"
    wide = page.viewport_size
    for width in [wide["width"], 375]:
        page.set_viewport_size({"width": width, "height": wide["height"]})
        axis, *bars = page.evaluate(places)
        assert bars and all(abs(one - other) < 1 for bar in bars for one, other in zip(axis, bar)), f"{width}: {axis} is not above {bars}"
    page.set_viewport_size(wide)
    page.get_by_label("Text in the story").fill("POST SHOP")
    page.get_by_role("button", name="Find").click()
    expect(page.get_by_text("with this text")).to_be_visible()
    expect(page.locator(".story > li").first).to_contain_text("POST")
    page.get_by_label("Text in the story").fill(HOSTILE)
    page.get_by_role("button", name="Find").click()
    assert page.evaluate(CHECKS) == []
    page.goto(scenario)


def test_an_experiment_is_repeated_and_compared(site):
    page = site.page
    page.goto("/experiments")
    page.locator("tbody th a").first.click()
    first = page.url
    page.get_by_role("button", name=re.compile(r"^Run \d+ that did not pass again$")).click()
    page.wait_for_url(lambda url: url != first and "/experiments/" in url)
    until_ended(site)
    page.locator(".toolbar summary", has_text="Download").click()
    with page.expect_download() as results:
        page.get_by_role("link", name="Results as JSON").click()
    with page.expect_download() as everything:
        page.get_by_role("link", name="Everything").click()
    assert results.value.suggested_filename != everything.value.suggested_filename
    site.look("experiment-download")
    page.locator(".toolbar summary", has_text="Download").click()
    page.locator(".toolbar summary", has_text="Compare").click()
    # The first one of all, of which some scenarios passed.
    earlier = page.get_by_label("With an earlier one")
    earlier.select_option(index=earlier.locator("option").count() - 1)
    site.look("experiment-compare")
    page.locator(".toolbar form").get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", name="Scenarios that stand differently")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("Pass rate"))).to_contain_text("points")
    # What failed failed again: the pass rate is another one, because only that was run, and nothing became worse.
    expect(page.get_by_role("status").first).to_contain_text("1 cell compared: 0 regressed, 0 insufficient evidence, 0 improved")
    expect(page.get_by_text("Only before: ")).to_be_visible()
    site.look("compare")


def test_experiments_are_found_in_the_history(site):
    page = site.page
    page.goto("/experiments")
    expect(page.locator("tbody tr")).to_have_count(3)
    site.look("history")
    for label, value, many in [("Text", "nightly", 3), ("Tag", "pages", 3), ("Tag", "none", 0), ("Spec", "shop-agent", 3)]:
        page.goto("/experiments")
        page.get_by_label(label, exact=True).fill(value)
        page.keyboard.press("Enter")
        page.wait_for_url(f"**{label.lower()}={value}**")
        expect(page.locator("tbody tr")).to_have_count(many)
    page.goto("/experiments")
    page.get_by_label("Status").select_option("passed")
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_text("No experiment matches these filters.")).to_be_visible()
    site.look("history-nothing")


def test_a_spec_shows_how_it_went(site):
    site.page.goto("/specs/shop-agent")
    expect(site.page.get_by_role("group", name=re.compile("Pass rate over time"))).to_be_visible()
    expect(site.page.get_by_role("row", name=re.compile("finished"))).to_contain_text("this run")
    site.look("spec")
    site.page.goto("/specs")
    site.look("specs")


# Notes every state in which a scenario's page is seen, and in which load of it.
WATCH = """addEventListener('DOMContentLoaded', () => {
  const seen = JSON.parse(sessionStorage.seen || '[]');
  const look = () => {
    const state = [performance.timeOrigin, document.querySelector('.head .badge').className, document.querySelectorAll('.story li').length];
    if (JSON.stringify(state) === JSON.stringify(seen[seen.length - 1])) return;
    seen.push(state);
    sessionStorage.seen = JSON.stringify(seen);
  };
  new MutationObserver(look).observe(document.getElementById('content'), { childList: true, subtree: true });
  look();
})"""


def test_a_scenario_is_followed_while_it_goes_on(site):
    run(site, SPEC, "Followed")
    place = site.page.locator("#scenarios ~ .scroll tbody tr").last.get_by_role("link").first.get_attribute("href")
    watching = site.watched(site.context)
    watching.add_init_script(WATCH)
    watching.goto(place)
    watching.locator(".story summary", has_text="agent started").click()
    opened = watching.evaluate("document.activeElement.parentElement.id")
    expect(watching.get_by_role("heading", name="Invariants")).to_be_visible()
    assert watching.evaluate("document.activeElement.parentElement.id") == opened, "who reads stays where they are"
    expect(watching.locator(f"#{opened}[open]")).to_be_in_viewport()
    seen = watching.evaluate("JSON.parse(sessionStorage.seen)")
    first, last = seen[0][0], seen[-1][0]
    told = [moments for load, badge, moments in seen if load == first and badge == "badge running"]
    assert seen[0][1:] == ["badge waiting", 0] and told and told[-1] > 0, f"its story grew in the page that was there: {seen}"
    assert first == last and seen[-1][1] in ("badge pass", "badge fail"), f"then its result came by itself: {seen}"
    watching.close()
    until_ended(site)
    assert site.problems == []


SLOW = """\
version: 1
id: slow
base: debian:bookworm-slim
task: { prompt: Take your time. }
agent: { type: cli, command: 'sleep 600' }
parallelism: { replicas: 3 }
invariants: { slept: { description: x, check: { type: file_exists, path: slept.txt } } }
"""

# What a browser does with a tab that another one covers.
HIDE = """(hidden) => {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event('visibilitychange'));
}"""


def streams(site):
    """How many pages listen to the server."""
    metrics = site.context.request.get("/metrics", headers={"Authorization": f"Bearer {site.key}"}).text()
    return int(re.search(r"^touchstone_streams (\d+)$", metrics, re.MULTILINE)[1])


def until_streams(site, many):
    deadline = time.monotonic() + PATIENCE
    while streams(site) != many:
        assert time.monotonic() < deadline, f"{streams(site)} pages listen"
        time.sleep(0.05)


def test_pages_that_nobody_sees_leave_their_connections_to_others(site):
    place = run(site, SLOW, "Slow")
    until_streams(site, 1)
    site.page.evaluate(HIDE, True)
    tabs = []
    for _ in range(7):
        tab = site.watched(site.context)
        tab.goto(place)
        until_streams(site, 1)
        tab.evaluate(HIDE, True)
        until_streams(site, 0)
        tabs.append(tab)
    tabs[0].evaluate(HIDE, False)
    until_streams(site, 1)
    for tab in tabs:
        tab.close()
    site.page.evaluate(HIDE, False)
    until_streams(site, 1)
    assert site.problems == []


def test_a_page_says_when_the_server_is_away_and_goes_on_when_it_is_back(site):
    page = site.page
    for pattern in ("**/live?*", "**/part?*"):
        page.route(pattern, lambda route: route.fulfill(status=503, body="busy"))
    page.evaluate(HIDE, False)
    notice = page.locator("p.notice[role=status]")
    expect(notice).to_have_text("Not up to date: the server does not answer. Trying again…")
    assert page.evaluate(CHECKS) == []
    page.screenshot(path=os.path.join(PICTURES, "experiment-away.png"))
    page.evaluate("document.querySelector('#live .tiles').remove()")
    for pattern in ("**/live?*", "**/part?*"):
        page.unroute(pattern)
    expect(notice).to_have_count(0)
    # What was missed comes, too.
    expect(page.locator("#live .tiles")).to_be_visible()
    site.problems = [problem for problem in site.problems if "503" not in problem]
    page.get_by_role("button", name="End it early").click()
    until_ended(site)
    expect(page.locator(".head .badge")).to_have_text("–cancelled")
    expect(page.get_by_role("button", name="End it early")).to_have_count(0)
    site.look("experiment-cancelled")


SECRETIVE = """\
version: 1
id: secretive
base: debian:bookworm-slim
task: { prompt: Tell the pin. }
agent: { type: cli, command: 'echo "the pin is $PIN"' }
secrets: [PIN, { name: MADE, from: generated }]
invariants: { told: { description: x, check: { type: file_exists, path: pin.txt } } }
"""


def test_secrets_are_asked_for_and_never_shown(site):
    state = site.context.storage_state()
    context = site.browser.new_context(base_url=site.base, storage_state=state, java_script_enabled=False)
    plain = context.new_page()
    plain.goto("/submit")
    plain.get_by_label("Spec", exact=True).fill(SECRETIVE)
    plain.get_by_role("button", name="Check only").click()
    expect(plain.get_by_text("The spec is valid.")).to_be_visible()
    expect(plain.get_by_label(re.compile("^Value of"))).to_have_count(1)
    plain.get_by_label("Value of PIN").fill("no")
    plain.get_by_role("button", name="Run", exact=True).click()
    expect(plain.get_by_role("alert")).to_contain_text("is shorter than 4 characters")
    assert plain.get_by_label("Value of PIN").input_value() == ""
    plain.get_by_label("Value of PIN").fill("1-swordfish-2")
    plain.get_by_role("button", name="Run", exact=True).click()
    plain.wait_for_url(re.compile(r"/experiments/[0-9a-f-]{36}$"))
    site.page.goto(plain.url)
    context.close()
    until_ended(site)
    site.page.locator("#scenarios ~ .scroll tbody th a").first.click()
    expect(site.page.locator("#output ~ pre").first).to_contain_text("the pin is redacted: PIN")
    assert "swordfish" not in site.page.content()
    site.page.goto("/submit")
    site.page.get_by_label("Spec", exact=True).fill(SECRETIVE)
    site.page.get_by_role("button", name="Check only").click()
    expect(site.page.get_by_label("Value of PIN")).to_have_attribute("type", "password")
    site.look("submit-secrets")


WORDS = "-".join(["check-for-forbidden-writes"] * 3)
LONG = f"""\
version: 1
id: {WORDS}
base: debian:bookworm-slim
task: {{ prompt: Do nothing. }}
agent: {{ type: noop }}
parallelism:
  replicas: 20
  matrix: {{ question: ['{"why " * 60}'], answer: ['{"x" * 300}'] }}
invariants:
  written: {{ description: x, check: {{ type: file_exists, path: x.txt }} }}
  an_invariant_with_a_name_that_is_long: {{ description: x, check: {{ type: file_exists, path: y.txt }} }}
"""

# Where the signs of each column of the grid stand in their fields, of the first cell.
PLACES = """[...document.querySelectorAll('.grid tbody tr:first-child .replicas')].map((field) => {
  const own = field.getBoundingClientRect();
  return [...field.children].map((sign) => sign.getBoundingClientRect()).map(({ left, top }) => [Math.round(left - own.left), Math.round(top - own.top)]);
})"""


def test_long_names_and_many_replicas_have_room(site):
    page = site.page
    run(site, LONG, "Long")
    until_ended(site)
    site.look("experiment-long")
    row = page.locator("#scenarios ~ .scroll tbody tr").first
    assert row.bounding_box()["height"] < 110, "a parameter has one line"
    why = row.locator(".why").bounding_box()
    assert why["x"] + why["width"] <= 1280, "why it failed is on the page"
    expect(row.locator(".cell div")).to_have_count(2)
    for width in (1280, 375):
        page.set_viewport_size({"width": width, "height": 900})
        first, *others = page.evaluate(PLACES)
        assert all(other == first for other in others), f"a replica has its place in every column: {first} {others}"
        assert len({left for left, _ in first}) == 10 and len({top for _, top in first}) == 2, first
    page.set_viewport_size({"width": 1280, "height": 900})
    row.get_by_role("link").first.click()
    site.look("scenario-long")
    page.goto("/experiments")
    site.look("history-long")
    cut = page.locator(f"a.cut[title='{WORDS}']")
    assert cut.bounding_box()["width"] < 300
    submitted = page.locator("tbody td").last.bounding_box()
    assert submitted["x"] + submitted["width"] <= 1280, "no column is pushed off the page"


def test_refusals_are_pages(site):
    site.page.goto("/experiments/nothing-like-that")
    expect(site.page.get_by_role("heading", name="Not found")).to_be_visible()
    site.problems = [problem for problem in site.problems if "404" not in problem]
    site.look("not-found")


def test_names_in_addresses_stay_text(site):
    site.page.goto("/experiments")
    experiment = site.page.locator("tbody th a").first.get_attribute("href")
    evil = quote(HOSTILE, safe="")
    for place in [f"/experiments/{evil}", f"{experiment}/scenarios/{evil}", f"{experiment}?run={evil}", f"/specs/{evil}", f"/specs/shop-agent?owner={evil}",
                  f"/compare?a={evil}&b={evil}", f"/experiments?text={evil}&spec={evil}&tag={evil}", f"/experiments?status={evil}", f"/experiments?since={evil}"]:
        site.page.goto(place)
        expect(site.page.get_by_role("heading", level=1)).to_be_visible()
        assert site.page.evaluate(CHECKS) == [], place
    # The browser itself says that some answers were refusals.
    assert [problem for problem in site.problems if "the server responded with a status of 4" not in problem] == []
    site.problems.clear()


def test_the_browser_of_the_api_works_under_its_policy(site):
    site.page.goto("/docs/")
    expect(site.page.get_by_role("heading", name=re.compile("Touchstone"))).to_be_visible()
    assert [problem for problem in site.problems if "policy" in problem.lower()] == []
    site.problems.clear()


def test_pages_need_no_script(site):
    state = site.context.storage_state()
    context = site.browser.new_context(base_url=site.base, storage_state=state, java_script_enabled=False)
    page = context.new_page()
    page.goto("/experiments")
    page.locator("tbody th a").first.click()
    expect(page.locator(".sign.fail").first).to_be_visible()
    page.locator(".sign.fail").first.click()
    expect(page.get_by_role("heading", name="Why it did not pass")).to_be_visible()
    page.locator(".story summary").first.click()
    expect(page.locator(".story .evidence").first).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in")
    page.go_back()
    page.wait_for_url("**/sign-in?next=**")
    page.goto("/experiments")
    assert "/sign-in" in page.url
    context.close()


def test_keys_reach_everything(site):
    """Who uses no mouse comes from the beginning of a page to its content, and sees where they are."""
    page = site.page
    page.goto("/experiments")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "text"
    ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert ring == "solid", "where the keys are can be seen"
