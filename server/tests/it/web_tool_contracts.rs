//! Sessions under tool contracts on the page of a scenario, and their records as files.

use scenario::evidence::{ContractMode, ContractRecord, ContractSession, Evidence};
use scenario::result::RowStatus;
use serde_json::{Value, json};
use store::{Clock as _, Completion, Held, Numbers};

use crate::test_app::{ADA, HELLO, TestApp, result};
use crate::web_hostile::{HOSTILE, end, require_harmless};
use crate::web_session::Browser;

/// A decision on a call.
fn decision(step: u64, tool: &str, verdict: &str, sentence: &str) -> Value {
    let reasons = match verdict {
        "allow" => json!([]),
        _ => {
            json!([{"code": "wrong_phase", "rule": "transitions/valid_in_phases", "message": sentence, "file": "rules/pay.yaml", "line": 3}])
        }
    };
    json!({"kind": "decision", "at_ms": step * 100, "step": step, "call": format!("c{step}"), "tool": tool, "via": "llm",
        "verdict": verdict, "applied": true, "phase": "triage", "sentence": sentence, "reasons": reasons, "released": verdict == "allow"})
}

fn session(name: &str, records: Vec<Value>) -> ContractSession {
    ContractSession { session: name.to_owned(), status: "closed".to_owned(), records, ..ContractSession::default() }
}

/// A governed session with a call that was blocked, one that was held and denied, and one that was allowed.
fn governed(text: &str) -> Evidence {
    let records = vec![
        json!({"kind": "session_opened", "mode": "govern", "phase": "triage"}),
        json!({"kind": "narrowed", "at_ms": 50, "removed": [{"tool": text}]}),
        decision(1, "pay", "block", text),
        decision(2, text, "hold", text),
        json!({"kind": "hold", "call": "c2", "tool": text, "checkpoints": [text], "context": [["amount", text]], "timeout_seconds": 60}),
        json!({"kind": "approval", "call": "c2", "decision": "deny", "by": text, "note": text}),
        decision(3, "look", "allow", "allowed: every rule holds"),
        json!({"kind": "completed", "at_ms": 350, "call": "c3", "tool": "look", "outcome": "ok", "phase": "looked_up"}),
        json!({"kind": "session_closed", "at_ms": 400, "phase": "looked_up", "status": "closed"}),
    ];
    let handoff =
        json!({"kind": "handoff", "at_ms": 380, "handoff": text, "from": "s-1", "to": "s-2", "status": "accepted"});
    let sessions = vec![session("s-1", records), session("s-2", vec![json!({"kind": "session_opened"})])];
    let record = ContractRecord { mode: ContractMode::Govern, sessions, workflow: vec![handoff] };
    Evidence { tool_contracts: Some(record), ..Evidence::default() }
}

#[tokio::test]
async fn a_governed_session_is_a_lane_with_its_decisions() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let held = end(&app, RowStatus::Fail, &governed("`pay` comes later")).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let place = format!("/experiments/{id}/scenarios/{}", held.scenario.id);
    let page = browser.get(&place).await.text();
    for said in [
        "<h2 id=\"tool-contracts\">Tool contracts</h2>",
        "Session s-1</h3>",
        "Session s-2</h3>",
        "governed: decisions were applied",
        "<strong>triage</strong>",
        "<strong>looked_up</strong>",
        "hidden from the model: <code>pay</code> comes later",
        "</span>blocked</span>",
        "</span>held</span>",
        "</span>allowed</span>",
        "</span>refused attempt</span>",
        "<code>pay</code> comes later</p>",
        "<code>rules/pay.yaml:3</code>",
        "denied by `pay` comes later (`pay` comes later)",
        "returned a result",
        "<h3>Between the sessions</h3>",
        "from s-1 to s-2, accepted",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(!page.contains("would have been"), "{page}");
    require_harmless(&page);
}

