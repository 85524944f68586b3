//! Verdicts on call traces, and on the sessions of a workflow.

use std::sync::Arc;

use serde_json::json;
use tool_contracts::{Compiled, ExecutionSeen, ExecutionStage, LiveSession, Now, SessionOpening, Via};

use crate::checks::{Case, Check};
use crate::evidence::{CallTraceRecorder, ContractMode, ContractRecord, ContractSession};
use crate::evidence::{Evidence, ToolProposal, ToolReport};
use crate::plan::{Scenario, Values};
use crate::spec::code::Code;
use crate::spec::{Bundle, Loaded, load};
use crate::tool_session::{CallDecision, CallOutcome, RuleSource, SessionLane, Violation};
use crate::verdict::{Outcome, Verdict};

const SESSION: &str = "schema_version: \"1.0\"\nagent: support\nphases: [{name: triage, initial: true}, {name: checked}, {name: done, terminal: true}]\n\
    transitions: {triage: [checked], checked: [done]}\n";
const CHECK: &str = "tool: check\nside_effect: read\ntransitions: {valid_in_phases: [triage], advances_to: checked}\n";
const REFUND: &str = "tool: refund\nside_effect: financial\ntransitions: {valid_in_phases: [checked], advances_to: done}\n\
    argument_value_invariants: [{path: $.amount, lte: 100}]\n";

fn loaded(check: &str, refund: &str) -> Loaded {
    let text = format!(
        "version: 1\nid: t\nbase: x\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
         invariants: {{rules: {{description: x, check: {{type: tool_contract, contracts: rules{check}}}}}}}\n"
    );
    let files = [("rules/session.yaml", SESSION), ("rules/check.yaml", CHECK), ("rules/refund.yaml", refund)];
    let sizes = files.iter().map(|(name, text)| ((*name).to_owned(), text.len() as u64));
    let content = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec());
    load(&text, Some(&Bundle::new(sizes).expect("a bundle").with_texts(content)))
}

/// Judges calls: the tool, its amount, and whether it failed.
fn judge(check: &str, calls: &[(&str, i64, bool)]) -> Verdict {
    let loaded = loaded(check, REFUND);
    let spec = loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let mut recorder = CallTraceRecorder::default();
    for (model_call, (tool, amount, is_error)) in calls.iter().enumerate() {
        let arguments = recorder.read_arguments(&json!({"amount": amount}).to_string());
        let (id, tool) = (String::new(), (*tool).to_owned());
        let seq = recorder.add_proposal(ToolProposal { at_ms: 0, model_call, id, tool, arguments });
        let result = "{\"ok\": true}".to_owned();
        recorder.add_report(seq, ToolReport { at_ms: 1, model_call: model_call + 1, result, is_error: *is_error });
    }
    let evidence = Evidence { call_trace: recorder.finish(), ..Evidence::default() };
    let scenario = Scenario::only(&spec, []);
    let values = Values::for_judging(&spec, &scenario, &evidence);
    let check: &Check = &spec.invariants["rules"].check;
    check.judge(&Case::new(&[], &evidence, &values))
}

#[test]
fn an_obedient_agent_passes() {
    let verdict = judge("", &[("check", 0, false), ("refund", 50, false)]);
    assert_eq!((verdict.outcome, verdict.score), (Outcome::Passed, 1.0), "{verdict:?}");
    assert_eq!(verdict.details["final_phase"], "done");
    assert_eq!(verdict.details["calls"], 2);
}

#[test]
fn the_first_violation_is_told_and_marked() {
    let verdict = judge("", &[("refund", 50, false), ("refund", 60, false)]);
    assert_eq!((verdict.outcome, verdict.score), (Outcome::Failed, 0.0));
    let expected = "expected no violation of the tool contracts, found `wrong_phase` at call 0 of the trace (`refund`): \
        `refund` is valid in `checked`, and the phase is `triage`";
    assert!(verdict.message.starts_with(expected), "{}", verdict.message);
    let details = &verdict.details;
    assert_eq!(details["by_code"]["wrong_phase"], 2);
    assert_eq!(details["first_violation_seq"], 0);
    assert_eq!(details["findings"][0]["first"], true);
    assert_eq!(details["findings"][0]["fingerprint"], details["findings"][1]["fingerprint"]);
    assert_eq!((&details["executed_violations"], &details["attempted_violations"]), (&json!(2), &json!(0)));
}

