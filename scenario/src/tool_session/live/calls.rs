//! Records about calls: decisions, holds with their answers, and outcomes.

use super::Fold;
use crate::evidence::ContractMode;
use crate::tool_session::call::{Approval, ApprovalDecision, CallDecision, CallOutcome, Hold, LaneCall};
use crate::tool_session::finding::RuleSource;
use crate::tool_session::lane::{LaneOrigin, LaneRow};
use crate::tool_session::record::Record;

/// The words with which explanations of decisions begin. The lane has a sign for each decision.
const LEADS: [&str; 3] = ["allowed: ", "blocked: ", "held: "];

impl Fold {
    pub(super) fn decided(&mut self, record: Record<'_>) {
        let decision = self.decision(record);
        if decision == CallDecision::Blocked || decision == CallDecision::WouldHaveBeenBlocked {
            self.found.add_refusal(record);
        }
        self.follow_phase(record);
        if self.is_told(record, decision) {
            return;
        }
        let is_allowed = decision == CallDecision::Allowed;
        self.add(LaneCall {
            decision,
            sentence: if is_allowed { String::new() } else { sentence(record) },
            rule: record.records("reasons").next().map(RuleSource::read),
            withheld: is_allowed && record.flag("released") == Some(false),
            hold: (decision == CallDecision::Held).then(Hold::default),
            ..self.call(record)
        });
    }

    /// The decision of a record. In observe mode nothing is applied; there a refusal would have been one.
    fn decision(&self, record: Record<'_>) -> CallDecision {
        let is_governed = self.lane.origin == LaneOrigin::Live(ContractMode::Govern);
        let is_applied = record.flag("applied").unwrap_or(is_governed);
        match (record.text("verdict"), is_applied) {
            (Some("allow"), _) => CallDecision::Allowed,
            (Some("block"), true) => CallDecision::Blocked,
            (Some("block"), false) => CallDecision::WouldHaveBeenBlocked,
            (Some("hold"), true) => CallDecision::Held,
            (Some("hold"), false) => CallDecision::WouldHaveBeenHeld,
            _ => CallDecision::NotDecided,
        }
    }

    /// True when the lane has this decision already. A call is decided on when it is proposed and again when it is
    /// executed; the second decision is a row of its own when it is another one.
    fn is_told(&mut self, record: Record<'_>, decision: CallDecision) -> bool {
        let Some(known) = self.known(record) else { return false };
        let is_approved = known.decision == CallDecision::Held && decision == CallDecision::Allowed;
        let is_same = known.decision == decision && known.outcome.is_none();
        if is_same && record.flag("released") == Some(true) {
            known.withheld = false;
        }
        is_same || is_approved
    }

    fn call(&self, record: Record<'_>) -> LaneCall {
        LaneCall {
            at_ms: record.number("at_ms"),
            step: record.number("step"),
            call: record.owned("call"),
            tool: record.owned("tool"),
            phase: self.phase.clone(),
            ..LaneCall::default()
        }
    }

    fn add(&mut self, call: LaneCall) {
        self.places.insert(call.call.clone(), self.lane.rows.len());
        self.lane.rows.push(LaneRow::Call(call));
    }

    /// The newest row of the call of a record.
    fn known(&mut self, record: Record<'_>) -> Option<&mut LaneCall> {
        let place = *self.places.get(record.text("call")?)?;
        match self.lane.rows.get_mut(place)? {
            LaneRow::Call(call) if record.text("tool").is_none_or(|tool| call.tool == tool) => Some(call),
            _ => None,
        }
    }

    pub(super) fn held(&mut self, record: Record<'_>) {
        let checkpoints = record.list("checkpoints").map(|name| match Record(name).text("name") {
            Some(name) => name.to_owned(),
            None => Record::plain(name),
        });
        let (checkpoints, context) = (checkpoints.collect(), record.list("context").filter_map(pair).collect());
        let Some(call) = self.known(record) else { return };
        let hold = call.hold.get_or_insert_default();
        (hold.checkpoints, hold.context) = (checkpoints, context);
    }

    pub(super) fn approved(&mut self, record: Record<'_>) {
        let decision = match record.text("decision") {
            Some("approve") => ApprovalDecision::Approved,
            Some("deny") => ApprovalDecision::Denied,
            Some("timeout") => ApprovalDecision::TimedOut,
            _ => return,
        };
        let approval = Approval { decision, by: record.owned("by"), note: record.owned("note") };
        if let Some(call) = self.known(record) {
            call.hold.get_or_insert_default().approval = Some(approval);
        }
    }

    /// A call that was passed on without a decision is a row too.
    pub(super) fn dispatched(&mut self, record: Record<'_>) {
        match self.known(record) {
            Some(call) => call.withheld = false,
            None => self.add(self.call(record)),
        }
    }

    pub(super) fn completed(&mut self, record: Record<'_>) {
        let outcome = match record.text("outcome") {
            Some("ok") => Some(CallOutcome::Ok),
            Some("ok_empty") => Some(CallOutcome::OkEmpty),
            Some("error") => Some(CallOutcome::Error),
            Some("lost") => Some(CallOutcome::Lost),
            _ => None,
        };
        if self.known(record).is_none() {
            self.add(self.call(record));
        }
        if let Some(call) = self.known(record) {
            call.outcome = outcome;
            call.self_reported = record.text("provenance") == Some("self_reported");
        }
        self.follow_phase(record);
    }
}

/// The reasons of a decision: its sentence without the word for the verdict, or else the messages of its reasons.
fn sentence(record: Record<'_>) -> String {
    let Some(sentence) = record.text("sentence") else {
        return record.records("reasons").filter_map(|reason| reason.text("message")).collect::<Vec<_>>().join("; ");
    };
    LEADS.iter().find_map(|lead| sentence.strip_prefix(lead)).unwrap_or(sentence).to_owned()
}

/// A value of a checkpoint's context: a label and a value.
fn pair(entry: &serde_json::Value) -> Option<(String, String)> {
    match entry.as_array()?.as_slice() {
        [label, value] => Some((Record::plain(label), Record::plain(value))),
        _ => None,
    }
}
