//! Sessions that are told what happens: holds, refusals, and the same session again from its requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::{
    ApprovalTold, CompletionTold, ExecutionTold, OutcomeTold, ProposalTold, RemoteAnswer, RemoteRefused, RemoteRequest,
    RemoteSession, RemoteTerms, StepAnswer, StepStatus, StepTold,
};
use crate::decide::Verdict;
use crate::live::{Now, replay_log};
use crate::options::Mode;
use crate::record::check_log;

const SESSION: &str = "schema_version: '1.0'\nagent: desk\n";
const PAY: &str = "tool: pay\nside_effect: financial\nargument_value_invariants: [{path: $.amount, lte: 100}]\n\
    preconditions: [{requires_prior_tool: look}]\n\
    checkpoint: {when: [{path: $.amount, gte: 50}], timeout_seconds: 30}\n";

struct Desk {
    session: RemoteSession,
    requests: Vec<(Now, RemoteRequest)>,
}

fn terms() -> RemoteTerms {
    let files = [("session.yaml", SESSION), ("pay.yaml", PAY), ("look.yaml", "tool: look\nside_effect: read\n")];
    let files = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
    RemoteTerms { files: BTreeMap::from(files), mode: Mode::Govern, sees_model: true, ..RemoteTerms::default() }
}

fn now(at_ms: u64) -> Now {
    Now { ts: format!("2026-11-15T00:00:{:02}Z", at_ms / 1000 % 60), at_ms }
}

fn opened() -> RemoteSession {
    let (set, _) = terms().compile().expect("compiles");
    RemoteSession::open(Arc::new(set), terms().opening("s-1"), Arc::new(str::to_owned), &now(0))
}

impl Desk {
    fn open() -> Self {
        Self { session: opened(), requests: Vec::new() }
    }

    fn take(&mut self, at_ms: u64, request: RemoteRequest) -> Result<RemoteAnswer, RemoteRefused> {
        let answer = self.session.take(&now(at_ms), request.clone())?;
        self.requests.push((now(at_ms), request));
        Ok(answer)
    }

    fn step(&mut self, at_ms: u64, request: RemoteRequest) -> StepAnswer {
        match self.take(at_ms, request).expect("taken") {
            RemoteAnswer::Step(step) => step,
            other => panic!("{other:?}"),
        }
    }

    fn look(&mut self) {
        let step = self.step(1, proposed("look", json!({})));
        let call = step.calls[0].call.clone();
        self.step(2, executed("look", json!({}), Some(&call)));
        self.take(3, completed(&call)).expect("completed");
    }

    /// The same session from its requests alone.
    fn again(&self) -> RemoteSession {
        let mut again = opened();
        for (at, request) in &self.requests {
            again.take(at, request.clone()).expect("taken again");
        }
        again
    }
}

fn proposed(tool: &str, arguments: Json) -> RemoteRequest {
    let call = ProposalTold { id: format!("model_{tool}"), tool: tool.to_owned(), arguments };
    RemoteRequest::Step(StepTold { calls: vec![call], ..StepTold::default() })
}

fn executed(tool: &str, arguments: Json, call: Option<&str>) -> RemoteRequest {
    RemoteRequest::Execution(ExecutionTold { tool: tool.to_owned(), arguments, call: call.map(ToOwned::to_owned) })
}

fn completed(call: &str) -> RemoteRequest {
    RemoteRequest::Completion(CompletionTold {
        call: call.to_owned(),
        outcome: OutcomeTold::Ok,
        output: json!({"ok": true}),
        latency_ms: Some(4),
        is_self_reported: false,
    })
}

fn approval(args_hash: &str, is_approved: bool) -> RemoteRequest {
    let args_hash = args_hash.to_owned();
    RemoteRequest::Approval(ApprovalTold { is_approved, args_hash, by: "ada".to_owned(), note: String::new() })
}

#[test]
fn a_call_is_let_out_executed_and_completed_and_the_next_rule_sees_it() {
    let mut desk = Desk::open();
    let refused = desk.step(0, proposed("pay", json!({"amount": 5})));
    assert_eq!((refused.calls[0].verdict, refused.calls[0].released), (Verdict::Block, false));
    assert_eq!(refused.calls[0].reasons[0].code.name(), "precondition_not_met");
    desk.look();
    assert!(desk.step(4, proposed("pay", json!({"amount": 6}))).calls[0].released);
    assert_eq!(desk.take(5, completed("nothing")), Err(RemoteRefused::UnknownCall("nothing".to_owned())));
}

