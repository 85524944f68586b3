//! Lanes from real records, from unexpected records, and from verdicts.

use serde_json::{Value as Json, json};

use super::{CallDecision, LaneRow, SessionLane, ToolSessions, Violation, contract_logs};
use crate::evidence::{ContractMode, ContractRecord, ContractSession, Evidence};

fn session(records: Vec<Json>) -> ContractSession {
    ContractSession { session: "s-1".to_owned(), status: "active".to_owned(), records, ..ContractSession::default() }
}

fn lane(mode: ContractMode, records: Vec<Json>) -> SessionLane {
    SessionLane::of_record(mode, &session(records))
}

/// A decision on the call `c{step}` of a tool.
fn decision(step: u64, tool: &str, phase: &str, more: &Json) -> Json {
    let mut record = json!({"kind": "decision", "at_ms": step * 100, "step": step, "batch": 0, "call": format!("c{step}"),
        "tool": tool, "via": "llm", "verdict": "allow", "applied": true, "phase": phase, "reasons": [],
        "sentence": "allowed: every rule holds", "released": true});
    record.as_object_mut().expect("a record").extend(more.as_object().cloned().expect("fields"));
    record
}

fn block(code: &str, rule: &str) -> Json {
    json!({"verdict": "block", "layer": "L1", "released": false, "sentence": format!("blocked: {code} [{rule}]"),
        "reasons": [{"code": code, "rule": rule, "message": "no"}]})
}

fn completed(step: u64, tool: &str, phase: &str) -> Json {
    json!({"kind": "completed", "at_ms": step * 100 + 50, "call": format!("c{step}"), "tool": tool, "outcome": "ok",
        "provenance": "gateway", "phase": phase})
}

/// The lane as text: a line for each band, and one for each row in it.
fn drawn(lane: &SessionLane) -> String {
    let mut lines = vec![lane.summary()];
    for band in lane.bands() {
        lines.push(format!("{} {:?}-{:?}", band.phase.unwrap_or("no phase"), band.from_ms, band.to_ms));
        lines.extend(band.rows.iter().map(|row| match row {
            LaneRow::Note(note) => format!("  - {}", note.words),
            LaneRow::Call(call) => format!(
                    "  {} {}{}: {}{}",
                    call.tool,
                    call.decision.words(),
                    call.violation.map(|mark| format!(" ({})", mark.words())).unwrap_or_default(),
                    call.sentence,
                    Some(call.afterwards())
                        .filter(|text| !text.is_empty())
                        .map(|text| format!("; {text}"))
                        .unwrap_or_default()
                ),
        }));
    }
    lines.extend(lane.findings.iter().map(|finding| format!("{} {}", finding.severity.word(), finding.words())));
    lines.join("\n")
}

#[test]
fn a_governed_session_has_bands_decisions_and_their_ends() {
    let hold = json!({"verdict": "hold", "layer": "L4", "released": false, "sentence": "held: `pay` needs an approval [checkpoints/large]",
        "reasons": [{"code": "checkpoint_required", "rule": "checkpoints/large", "message": "x"}]});
    let lane = lane(
        ContractMode::Govern,
        vec![
            json!({"kind": "session_opened", "mode": "govern", "agent": "support", "phase": "triage", "contract": "sha256:1"}),
            json!({"kind": "narrowed", "at_ms": 90, "offered": 3, "removed": [{"tool": "pay", "code": "wrong_phase", "message": "x"}]}),
            decision(1, "look", "triage", &json!({})),
            json!({"kind": "dispatched", "at_ms": 120, "call": "c1", "tool": "look", "via": "mcp"}),
            completed(1, "look", "checked"),
            json!({"kind": "narrowed", "at_ms": 190, "offered": 3, "removed": [{"tool": "pay", "code": "wrong_phase", "message": "x"}]}),
            decision(2, "drop", "checked", &block("no_contract", "unmatched")),
            decision(3, "pay", "checked", &hold),
            json!({"kind": "hold", "at_ms": 300, "call": "c3", "tool": "pay", "checkpoints": ["checkpoints/large"],
                "context": [["amount", 70]], "timeout_seconds": 60}),
            json!({"kind": "approval", "at_ms": 340, "call": "c3", "decision": "approve", "by": "ada", "note": "her order"}),
            completed(3, "pay", "done"),
            decision(4, "pay", "done", &block("wrong_phase", "transitions/valid_in_phases")),
            json!({"kind": "session_closed", "at_ms": 500, "phase": "done", "status": "closed"}),
        ],
    );
    insta::assert_snapshot!(drawn(&lane));
    let held = lane.calls().nth(2).and_then(|call| call.hold.as_ref()).expect("a hold");
    assert_eq!(held.context, [("amount".to_owned(), "70".to_owned())]);
}