#[test]
fn the_details_have_the_lane_with_the_line_of_each_rule() {
    let verdict = judge("", &[("refund", 50, false), ("check", 0, true), ("refund", 60, false)]);
    let lane = SessionLane::of_verdict("rules", &verdict.details).expect("a lane");
    let calls: Vec<_> = lane.calls().map(|call| (call.decision, call.outcome, call.violation)).collect();
    let (blocked, allowed) = (CallDecision::WouldHaveBeenBlocked, CallDecision::Allowed);
    let expected = [
        (blocked, Some(CallOutcome::Ok), Some(Violation::First)),
        (allowed, Some(CallOutcome::Error), None),
        (blocked, Some(CallOutcome::Ok), Some(Violation::PossibleConsequence)),
    ];
    assert_eq!(calls, expected, "{:#}", verdict.details);
    let first = lane.calls().next().expect("a call");
    assert_eq!(
        (first.at_ms, first.step, first.phase.as_deref(), first.self_reported),
        (Some(0), Some(1), Some("triage"), true)
    );
    assert_eq!(
        first.rule.as_ref().map(RuleSource::words).as_deref(),
        Some("transitions/valid_in_phases, rules/refund.yaml:3")
    );
    let marks: Vec<_> = lane.findings.iter().map(|finding| (finding.violation, finding.rule.place())).collect();
    assert_eq!(marks[0], (Some(Violation::First), Some("rules/refund.yaml:3".to_owned())));
    assert_eq!((lane.violations, lane.left_out), (verdict.details["violations"].as_u64().expect("a count"), 0));
}

#[test]
fn a_long_session_is_kept_in_part_and_counted() {
    let calls = vec![("check", 0, false); 203];
    let verdict = judge("", &calls);
    let lane = SessionLane::of_verdict("rules", &verdict.details).expect("a lane");
    assert_eq!((lane.calls().count(), lane.left_out), (200, 3));
    assert!(lane.summary().starts_with("203 calls, 203 violations"), "{}", lane.summary());
}

#[test]
fn options_change_what_counts() {
    let unfinished = [("check", 0, false)];
    assert!(!judge("", &unfinished).is_passed());
    assert!(judge(", require_terminal_phase: false", &unfinished).is_passed());
    assert!(judge(", severity: {session_not_terminal: warn}", &unfinished).is_passed());
    let ghost = [("check", 0, false), ("ghost", 0, false), ("refund", 1, false)];
    assert!(!judge("", &ghost).is_passed());
    assert!(judge(", unmatched: allow", &ghost).is_passed());
    assert!(judge(", max_violations: 1", &ghost).is_passed());
    let ratio = judge(", score: ratio", &ghost);
    assert!((ratio.score - 2.0 / 3.0).abs() < 1e-9 && !ratio.is_passed(), "{ratio:?}");
}

#[test]
fn nothing_recorded_is_an_error_and_no_pass() {
    let verdict = judge("", &[]);
    assert!(matches!(verdict.outcome, Outcome::Errored(_)), "{verdict:?}");
}

#[test]
fn contracts_that_do_not_compile_are_findings_with_their_places() {
    let found = loaded("", "tool: refund\nside_effect: finacial\n").diagnostics;
    let found: Vec<_> = found.iter().filter(|one| one.code == Code::InvalidToolContracts).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.starts_with("rules/refund.yaml:2:14: INVALID_ENUM"), "{}", found[0].message);
    assert_eq!(found[0].help.as_deref(), Some("did you mean `financial`?"));
    let codes = |check: &str| loaded(check, REFUND).diagnostics.iter().map(|one| one.code).collect::<Vec<_>>();
    assert_eq!(codes(", severity: {wrong_fase: warn}"), [Code::UnknownChoice, Code::NoAgent][..1]);
    assert_eq!(codes(", workflow: workflow.yaml"), [Code::MissingFile]);
}