#[tokio::test]
async fn hostile_text_in_records_is_text() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let held = end(&app, RowStatus::Fail, &governed(HOSTILE)).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}/scenarios/{}", held.scenario.id)).await.text();
    assert!(page.contains("Tool contracts"), "{page}");
    require_harmless(&page);
}

#[tokio::test]
async fn the_records_of_a_session_are_files() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let held = end(&app, RowStatus::Fail, &governed("x")).await;
    let scenario = &held.scenario.id;
    let listed = app.get(ADA, &format!("/v1/experiments/{id}/scenarios/{scenario}/artifacts")).await.expect(200);
    let names: Vec<_> =
        listed.as_array().expect("a list").iter().map(|one| one["name"].as_str().unwrap_or_default()).collect();
    assert_eq!(names, ["1/evidence.json", "1/contract.jsonl", "1/contract-2.jsonl"]);
    let url = listed[1]["url"].as_str().expect("a place");
    let file = app.get(ADA, url).await;
    assert_eq!(file.expect_raw(200).len() as u64, listed[1]["size_bytes"].as_u64().expect("a size"));
    let first: Value = serde_json::from_str(file.text().lines().next().expect("a line")).expect("a record");
    assert_eq!(first["kind"], "session_opened");
    let browser = Browser::signed_in(&app, ADA).await;
    let place = |session: u32| format!("/experiments/{id}/scenarios/{scenario}/contract/{session}?run=1");
    assert_eq!(browser.get(&place(1)).await.text(), file.text());
    assert_eq!(
        browser.get(&place(1)).await.header("content-disposition"),
        format!("attachment; filename=\"{scenario}-contract.jsonl\"")
    );
    for missing in [0, 3] {
        browser.get(&place(missing)).await.expect_raw(404);
    }
}

/// Ends the next job with a verdict of a `tool_contract` check.
async fn end_judged(app: &TestApp, details: Value) -> Held {
    let held = app.claim().await.expect("a job");
    let mut judged = result(&held, RowStatus::Fail);
    judged.invariants[0].verdict.details = details;
    let evidence = Evidence::default();
    let completion = Completion { evidence: Some(&evidence), result: &judged, traces: &[], at: app.clock.now() };
    let numbers = Numbers::of(&app.store, held.run).await.expect("numbers");
    app.store.complete(&held.lease, held.run, completion, &numbers).await.expect("kept");
    held
}

#[tokio::test]
async fn calls_that_were_judged_afterwards_are_a_lane_too() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let call = json!({"at_ms": 5, "step": 1, "call": "c1#0", "tool": "refund", "phase": "triage", "decision": "would_have_been_blocked",
        "sentence": "`refund` is valid in `checked` [transitions/valid_in_phases]",
        "rule": {"rule": "transitions/valid_in_phases", "file": "rules/refund.yaml", "line": 3}, "violation": "first"});
    let finding = json!({"severity": "fail", "code": "wrong_phase", "call": "c1#0", "tool": "refund", "rule": "transitions/valid_in_phases",
        "file": "rules/refund.yaml", "line": 3, "message": "`refund` is valid in `checked`", "first": true});
    let details = json!({"contract": "sha256:1", "violations": 1, "final_phase": "triage", "findings": [finding],
        "session": {"calls": [call], "left_out": 0}});
    let held = end_judged(&app, details).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}/scenarios/{}", held.scenario.id)).await.text();
    for said in [
        "judged afterwards: nothing was blocked",
        "1 call, 1 violation; the last phase is triage.",
        "</span>would have been blocked</span>",
        "first violation",
        "<code>refund</code> is valid in <code>checked</code></p>",
        "id=\"call-0-0\"",
        "href=\"#call-0-0\"",
        "Findings <span class=\"quiet\">1</span>",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(!page.contains("Download the records"), "{page}");
    require_harmless(&page);
}

#[tokio::test]
async fn a_scenario_without_tool_contracts_has_no_such_section() {
    let app = TestApp::new().await;
    let id = app.finished(HELLO).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}/scenarios/default-r0")).await.text();
    assert!(!page.contains("Tool contracts"), "{page}");
}
