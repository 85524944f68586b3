//! Live sessions: the released calls, the log, and that folding the log gives the same state.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{
    ExecutionSeen, ExecutionStage, LiveSession, ModelRequestSeen, Now, OfferedTool, ProposedCall, SessionOpening,
    ToolResultSeen, Via, replay_log, report_of_log,
};
use crate::call::Outcome;
use crate::hold::Resolution;
use crate::options::{Mode, ResponseGate};
use crate::record::check_log;
use crate::{CompileOptions, Compiled, RawFile, RawSet, compile};

const SESSION: &str = "schema_version: \"1.0\"\nagent: support\n\
    phases: [{name: triage, initial: true}, {name: looked_up}, {name: refunded, terminal: true}]\n\
    transitions: {triage: [looked_up], looked_up: [refunded, looked_up]}\n\
    session_limits: {circuit_breaker: {consecutive_blocks: 4}, loop_detection: {window: 6, threshold: 4}}\n\
    aggregates: [{name: refunds, metric: sum, tool: refund, path: $.amount, lte: 100, reason: too much}]\n";
const LOOK: &str = "tool: look\nside_effect: read\ntransitions: {valid_in_phases: [triage, looked_up], advances_to: looked_up}\n\
    binds: [{name: order, path: $.id}]\n";
const REFUND: &str = "tool: refund\nside_effect: financial\ntransitions: {valid_in_phases: [looked_up]}\n\
    preconditions: [{requires_prior_tool: look, with_output: [{path: $.state, equals: delivered}]}]\n\
    argument_value_invariants: [{path: $.id, ref: order}, {path: $.amount, type: number, gte: 1}]\n\
    checkpoint: {when: [{path: $.amount, gte: 50}], timeout_seconds: 60, context: [{path: $.amount, label: Amount}]}\n";

fn contracts(mode: Mode, gate: ResponseGate) -> Compiled {
    let file = |name: &str, text: &str| RawFile { name: name.to_owned(), text: text.to_owned() };
    let files = vec![file("session.yaml", SESSION), file("look.yaml", LOOK), file("refund.yaml", REFUND)];
    let mut options = CompileOptions::default();
    (options.run.mode, options.run.gate) = (mode, gate);
    compile(&RawSet { files }, &options).expect("a set").0
}

fn now(at_ms: u64) -> Now {
    Now { ts: format!("2026-11-19T00:00:{:02}Z", at_ms % 60), at_ms }
}

struct Session(LiveSession, u64);

impl Session {
    fn open(mode: Mode, gate: ResponseGate) -> Self {
        Self::with_redactor(mode, gate, Arc::new(ToOwned::to_owned))
    }

    fn with_redactor(mode: Mode, gate: ResponseGate, redact: super::Redact) -> Self {
        let opening = SessionOpening {
            session: "s-1".to_owned(),
            role: None,
            decides: true,
            sees_model: true,
            labels: Vec::new(),
        };
        Self(LiveSession::open(Arc::new(contracts(mode, gate)), opening, redact, &now(0)), 0)
    }

    fn tick(&mut self) -> Now {
        self.1 += 1;
        now(self.1)
    }

    /// Proposes calls, and resolves holds with this; returns which calls were let out.
    fn propose(&mut self, calls: &[(&str, &str, Json)], resolution: Resolution) -> Vec<bool> {
        let at = self.tick();
        let call = |(id, tool, arguments): &(&str, &str, Json)| ProposedCall {
            id: (*id).to_owned(),
            tool: (*tool).to_owned(),
            arguments: arguments.clone(),
        };
        let calls = self.0.prepare(calls.iter().map(call).collect());
        let mut step = self.0.propose(&at, calls, None);
        while let Some(place) = step.next_held().filter(|_| self.0.governs()) {
            self.0.hold(&at, &mut step, place, None);
            self.0.resolve(&at, &mut step, place, resolution, "somebody", "");
        }
        self.0.release(&at, step).calls
    }