#[test]
fn a_refusal_of_the_workflow_is_a_row_like_any_other() {
    let mut refused = decision(1, "write_order", "open", &block("resource_owned", "shared_resources/order"));
    refused["kind"] = "workflow_decision".into();
    let lane = lane(ContractMode::Govern, vec![refused]);
    let text = drawn(&lane);
    assert!(text.contains("write_order blocked") && text.contains("resource_owned"), "{text}");
}

#[test]
fn in_observe_mode_a_refusal_would_have_been_one() {
    let refused = json!({"applied": false, "released": true});
    let mut wrong = block("wrong_phase", "transitions/valid_in_phases");
    wrong.as_object_mut().expect("fields").extend(refused.as_object().cloned().expect("fields"));
    let finding = json!({"kind": "finding", "code": "wrong_phase", "tool": "pay", "rule": "transitions/valid_in_phases", "path": null,
        "call": "c1", "message": "`pay` is valid in `checked`", "fingerprint": "0a1b2c3d", "severity": "fail", "file": "rules/pay.yaml", "line": 3});
    let end = json!({"kind": "finding", "code": "session_not_terminal", "tool": "", "rule": "phases", "call": "", "severity": "fail",
        "message": "the last phase is not terminal"});
    let records = vec![
        json!({"kind": "would_have_narrowed", "at_ms": 90, "removed": [{"tool": "pay"}]}),
        decision(1, "pay", "triage", &wrong),
        finding,
        completed(1, "pay", "triage"),
        end,
    ];
    let lane = lane(ContractMode::Observe, records);
    insta::assert_snapshot!(drawn(&lane));
    assert_eq!(lane.calls().next().and_then(|call| call.violation), Some(Violation::First));
}

#[test]
fn a_call_that_is_decided_on_twice_is_one_row_unless_the_decisions_differ() {
    let again = decision(1, "pay", "open", &json!({"via": "mcp"}));
    let same = lane(ContractMode::Govern, vec![decision(1, "pay", "open", &json!({})), again]);
    assert_eq!(same.calls().count(), 1);
    let drifted = decision(1, "pay", "open", &block("argument_invariant_failed", "argument_value_invariants[0]"));
    let other = lane(ContractMode::Govern, vec![decision(1, "pay", "open", &json!({})), drifted]);
    let seen: Vec<_> = other.calls().map(|call| (call.decision, call.violation)).collect();
    assert_eq!(
        seen,
        [(CallDecision::Allowed, None), (CallDecision::Blocked, None)],
        "a call that was refused is an attempt"
    );
}

#[test]
fn a_refusal_that_is_repeated_or_recorded_as_a_finding_is_one_violation() {
    let limit =
        json!({"code": "session_limit_exceeded", "rule": "session_limits/max_steps", "message": "no more steps"});
    let refused = json!({"kind": "precheck", "at_ms": 1, "verdict": "block", "reasons": [limit]});
    let finding = json!({"kind": "finding", "code": "wrong_phase", "rule": "transitions/valid_in_phases", "call": "c1", "tool": "pay",
        "message": "too early", "severity": "fail"});
    let records = vec![
        refused.clone(),
        decision(1, "pay", "open", &block("wrong_phase", "transitions/valid_in_phases")),
        finding,
        refused,
    ];
    let lane = lane(ContractMode::Govern, records);
    let codes: Vec<_> = lane.findings.iter().map(|finding| (finding.code.as_str(), finding.violation)).collect();
    // What was refused before the model was asked is an attempt, and no violation.
    let expected = [("session_limit_exceeded", None), ("wrong_phase", Some(Violation::First))];
    assert_eq!((codes, lane.violations), (expected.to_vec(), 1));
}

#[test]
fn the_first_rows_have_their_bands_and_places() {
    let steps = [(1, "open"), (2, "open"), (3, "closed"), (4, "closed")];
    let lane = lane(ContractMode::Govern, steps.map(|(step, phase)| decision(step, "t", phase, &json!({}))).into());
    let seen = |most: usize| -> Vec<_> {
        lane.bands_of_first(most)
            .iter()
            .map(|band| (band.phase.unwrap_or_default().to_owned(), band.first, band.rows.len()))
            .collect()
    };
    let band = |phase: &str, first: usize, rows: usize| (phase.to_owned(), first, rows);
    assert_eq!(seen(9), [band("open", 0, 2), band("closed", 2, 2)]);
    assert_eq!(seen(3), [band("open", 0, 2), band("closed", 2, 1)]);
    assert_eq!(seen(2), [band("open", 0, 2)]);
}

#[test]
fn recorded_calls_need_no_decision() {
    let dispatched = json!({"kind": "dispatched", "at_ms": 5, "call": "c1", "tool": "look"});
    let lane = lane(ContractMode::Record, vec![dispatched, completed(1, "look", "open")]);
    let calls: Vec<_> = lane.calls().map(|call| (call.decision, call.afterwards())).collect();
    assert_eq!(calls, [(CallDecision::NotDecided, "returned a result".to_owned())]);
}

