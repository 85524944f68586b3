//! The course of sessions, where no vector covers it.

use serde_json::json;
use tool_contracts::options::{Fallback, Mode, Principal};
use tool_contracts::{
    Batch, Call, Code, CompileOptions, Compiled, Decision, Event, Outcome, Provenance, RawFile, RawSet, Resolution,
    SessionState, Status, StepCall, Verdict, apply, compile, decide, inherit_labels, resolve_hold,
};

fn set(session: &str, tool: &str, on_error: Fallback) -> Compiled {
    let session = format!("schema_version: \"1.0\"\nagent: a\n{session}\n");
    let tool = format!("tool: t\nside_effect: write\n{tool}\n");
    let files = [("session", session), ("t", tool)].map(|(name, text)| RawFile { name: format!("{name}.yaml"), text });
    let mut options = CompileOptions { principal: Principal::Given(json!({})), ..CompileOptions::default() };
    options.run.mode = Mode::Govern;
    options.run.on_error = on_error;
    compile(&RawSet { files: files.to_vec() }, &options).expect("a set").0
}

fn call() -> Call {
    Call { id: "c".to_owned(), tool: "t".to_owned(), arguments: json!({"n": 5}) }
}

fn decided(set: &Compiled, state: &SessionState) -> Decision {
    decide(set, state, &Batch { step: state.attempt_steps + 1, ..Batch::default() }, &call())
}

#[test]
fn the_first_schema_of_a_tool_stays() {
    let set = set("", "", Fallback::Block);
    let mut state = SessionState::new(&set);
    let mut see = |most: u32| {
        let schema = json!({"properties": {"n": {"maximum": most}}});
        let found = apply(&set, &mut state, &Event::SchemaSeen { tool: "t".to_owned(), schema });
        (found.iter().map(|finding| finding.code).collect::<Vec<_>>(), decided(&set, &state).codes())
    };
    assert_eq!(see(4), (vec![], vec![Code::ArgumentInvariantFailed]));
    assert_eq!(see(4), (vec![], vec![Code::ArgumentInvariantFailed]));
    assert_eq!(see(9), (vec![Code::ToolSchemaChanged], vec![Code::ArgumentInvariantFailed]));
}

#[test]
fn assertions_about_an_exchange_that_was_not_seen_are_a_remark() {
    let set = set(
        "",
        "assertions: {input_invariants: [{path: $.messages, length_gte: 1}], output_invariants: []}",
        Fallback::Block,
    );
    let decision = decided(&set, &SessionState::new(&set));
    assert_eq!((decision.verdict, decision.notes), (Verdict::Allow, vec![Code::NotEvaluable]));
}

#[test]
fn a_fault_of_ours_blocks_or_passes_a_few_calls() {
    let blocking = set("", "", Fallback::Block);
    assert_eq!(Decision::failed(&blocking, &call()).codes(), [Code::EngineError]);
    let passing = set("", "", Fallback::Allow);
    assert_eq!(Decision::failed(&passing, &call()).verdict, Verdict::Allow);
    let mut state = SessionState::new(&passing);
    for _ in 0..3 {
        apply(&passing, &mut state, &Event::CallUnguarded);
        assert_eq!(state.status, Status::Active);
    }
    apply(&passing, &mut state, &Event::CallUnguarded);
    assert_eq!(state.status, Status::Killed("unguarded_calls".to_owned()));
}

#[test]
fn a_refused_request_counts_for_the_breaker() {
    let set = set("session_limits: {circuit_breaker: {consecutive_blocks: 2}}", "", Fallback::Block);
    let mut state = SessionState::new(&set);
    apply(&set, &mut state, &Event::PrecheckBlocked);
    assert_eq!(state.status, Status::Active);
    apply(&set, &mut state, &Event::PrecheckBlocked);
    assert!(state.is_killed());
}

#[test]
fn a_child_begins_with_the_labels_of_its_parent() {
    let set = set("policy: {label_gates: [{when_label: hot, deny_tools: [t], reason: r}]}", "", Fallback::Block);
    let (mut parent, mut child) = (SessionState::new(&set), SessionState::new(&set));
    apply(&set, &mut parent, &Event::LabelAdded { label: "hot".to_owned(), origin: "api".to_owned() });
    assert_eq!(decided(&set, &child).verdict, Verdict::Allow);
    inherit_labels(&parent, &mut child);
    assert_eq!(decided(&set, &child).codes(), [Code::LabelGateDenied]);
}

#[test]
fn a_deadline_that_lets_a_call_pass_is_told() {
    let set = set("", "checkpoint: {when: always, timeout_seconds: 30, on_timeout: allow}", Fallback::Block);
    let mut state = SessionState::new(&set);
    let held = decided(&set, &state).hold.expect("a hold");
    let resolve = |state: &SessionState, resolution| {
        let (decision, found) = resolve_hold(&set, state, &Batch::default(), &call(), &held, resolution);
        (decision.verdict, found.iter().map(|finding| finding.code).collect::<Vec<_>>())
    };
    assert_eq!(resolve(&state, Resolution::Approved), (Verdict::Allow, vec![]));
    assert_eq!(resolve(&state, Resolution::Denied), (Verdict::Block, vec![]));
    assert_eq!(resolve(&state, Resolution::DeadlinePassed), (Verdict::Allow, vec![Code::CheckpointAutoAllowed]));
    apply(&set, &mut state, &Event::Killed("test".to_owned()));
    assert_eq!(resolve(&state, Resolution::Approved), (Verdict::Block, vec![Code::ApprovedButInvalid]));
}

#[test]
fn a_result_of_no_call_is_an_orphan() {
    let set = set("", "", Fallback::Block);
    let mut state = SessionState::new(&set);
    let event =
        Event::CallCompleted { call: "zz".to_owned(), outcome: Outcome::OkEmpty, provenance: Provenance::Gateway };
    assert_eq!(apply(&set, &mut state, &event)[0].code, Code::OrphanResult);
}

#[test]
fn executed_arguments_replace_those_that_were_reserved() {
    let set = set("aggregates: [{name: n, metric: sum, tool: t, path: $.n, lte: 10, reason: r}]", "", Fallback::Block);
    let mut state = SessionState::new(&set);
    let first = Call { id: "first".to_owned(), ..call() };
    let calls = vec![StepCall { call: first, verdict: Verdict::Allow, is_released: true }];
    apply(&set, &mut state, &Event::StepDecided { calls, is_step: true });
    assert_eq!(decided(&set, &state).verdict, Verdict::Allow);
    apply(&set, &mut state, &Event::ArgumentsExecuted { call: "first".to_owned(), arguments: json!({"n": 6}) });
    assert_eq!(decided(&set, &state).codes(), [Code::AggregateViolated]);
}

#[test]
fn a_decision_is_explained_in_a_sentence() {
    let set = set(
        "aggregates: [{name: n, metric: sum, tool: t, path: $.n, lte: 4, reason: risk limit}]",
        "",
        Fallback::Block,
    );
    let decision = decided(&set, &SessionState::new(&set));
    let expected =
        "blocked: the sum of `$.n` must be at most 4, and this call would make it 5 (risk limit) [aggregates/n]";
    assert_eq!(decision.explain(), expected);
    let reason = serde_json::to_value(&decision.reasons[0]).expect("JSON");
    let expected = json!({"code": "aggregate_violated", "rule": "aggregates/n", "path": "$.n", "checked": {"lte": 4}, "found": {"aggregate": 5}, "message": "risk limit"});
    assert_eq!(reason, expected);
}