    /// Executes a call; returns its id when it may go on.
    fn execute(&mut self, tool: &str, arguments: Json, id: Option<&str>) -> Option<String> {
        let at = self.tick();
        let seen =
            ExecutionSeen { via: Via::Mcp, tool: tool.to_owned(), arguments, model_id: id.map(ToOwned::to_owned) };
        let execution = self.0.execute(&at, seen);
        let is_granted = match execution.stage {
            ExecutionStage::Allowed => true,
            ExecutionStage::Blocked(_) => false,
            ExecutionStage::ToJudge(to_judge) => {
                let step = self.0.judge_execution(&at, to_judge);
                self.0.release(&at, step).calls == [true]
            }
        };
        if !is_granted {
            return None;
        }
        self.0.dispatched(&at, &execution.call, tool, Via::Mcp);
        Some(execution.call)
    }

    fn complete(&mut self, call: &str, output: Json) {
        let at = self.tick();
        self.0.complete(&at, call, &Outcome::Ok(output), 1);
    }

    fn codes(&self) -> Vec<String> {
        let report = report_of_log(&self.0.log().records);
        report.findings.iter().map(|found| found.finding.code.name().to_owned()).collect()
    }

    /// The log is whole, and folding it reproduces every decision and the state.
    fn assert_reproducible(&self) {
        let log = self.0.log();
        let lines: String = log.records.iter().map(|record| format!("{record}\n")).collect();
        assert_eq!(check_log(&lines, log.last_hash.as_deref().expect("a hash")), Ok(()));
        let replayed = replay_log(self.0.set(), &log.records);
        assert_eq!(replayed.divergences, [], "{lines}");
        let (live, folded) = (self.0.state(), &replayed.state);
        assert_eq!(
            (&live.phase, &live.status, live.total_steps, live.released_calls, live.consecutive_blocks, &live.bindings),
            (
                &folded.phase,
                &folded.status,
                folded.total_steps,
                folded.released_calls,
                folded.consecutive_blocks,
                &folded.bindings
            ),
        );
    }
}

fn look(id: &str) -> Json {
    json!({"id": id})
}

fn refund(id: &str, amount: u64) -> Json {
    json!({"id": id, "amount": amount})
}

#[test]
fn a_call_that_is_let_out_is_executed_once_without_another_decision() {
    let mut session = Session::open(Mode::Govern, ResponseGate::RejectAll);
    assert_eq!(session.propose(&[("a", "look", look("7"))], Resolution::Denied), [true]);
    let call = session.execute("look", look("7"), Some("a")).expect("a permit");
    session.complete(&call, json!({"state": "delivered"}));
    assert_eq!(session.0.state().phase.as_deref(), Some("looked_up"));
    assert_eq!(session.codes(), Vec::<String>::new());
    assert!(session.execute("look", look("8"), None).is_some(), "a call of its own is judged by itself");
    assert_eq!(session.codes(), ["unproposed_call"]);
    session.assert_reproducible();
}

#[test]
fn a_refused_proposal_is_not_executed_and_that_is_an_attempt() {
    let mut session = Session::open(Mode::Govern, ResponseGate::RejectAll);
    assert_eq!(session.propose(&[("a", "refund", refund("7", 5))], Resolution::Denied), [false]);
    assert_eq!(session.execute("refund", refund("7", 5), Some("a")), None, "by its id");
    assert_eq!(session.execute("refund", refund("7", 5), None), None, "and as a call of its own");
    let report = report_of_log(&session.0.log().records);
    assert!(report.bypasses.is_empty());
    let reasons = report.findings.iter().filter(|found| found.finding.code.name() != "unproposed_call");
    assert!(reasons.clone().count() >= 2 && reasons.clone().all(|found| found.is_attempt), "{:?}", report.findings);
    session.assert_reproducible();
}

