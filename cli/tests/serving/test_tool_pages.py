"""Tools on the pages, in a real browser: what was offered, every call with its answer, and what a fault changed."""

import re

from playwright.sync_api import expect

from test_contract_pages import section
from test_fault_pages import run_example, site  # noqa: F401: a fixture


def test_a_scenario_shows_its_tools_and_their_calls(site):  # noqa: F811
    page = site.page
    experiment = run_example(site, "tools-model")
    page.goto(f"/experiments/{experiment}/scenarios/calm--default-r0")
    tools = section(page, "Tools")
    expect(tools).to_contain_text("3 calls, 1 list of tools, client tools-model 1.0 (MCP 2025-11-25)")
    names = tools.locator("tbody th").all_inner_texts()
    assert names == ["find_customer", "refund_order"], names
    main = page.get_by_role("main")
    expect(main).to_contain_text("refused: the arguments do not meet the schema")
    site.look("scenario-tools")
    page.goto(f"/experiments/{experiment}/scenarios/other-description--default-r0")
    expect(section(page, "Tools")).to_contain_text(re.compile("refund_order has another definition since .*: a fault of the spec"))


def test_a_scenario_shows_the_servers_of_its_tools(site):  # noqa: F811
    page = site.page
    experiment = run_example(site, "tools-server")
    page.goto(f"/experiments/{experiment}/scenarios/full-disk--default-r0")
    tools = section(page, "Tools")
    expect(tools).to_contain_text("notes 1.0")
    expect(tools).to_contain_text("delete_all")
    expect(page.get_by_role("main")).to_contain_text("fault: tool_error")
    site.look("scenario-tool-servers")


# Refunds before it looks the order up, and more than the contract allows.
HASTY = """  turns:
    - tool_calls: [{ name: refund_order, arguments: { order_id: "1001", amount: 25 } }]
    - tool_calls: [{ name: lookup_order, arguments: { order_id: "1001" } }]
    - tool_calls: [{ name: refund_order, arguments: { order_id: "1001", amount: 700 } }]
    - content: We refunded it.

setup:"""


def test_a_session_under_tool_contracts_is_a_lane(site):  # noqa: F811
    page = site.page
    hasty = lambda text: re.sub(r"  turns:\n.*?\n\nsetup:", lambda _: HASTY, text, flags=re.DOTALL)
    experiment = run_example(site, "tool-contracts", {"spec.yaml": hasty})
    page.goto(f"/experiments/{experiment}/scenarios/default-r0")
    contracts = section(page, "Tool contracts")
    expect(contracts.locator(".band .phase strong")).to_have_text(["triage", "looked_up", "refunded"])
    calls = contracts.locator(".call")
    expect(calls).to_have_count(3)
    expect(calls.nth(0)).to_contain_text("would have been blocked")
    expect(calls.nth(0)).to_contain_text("first violation")
    expect(calls.nth(0)).to_contain_text("rules/refund_order.yaml:3")
    expect(calls.nth(1)).to_contain_text("allowed")
    expect(calls.nth(2)).to_contain_text("possible consequence")
    site.look("scenario-tool-contracts")
    contracts.locator(".rules-broken a").first.click()
    expect(page.locator(".call:target")).to_contain_text("first violation")


def test_a_governed_session_shows_what_was_refused_held_and_approved(site):  # noqa: F811
    page = site.page
    experiment = run_example(site, "tool-contracts-govern")
    page.goto(f"/experiments/{experiment}")
    page.get_by_role("link", name=re.compile("obedient")).first.click()
    contracts = section(page, "Tool contracts")
    expect(contracts).to_contain_text("blocked")
    expect(contracts).to_contain_text("held")
    expect(contracts.locator(".band .phase strong").first).to_have_text("triage")
    site.look("scenario-governed")