#[test]
fn a_held_call_pauses_the_session_until_somebody_decides_on_its_arguments() {
    let mut desk = Desk::open();
    desk.look();
    let held = desk.step(10, executed("pay", json!({"amount": 60}), None));
    assert_eq!((held.status, held.calls[0].released), (StepStatus::Held, false));
    let waiting = held.held.expect("a held call");
    assert_eq!((waiting.deadline_ms, waiting.allows_on_timeout), (30_010, false));
    assert_eq!(desk.take(11, proposed("look", json!({}))), Err(RemoteRefused::Paused(held.step)));
    assert_eq!(desk.take(12, approval("sha256:other", true)), Err(RemoteRefused::OtherArguments));
    let decided = desk.step(13, approval(&waiting.args_hash, true));
    assert_eq!((decided.step, decided.status, decided.calls[0].released), (held.step, StepStatus::Decided, true));
    assert_eq!(desk.session.step(held.step), Some(&decided));
    assert_eq!(desk.take(14, approval(&waiting.args_hash, true)), Err(RemoteRefused::NothingHeld));
}

#[test]
fn a_deadline_is_told_before_anything_else_and_refuses_the_call() {
    let mut desk = Desk::open();
    desk.look();
    let held = desk.step(10, executed("pay", json!({"amount": 60}), None));
    assert_eq!(desk.take(20, RemoteRequest::Deadline), Err(RemoteRefused::NotDue));
    let late = approval(&held.held.expect("held").args_hash, true);
    assert_eq!(desk.take(30_010, late.clone()), Err(RemoteRefused::Due));
    let over = desk.step(30_010, RemoteRequest::Deadline);
    assert_eq!(over.calls[0].reasons[0].code.name(), "checkpoint_timeout");
    assert_eq!(desk.take(30_011, late), Err(RemoteRefused::Expired));
}

#[test]
fn a_kill_denies_what_is_held_and_ends_everything() {
    let mut desk = Desk::open();
    desk.look();
    let held = desk.step(10, executed("pay", json!({"amount": 60}), None));
    desk.take(11, RemoteRequest::Kill { cause: "enough".to_owned() }).expect("killed");
    let denied = desk.session.step(held.step).expect("the step").clone();
    assert_eq!((denied.status, denied.calls[0].verdict), (StepStatus::Decided, Verdict::Block));
    assert_eq!(desk.step(12, proposed("look", json!({}))).calls[0].reasons[0].code.name(), "session_killed");
    assert_eq!(desk.take(13, RemoteRequest::Close), Err(RemoteRefused::Ended));
}

#[test]
fn a_filter_refuses_other_tools_until_it_is_removed() {
    let mut desk = Desk::open();
    let only = |tools: &[&str]| Some(tools.iter().map(ToString::to_string).collect());
    desk.take(0, RemoteRequest::Filter { tools: only(&["pay"]) }).expect("set");
    assert_eq!(desk.step(1, proposed("look", json!({}))).calls[0].reasons[0].code.name(), "manual_filter");
    desk.take(2, RemoteRequest::Filter { tools: None }).expect("removed");
    assert!(desk.step(3, proposed("look", json!({}))).calls[0].released);
}

#[test]
fn the_same_requests_make_the_same_session_and_its_log_folds_to_the_same_decisions() {
    let mut desk = Desk::open();
    desk.look();
    let held = desk.step(10, executed("pay", json!({"amount": 60}), None));
    assert_eq!(desk.again().held(), desk.session.held(), "a hold outlives a restart");
    desk.step(13, approval(&held.held.expect("held").args_hash, true));
    desk.take(14, completed(&held.calls[0].call)).expect("completed");
    desk.take(15, RemoteRequest::Close).expect("closed");
    let (log, again) = (desk.session.live().log(), desk.again());
    assert_eq!(log.records, again.live().log().records);
    assert_eq!(log.last_hash, again.live().log().last_hash);
    let lines: String = log.records.iter().map(|record| format!("{record}\n")).collect();
    check_log(&lines, log.last_hash.as_deref().expect("a hash")).expect("a whole chain");
    let replayed = replay_log(desk.session.live().set(), &log.records);
    assert_eq!((replayed.divergences.len(), replayed.not_evaluable), (0, 0));
}