#[test]
fn the_same_call_proposed_again_and_let_out_may_be_executed() {
    let mut session = Session::open(Mode::Govern, ResponseGate::RejectAll);
    session.propose(&[("a", "refund", refund("7", 5))], Resolution::Denied);
    session.propose(&[("b", "look", look("7"))], Resolution::Denied);
    let call = session.execute("look", look("7"), None).expect("a permit");
    session.complete(&call, json!({"state": "delivered"}));
    assert_eq!(session.propose(&[("c", "refund", refund("7", 5))], Resolution::Denied), [true]);
    assert!(session.execute("refund", refund("7", 5), None).is_some());
    session.assert_reproducible();
}

#[test]
fn other_arguments_than_those_proposed_are_judged_again() {
    let mut session = Session::open(Mode::Govern, ResponseGate::RejectAll);
    session.propose(&[("a", "look", look("7"))], Resolution::Denied);
    let call = session.execute("look", look("7"), Some("a")).expect("a permit");
    session.complete(&call, json!({"state": "delivered"}));
    session.propose(&[("b", "refund", refund("7", 10)), ("c", "refund", refund("7", 20))], Resolution::Denied);
    assert_eq!(session.execute("refund", refund("8", 10), Some("b")), None, "another order than the one looked at");
    assert!(session.execute("refund", refund("7", 15), Some("c")).is_some(), "other arguments that are fine");
    assert_eq!(session.codes().iter().filter(|code| *code == "argument_drift").count(), 2);
    session.assert_reproducible();
}

#[test]
fn a_held_call_is_let_out_when_somebody_approves() {
    for (resolution, released, code) in [
        (Resolution::Approved, true, None),
        (Resolution::Denied, false, Some("checkpoint_denied")),
        (Resolution::DeadlinePassed, false, Some("checkpoint_timeout")),
    ] {
        let mut session = Session::open(Mode::Govern, ResponseGate::RejectAll);
        session.propose(&[("a", "look", look("7"))], Resolution::Denied);
        let call = session.execute("look", look("7"), Some("a")).expect("a permit");
        session.complete(&call, json!({"state": "delivered"}));
        assert_eq!(session.propose(&[("b", "refund", refund("7", 60))], resolution), [released]);
        assert_eq!(session.codes().first().map(String::as_str), code);
        assert_eq!(session.execute("refund", refund("7", 60), Some("b")).is_some(), released);
        session.assert_reproducible();
    }
}

#[test]
fn a_session_that_ends_while_a_call_is_held_refuses_it() {
    let mut session = Session::open(Mode::Govern, ResponseGate::RejectAll);
    session.propose(&[("a", "look", look("7"))], Resolution::Denied);
    let call = session.execute("look", look("7"), Some("a")).expect("a permit");
    session.complete(&call, json!({"state": "delivered"}));
    let at = session.tick();
    let proposed = ProposedCall { id: "b".to_owned(), tool: "refund".to_owned(), arguments: refund("7", 60) };
    let calls = session.0.prepare(vec![proposed]);
    let mut step = session.0.propose(&at, calls, None);
    session.0.hold(&at, &mut step, 0, Some("approval-1"));
    session.0.kill(&at, "operator");
    session.0.resolve(&at, &mut step, 0, Resolution::Approved, "late", "");
    assert_eq!(session.0.release(&at, step).calls, [false]);
    assert_eq!(session.codes(), ["session_killed"]);
    assert_eq!(session.execute("look", look("7"), None), None, "nothing goes on");
    session.assert_reproducible();
}

#[test]
fn gates_let_out_all_some_or_none() {
    for (gate, expected) in [
        (ResponseGate::RejectAll, [false, false]),
        (ResponseGate::StripPartial, [true, false]),
        (ResponseGate::StripBlocked, [true, false]),
    ] {
        let mut session = Session::open(Mode::Govern, gate);
        let calls = [("a", "look", look("7")), ("b", "refund", refund("7", 5))];
        assert_eq!(session.propose(&calls, Resolution::Denied), expected, "{gate:?}");
        session.assert_reproducible();
    }
}