/// The record of a session that one role's rules decided: looked at, and closed.
fn governed_session(set: &Compiled, name: &str, role: &str, tool: &str) -> ContractSession {
    let opening = SessionOpening {
        session: name.to_owned(),
        role: Some(role.to_owned()),
        decides: true,
        sees_model: false,
        labels: Vec::new(),
    };
    let now = Now { ts: "2026-01-01T00:00:00Z".to_owned(), at_ms: 0 };
    let mut live = LiveSession::open(Arc::new(set.clone()), opening, Arc::new(ToOwned::to_owned), &now);
    let seen = ExecutionSeen { via: Via::Mcp, tool: tool.to_owned(), arguments: json!({}), model_id: None };
    let execution = live.execute(&now, seen);
    if let ExecutionStage::ToJudge(to_judge) = execution.stage {
        let step = live.judge_execution(&now, to_judge);
        live.release(&now, step);
    }
    live.close(&now);
    let log = live.log();
    ContractSession {
        session: name.to_owned(),
        role: Some(role.to_owned()),
        contract: set.hash.clone(),
        records: log.records.clone(),
        last_hash: log.last_hash.clone(),
        ..ContractSession::default()
    }
}

/// Judges a workflow with these calls: the role by whose rules a tool was decided, and the tool.
fn judge_workflow(calls: [(usize, &str); 2]) -> Verdict {
    let text = "version: 1\nid: t\nbase: x\ntask: {prompt: x}\nagent: {type: noop}\n\
        tool_contracts: {dir: rules, workflow: workflow.yaml, mode: govern}\n\
        invariants: {rules: {description: x, check: {type: tool_contract, contracts: rules, workflow: workflow.yaml}}}\n";
    let roles = "schema_version: \"1.0\"\nworkflow: w\nroles: [{name: a, session_contract: a/session.yaml}, \
        {name: b, session_contract: b/session.yaml}]\nhandoffs: [{from: a, to: b}]\n";
    let files = [
        ("rules/workflow.yaml", roles),
        ("rules/a/session.yaml", "schema_version: \"1.0\"\nagent: a\n"),
        ("rules/a/check.yaml", "tool: check\nside_effect: read\n"),
        ("rules/b/session.yaml", "schema_version: \"1.0\"\nagent: b\n"),
        ("rules/b/refund.yaml", "tool: refund\nside_effect: financial\n"),
    ];
    let sizes = files.iter().map(|(name, text)| ((*name).to_owned(), text.len() as u64));
    let content = |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec());
    let loaded = load(text, Some(&Bundle::new(sizes).expect("a bundle").with_texts(content)));
    let spec = loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let scenario = Scenario::only(&spec, []);
    let nothing = Evidence::default();
    let sets = super::live::governing_sets(&Values::for_judging(&spec, &scenario, &nothing)).expect("sets");
    let sessions = calls
        .iter()
        .zip(["s", "s.1"])
        .map(|((role, tool), name)| governed_session(&sets[*role], name, ["a", "b"][*role], tool));
    let record =
        ContractRecord { mode: ContractMode::Govern, sessions: sessions.collect(), ..ContractRecord::default() };
    let evidence = Evidence { tool_contracts: Some(record), ..Evidence::default() };
    let values = Values::for_judging(&spec, &scenario, &evidence);
    spec.invariants["rules"].check.judge(&Case::new(&[], &evidence, &values))
}

#[test]
fn each_session_of_a_workflow_is_judged_by_the_rules_of_its_role() {
    let verdict = judge_workflow([(0, "check"), (1, "refund")]);
    assert_eq!((verdict.outcome, &verdict.details["calls"]), (Outcome::Passed, &json!(2)), "{:?}", verdict.details);
    let verdict = judge_workflow([(0, "refund"), (1, "refund")]);
    assert_eq!(verdict.details["by_code"], json!({"no_contract": 1}), "{:?}", verdict.details);
    assert_eq!(verdict.details["attempted_violations"], 1);
}