#[test]
fn records_that_nobody_expects_change_nothing() {
    let records = vec![
        json!(null),
        json!("text"),
        json!({"kind": 7}),
        json!({"kind": "telepathy", "call": "c1"}),
        json!({"kind": "decision", "call": 3, "tool": {}, "verdict": [], "reasons": "x", "phase": 1, "step": -1}),
        json!({"kind": "approval", "call": "missing", "decision": "maybe"}),
        json!({"kind": "hold", "call": "missing", "checkpoints": [1], "context": [[1], "x"]}),
        json!({"kind": "finding", "severity": 3, "line": "x"}),
        json!({"kind": "narrowed", "removed": "x"}),
    ];
    let lane = lane(ContractMode::Govern, records);
    assert_eq!((lane.calls().count(), lane.findings.len()), (1, 1), "{lane:?}");
    assert_eq!(lane.calls().next().map(|call| call.decision), Some(CallDecision::NotDecided));
}

#[test]
fn several_sessions_are_several_lanes_with_their_handoffs() {
    let handoff =
        json!({"kind": "handoff", "at_ms": 40, "handoff": "refunds", "from": "s-1", "to": "s-2", "status": "accepted"});
    let second = ContractSession {
        session: "s-2".to_owned(),
        role: Some("refunder".to_owned()),
        ..session(vec![handoff.clone()])
    };
    let mut record =
        ContractRecord { sessions: vec![session(vec![handoff.clone()]), second], ..ContractRecord::default() };
    let words = "handoff refunds from s-1 to s-2, accepted";
    for _ in ["of the sessions", "of the workflow"] {
        let evidence = Evidence { tool_contracts: Some(record.clone()), ..Evidence::default() };
        let sessions = ToolSessions::of(Some(&evidence), None);
        let names: Vec<_> = sessions.lanes.iter().map(SessionLane::name).collect();
        assert_eq!(names, ["s-1", "refunder (s-2)"]);
        assert_eq!(sessions.between.iter().map(|note| note.words.as_str()).collect::<Vec<_>>(), [words]);
        record.workflow = vec![handoff.clone()];
    }
}

#[test]
fn each_session_has_a_file_with_its_records() {
    let sessions =
        vec![session(vec![json!({"kind": "session_opened"}), json!({"kind": "session_closed"})]), session(Vec::new())];
    let record = ContractRecord { sessions, ..ContractRecord::default() };
    let evidence = Evidence { tool_contracts: Some(record), ..Evidence::default() };
    let logs: Vec<_> = contract_logs(&evidence).into_iter().map(|log| (log.name, log.lines)).collect();
    let lines = "{\"kind\":\"session_opened\"}\n{\"kind\":\"session_closed\"}\n";
    assert_eq!(logs, [("contract.jsonl".to_owned(), lines.to_owned()), ("contract-2.jsonl".to_owned(), String::new())]);
    assert_eq!(contract_logs(&Evidence::default()), []);
}

#[test]
fn a_live_record_is_shown_instead_of_what_checks_say() {
    let details =
        json!({"contract": "sha256:1", "session": {"calls": [{"call": "c1", "tool": "pay"}]}, "violations": 0});
    let judged = ToolSessions::of_details(None, [("rules", &details), ("other", &json!({"given": 1}))]);
    assert_eq!(judged.lanes.iter().map(SessionLane::name).collect::<Vec<_>>(), ["rules"]);
    let record = ContractRecord { sessions: vec![session(Vec::new())], ..ContractRecord::default() };
    let evidence = Evidence { tool_contracts: Some(record), ..Evidence::default() };
    let live = ToolSessions::of_details(Some(&evidence), [("rules", &details)]);
    assert_eq!(live.lanes.iter().map(SessionLane::name).collect::<Vec<_>>(), ["s-1"]);
    assert!(ToolSessions::of(None, None).is_empty());
}

#[test]
fn words_of_agents_stay_on_their_line() {
    let hostile = "x\n::error::\u{1b}[2J\u{202e}";
    let records = vec![
        json!({"kind": "decision", "call": "c1", "tool": hostile, "verdict": "hold", "applied": true, "sentence": hostile}),
        json!({"kind": "approval", "call": "c1", "decision": "deny", "by": hostile, "note": hostile}),
        json!({"kind": "killed", "cause": hostile}),
        json!({"kind": "finding", "code": hostile, "tool": hostile, "rule": hostile, "message": hostile, "severity": "fail"}),
    ];
    let lane = lane(ContractMode::Govern, records);
    let afterwards = lane.calls().next().map(super::LaneCall::afterwards).unwrap_or_default();
    let notes = lane.rows.iter().filter_map(|row| match row {
        LaneRow::Note(note) => Some(note.words.clone()),
        LaneRow::Call(_) => None,
    });
    let told = notes.chain(lane.findings.iter().map(super::LaneFinding::words)).chain([
        afterwards,
        lane.name(),
        lane.summary(),
    ]);
    for text in told {
        assert!(!text.contains(['\n', '\u{1b}', '\u{202e}']), "{text:?}");
    }
}