#[test]
fn results_that_only_the_agent_reports_prove_nothing_about_risky_tools() {
    let mut session = Session::open(Mode::Govern, ResponseGate::RejectAll);
    session.propose(&[("a", "look", look("7"))], Resolution::Denied);
    let result = |id: &str, text: &str| ToolResultSeen { id: id.to_owned(), text: text.to_owned(), is_error: false };
    let at = session.tick();
    let seen =
        ModelRequestSeen { results: vec![result("a", "{\"state\": \"delivered\"}")], ..ModelRequestSeen::default() };
    session.0.request(&at, &seen);
    assert_eq!(session.0.state().phase.as_deref(), Some("looked_up"), "a read is believed");
    session.propose(&[("b", "refund", refund("7", 5))], Resolution::Denied);
    let again = vec![result("a", "x"), result("b", "{\"ok\": true}"), result("ghost", "boo"), result("ghost", "boo")];
    session.0.request(&at, &ModelRequestSeen { results: again, ..ModelRequestSeen::default() });
    assert_eq!(session.codes(), ["commit_uncertain", "orphan_result"]);
    session.assert_reproducible();
}

#[test]
fn tools_are_hidden_only_where_decisions_are_applied() {
    let offered = |name: &str| OfferedTool { name: name.to_owned(), schema: None };
    let seen = ModelRequestSeen { offered: vec![offered("look"), offered("refund")], ..ModelRequestSeen::default() };
    for (mode, hidden, kind) in
        [(Mode::Govern, vec!["refund"], "narrowed"), (Mode::Observe, Vec::new(), "would_have_narrowed")]
    {
        let mut session = Session::open(mode, ResponseGate::RejectAll);
        let at = session.tick();
        let decision = session.0.request(&at, &seen);
        assert_eq!(decision.removed.iter().map(|one| one.tool.as_str()).collect::<Vec<_>>(), hidden);
        let record = session.0.log().records.iter().find(|record| record["kind"] == kind).expect("a record");
        assert_eq!(record["removed"][0]["tool"], "refund");
    }
}

#[test]
fn a_decision_whose_arguments_were_redacted_is_not_computed_again() {
    let redact: super::Redact = Arc::new(|text: &str| text.replace("hunter22", "[secret]"));
    let mut session = Session::with_redactor(Mode::Govern, ResponseGate::RejectAll, redact);
    session.propose(&[("a", "look", look("hunter22"))], Resolution::Denied);
    let log = session.0.log();
    assert!(!log.records.iter().any(|record| record.to_string().contains("hunter22")));
    let replayed = replay_log(session.0.set(), &log.records);
    assert_eq!((replayed.decisions, replayed.not_evaluable, replayed.divergences.len()), (0, 1, 0));
}

#[test]
fn other_contracts_come_to_other_decisions() {
    let mut session = Session::open(Mode::Govern, ResponseGate::RejectAll);
    session.propose(&[("a", "refund", refund("7", 5))], Resolution::Denied);
    let files =
        vec![RawFile { name: "refund.yaml".to_owned(), text: "tool: refund\nside_effect: financial\n".to_owned() }];
    let (other, _) = compile(&RawSet { files }, &CompileOptions::default()).expect("a set");
    let replayed = replay_log(&other, &session.0.log().records);
    assert_eq!(replayed.divergences.len(), 1);
    assert_eq!(replayed.divergences[0].computed, "allow []");
}

#[derive(Debug, Clone)]
enum Doing {
    Propose(Vec<(usize, u64)>, u8),
    Execute(usize, u64),
    Complete(bool),
    Label,
    Cost,
}

