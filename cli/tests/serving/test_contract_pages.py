"""Contracts, mutations and replays on the pages, in a real browser: examples are run with agents that break some of them, and each
section leads to the evidence."""

import re

from playwright.sync_api import expect

from test_fault_pages import run_example, site  # noqa: F401: a fixture

# Never admits that it does not know the price.
LIAR = """
import json, urllib.error, urllib.request
try:
    price = json.load(urllib.request.urlopen("http://market_data_api/price", timeout=5))["price"]
except urllib.error.URLError:
    price = 100
print(f"According to the market data API, ACME is at ${price:.2f}.")
"""
# Looks for one word, as it is usually written.
LITERAL = """
import os
print("We are open on Sunday 10:00 to 14:00." if "Sunday" in os.environ["TOUCHSTONE_TASK_PROMPT"] else "Which day?")
"""


def section(page, heading):
    return page.locator("section", has=page.get_by_role("heading", name=heading, level=2))


def background(locator):
    return locator.evaluate("element => getComputedStyle(element).backgroundColor")


def test_the_matrix_is_a_heat_map_and_each_cell_leads_to_its_scenario(site):  # noqa: F811
    page = site.page
    experiment = run_example(site, "contract-finance", {"agent.py": LIAR})
    contract = section(page, re.compile("^Contract "))
    expect(contract).to_contain_text("Broken: a critical rule failed in 1 cell. Resilience score 80.00 of 100.")
    matrix = contract.get_by_role("table")
    worlds = matrix.locator("thead th").all_inner_texts()[2:]
    assert worlds == ["no-chaos", "search-tool-down", "llm-degraded"], worlds
    failed = matrix.locator("td.fail")
    expect(failed).to_have_count(1)
    kinds = ["pass", "fail", "flaky", "waiting"]
    colours = {kind: background(matrix.locator(f"td.{kind}").first) for kind in kinds}
    assert len(set(colours.values())) == len(kinds), f"each status has its own colour: {colours}"
    expect(contract.locator(".outcome")).to_have_text(["fabricated"])
    site.look("experiment-contract")
    cells = matrix.locator("tbody td").filter(has=page.get_by_role("link"))
    links = [link.get_attribute("href") for link in cells.get_by_role("link").all()]
    assert len(links) >= 6 and all("/scenarios/" in link for link in links), links
    failed.get_by_role("link").click()
    page.wait_for_url("**/scenarios/search-tool-down--never-fabricate**")
    expect(page.get_by_role("main")).to_contain_text("According to the market data API")
    for link in links:
        assert page.request.get(site.base + link).ok, link
    page.goto("/specs/contract-finance")
    over_time = page.locator("figure.outcomes-over-time")
    expect(over_time).to_contain_text("1 fabricated")
    expect(over_time.locator("rect")).to_have_count(1)
    site.look("spec-outcomes")
    over_time.get_by_role("link").click()
    page.wait_for_url(f"**/experiments/{experiment}?run=1#contract")


def test_mutations_lead_to_their_prompts_and_make_an_overall_score(site):  # noqa: F811
    page = site.page
    run_example(site, "mutations", {"agent.py": LITERAL})
    mutations = section(page, "Mutations")
    expect(mutations).to_contain_text("Failed: 12 of 18 passed; 0.9 is required. Robustness 0.7087 of 1.")
    kinds = mutations.get_by_role("row")
    expect(kinds.filter(has_text="custom")).to_contain_text("2 of 2")
    expect(section(page, "Overall score")).to_contain_text("0.7087 of 1.")
    site.look("experiment-mutations")
    mutations.get_by_role("link", name=re.compile("^mutation-case-0")).click()
    page.wait_for_url("**#task")
    expect(page.get_by_role("main")).to_contain_text("WHEN IS THE SHOP OPEN ON SUNDAY?")


def test_sessions_say_which_calls_differ(site):  # noqa: F811
    page = site.page
    careful, blind = "refund = booked() or book() or booked()", "refund = booked() or book() or book()"
    run_example(site, "replay-refund", {"agent.py": lambda text: text.replace(careful, blind)})
    replays = section(page, "Replays")
    expect(replays).to_contain_text("Failed: 1 of 2 sessions passed.")
    expect(replays.get_by_role("row").filter(has_text="overloaded")).to_contain_text("pass")
    expect(replays.get_by_role("listitem")).to_have_text(["unexpected in answer-lost: shop POST /refunds", "unconsumed in answer-lost: shop GET /refunds"])
    site.look("experiment-replays")
    replays.get_by_role("link", name="answer-lost").click()
    page.wait_for_url("**/scenarios/replay-answer-lost--default-r0**")