fn doings() -> impl Strategy<Value = Vec<Doing>> {
    let call = (0usize..3, 0u64..4);
    let one = prop_oneof![
        4 => (prop::collection::vec(call.clone(), 0..3), 0u8..3).prop_map(|(calls, how)| Doing::Propose(calls, how)),
        4 => call.prop_map(|(tool, value)| Doing::Execute(tool, value)),
        4 => any::<bool>().prop_map(Doing::Complete),
        1 => Just(Doing::Label),
        1 => Just(Doing::Cost),
    ];
    prop::collection::vec(one, 0..24)
}

fn call_of(tool: usize, value: u64) -> (&'static str, Json) {
    match tool {
        0 => ("look", look(&(value % 2).to_string())),
        1 => ("refund", refund(&(value % 2).to_string(), 10 + value * 30)),
        _ => ("ghost", json!({"n": value})),
    }
}

fn go_through(session: &mut Session, doings: &[Doing]) {
    let mut open: Vec<String> = Vec::new();
    for (place, doing) in doings.iter().enumerate() {
        match doing {
            Doing::Propose(calls, how) => {
                let resolution =
                    [Resolution::Approved, Resolution::Denied, Resolution::DeadlinePassed][usize::from(*how)];
                let ids: Vec<String> = (0..calls.len()).map(|one| format!("m{place}-{one}")).collect();
                let calls: Vec<_> = calls.iter().map(|(tool, value)| call_of(*tool, *value)).collect();
                let calls: Vec<_> = ids
                    .iter()
                    .zip(&calls)
                    .map(|(id, (tool, arguments))| (id.as_str(), *tool, arguments.clone()))
                    .collect();
                session.propose(&calls, resolution);
            }
            Doing::Execute(tool, value) => {
                let (tool, arguments) = call_of(*tool, *value);
                open.extend(session.execute(tool, arguments, None));
            }
            Doing::Complete(is_fine) => {
                if let Some(call) = open.pop() {
                    let at = session.tick();
                    let outcome = if *is_fine { Outcome::Ok(json!({"state": "delivered"})) } else { Outcome::Lost };
                    session.0.complete(&at, &call, &outcome, 1);
                }
            }
            Doing::Label => {
                let at = session.tick();
                session.0.add_label(&at, "mnpi", "test");
            }
            Doing::Cost => {
                let at = session.tick();
                session.0.add_cost(&at, 5);
            }
        }
    }
    let at = session.tick();
    session.0.close(&at);
}

proptest! {
    #[test]
    fn folding_any_log_reproduces_every_decision(doings in doings(), gate in 0usize..3, governs in any::<bool>()) {
        let gate = [ResponseGate::RejectAll, ResponseGate::StripPartial, ResponseGate::StripBlocked][gate];
        let mut session = Session::open(if governs { Mode::Govern } else { Mode::Observe }, gate);
        go_through(&mut session, &doings);
        session.assert_reproducible();
        let report = report_of_log(&session.0.log().records);
        prop_assert!(report.bypasses.is_empty());
    }

    #[test]
    fn observing_and_governing_agree_on_the_first_violation(doings in doings()) {
        let first = |mode| {
            let mut session = Session::open(mode, ResponseGate::RejectAll);
            go_through(&mut session, &doings);
            let decisions = session.0.log().records.iter().filter(|record| record["kind"] == "decision");
            let mut refused = decisions.filter(|record| record["verdict"] == "block" && record["resolution"].is_null());
            // Somebody who approves or denies is there in one mode only: what comes after a hold may differ.
            let held = session.0.log().records.iter().find(|record| record["kind"] == "decision" && record["verdict"] == "hold");
            let held = held.and_then(|record| record["at_ms"].as_u64()).unwrap_or(u64::MAX);
            refused.next().filter(|record| record["at_ms"].as_u64() < Some(held)).map(|record| (record["call"].clone(), record["reasons"].clone()))
        };
        prop_assert_eq!(first(Mode::Govern), first(Mode::Observe));
    }
}
