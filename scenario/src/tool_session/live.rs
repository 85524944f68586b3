//! Makes a lane from the records of a live session, one after the other. Records of unknown kinds change nothing.

use std::collections::{BTreeMap, BTreeSet};

use tool_contracts::{Class, Code};

use super::finding::{FindingWeight, LaneFinding, RuleSource, Violation};
use super::lane::{
    Approval, ApprovalDecision, CallDecision, CallOutcome, Hold, LaneCall, LaneNote, LaneOrigin, LaneRow, SessionLane,
};
use super::record::Record;
use super::workflow;
use crate::evidence::{ContractMode, ContractSession};
use crate::untrusted;

/// The number of tools that a note names.
const MOST_TOOLS: usize = 8;
/// The length of a name in a note.
const MOST_NAME: usize = 60;
/// The length of reasons in a note.
const MOST_REASON: usize = 300;
/// The words with which explanations of decisions begin. The lane has a sign for each decision.
const LEADS: [&str; 3] = ["allowed: ", "blocked: ", "held: "];

struct Fold {
    lane: SessionLane,
    phase: Option<String>,
    /// The row of each call, by its id.
    places: BTreeMap<String, usize>,
    /// The tools that the last note says were hidden.
    hidden: Vec<String>,
    /// Reasons of refusals, for which there may be records of findings too.
    refusals: Vec<LaneFinding>,
}

impl SessionLane {
    /// The lane of a live session.
    #[must_use]
    pub fn of_record(mode: ContractMode, session: &ContractSession) -> Self {
        let lane = Self {
            origin: LaneOrigin::Live(mode),
            session: session.session.clone(),
            role: session.role.clone(),
            parent: session.parent.clone(),
            status: session.status.clone(),
            final_phase: session.phase.clone(),
            rows: Vec::new(),
            findings: Vec::new(),
            violations: 0,
            left_out: session.only_counted,
        };
        let (places, hidden, refusals) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut fold = Fold { lane, phase: None, places, hidden, refusals };
        session.records.iter().for_each(|record| fold.take(Record(record)));
        fold.finish()
    }
}

impl Fold {
    fn take(&mut self, record: Record<'_>) {
        match record.kind() {
            "session_opened" => self.phase = record.text("phase").map(ToOwned::to_owned),
            "narrowed" => self.narrowed(record, "hidden from the model"),
            "would_have_narrowed" => self.narrowed(record, "would have been hidden from the model"),
            "precheck" => self.prechecked(record),
            "decision" => self.decided(record),
            "hold" => self.held(record),
            "approval" => self.approved(record),
            "dispatched" => self.dispatched(record),
            "completed" => self.completed(record),
            "finding" => self.lane.findings.push(LaneFinding::read(record)),
            kind => self.told(kind, record),
        }
    }

    /// Other records that become notes.
    fn told(&mut self, kind: &str, record: Record<'_>) {
        let cause = record.text("cause").map(|cause| format!(": {}", untrusted::line(cause, MOST_REASON)));
        let words = match kind {
            "label" => record.text("label").map(|label| format!("got the label {}", untrusted::line(label, MOST_NAME))),
            "killed" => Some(format!("the session was killed{}", cause.unwrap_or_default())),
            "cancel_requested" => Some(format!("the session was asked to end{}", cause.unwrap_or_default())),
            "handoff" => Some(workflow::handoff(record)),
            "session_closed" => {
                self.closed(record);
                None
            }
            _ => None,
        };
        self.lane.rows.extend(words.map(|words| self.note(record, words)));
    }

    fn note(&self, record: Record<'_>, words: String) -> LaneRow {
        LaneRow::Note(LaneNote { at_ms: record.number("at_ms"), phase: self.phase.clone(), words })
    }

    /// Tools that are hidden. A model is asked again and again, so the same ones are told once.
    fn narrowed(&mut self, record: Record<'_>, what: &str) {
        let tools: Vec<_> = record.records("removed").map(|removed| removed.owned("tool")).collect();
        if tools == self.hidden {
            return;
        }
        self.hidden.clone_from(&tools);
        let named: Vec<_> = tools.iter().take(MOST_TOOLS).map(|tool| untrusted::line(tool, MOST_NAME)).collect();
        let more = match tools.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let words = match tools.len() {
            0 => format!("no tool {what} any more"),
            _ => format!("{what}: {}{more}", named.join(", ")),
        };
        self.lane.rows.push(self.note(record, words));
    }

    fn prechecked(&mut self, record: Record<'_>) {
        if record.text("verdict") != Some("block") {
            return;
        }
        let reasons: Vec<_> = record.records("reasons").filter_map(|reason| reason.text("message")).collect();
        let what = match self.lane.origin {
            LaneOrigin::Live(ContractMode::Govern) => "a request to the model was refused",
            _ => "a request to the model would have been refused",
        };
        let words = format!("{what}: {}", untrusted::line(&reasons.join("; "), MOST_REASON));
        self.refusals.extend(record.records("reasons").map(|reason| refusal(reason, record)));
        self.lane.rows.push(self.note(record, words));
    }

    fn decided(&mut self, record: Record<'_>) {
        let decision = self.decision(record);
        if decision == CallDecision::Blocked || decision == CallDecision::WouldHaveBeenBlocked {
            self.refusals.extend(record.records("reasons").map(|reason| refusal(reason, record)));
        }
        self.phase = record.text("phase").map(ToOwned::to_owned).or_else(|| self.phase.take());
        if self.is_told(record, decision) {
            return;
        }
        let sentence = record.text("sentence").unwrap_or_default();
        let sentence = LEADS.iter().find_map(|lead| sentence.strip_prefix(lead)).unwrap_or(sentence);
        let is_allowed = decision == CallDecision::Allowed;
        self.add(LaneCall {
            decision,
            sentence: if is_allowed { String::new() } else { sentence.to_owned() },
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

    fn held(&mut self, record: Record<'_>) {
        let checkpoints = record.list("checkpoints").map(|name| match Record(name).text("name") {
            Some(name) => name.to_owned(),
            None => Record::plain(name),
        });
        let (checkpoints, context) = (checkpoints.collect(), record.list("context").filter_map(pair).collect());
        let Some(call) = self.known(record) else { return };
        let hold = call.hold.get_or_insert_default();
        (hold.checkpoints, hold.context) = (checkpoints, context);
    }

    fn approved(&mut self, record: Record<'_>) {
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
    fn dispatched(&mut self, record: Record<'_>) {
        match self.known(record) {
            Some(call) => call.withheld = false,
            None => self.add(self.call(record)),
        }
    }

    fn completed(&mut self, record: Record<'_>) {
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
        self.phase = record.text("phase").map(ToOwned::to_owned).or_else(|| self.phase.take());
    }

    fn closed(&mut self, record: Record<'_>) {
        let lane = &mut self.lane;
        lane.final_phase = record.text("phase").map(ToOwned::to_owned).or_else(|| lane.final_phase.take());
        if let Some(status) = record.text("status") {
            status.clone_into(&mut lane.status);
        }
    }

    fn finish(mut self) -> SessionLane {
        let mut findings = std::mem::take(&mut self.lane.findings);
        // In govern mode a refusal is a violation that had no effect, and there need be no other record of it.
        let is_known = |refusal: &LaneFinding| {
            findings.iter().any(|known| known.call == refusal.call && known.code == refusal.code)
        };
        let refusals: Vec<_> = self.refusals.iter().filter(|refusal| !is_known(refusal)).cloned().collect();
        findings.extend(refusals);
        let calls: Vec<_> = self.lane.calls().map(|call| call.call.clone()).collect();
        // Findings about calls stand in the order of the calls, and those about the session after them.
        findings.sort_by_key(|finding| calls.iter().position(|call| *call == finding.call).unwrap_or(usize::MAX));
        LaneFinding::mark_violations(&mut findings);
        self.lane.violations = findings.iter().filter(|finding| finding.violation.is_some()).count() as u64;
        mark_calls(&mut self.lane.rows, &findings);
        if self.lane.final_phase.is_none() {
            self.lane.final_phase = self.phase;
        }
        self.lane.begin_with_first_phase();
        SessionLane { findings, ..self.lane }
    }
}

/// Marks the calls that violations are about. Of a call with several rows, those that were refused or held are marked.
fn mark_calls(rows: &mut [LaneRow], findings: &[LaneFinding]) {
    let mut violations: BTreeMap<&str, Violation> = BTreeMap::new();
    for finding in findings {
        if let Some(violation) = finding.violation {
            violations.entry(finding.call.as_str()).or_insert(violation);
        }
    }
    let is_refused = |call: &LaneCall| call.decision != CallDecision::Allowed;
    let refused = rows.iter().filter_map(LaneRow::call).filter(|call| is_refused(call));
    let refused: BTreeSet<_> = refused.map(|call| call.call.clone()).collect();
    for row in rows {
        if let LaneRow::Call(call) = row
            && (is_refused(call) || !refused.contains(&call.call))
        {
            call.violation = violations.get(call.call.as_str()).copied();
        }
    }
}

/// A reason of a refusal as a finding.
fn refusal(reason: Record<'_>, record: Record<'_>) -> LaneFinding {
    let severity = match Code::find(reason.text("code").unwrap_or_default()).map(Code::class) {
        Some(Class::Warn | Class::Warning) => FindingWeight::Warn,
        Some(Class::Info) => FindingWeight::Info,
        _ => FindingWeight::Fail,
    };
    let (tool, call) = (record.owned("tool"), record.owned("call"));
    LaneFinding { severity, tool, call, ..LaneFinding::read(reason) }
}

/// A value of a checkpoint's context: a label and a value.
fn pair(entry: &serde_json::Value) -> Option<(String, String)> {
    match entry.as_array()?.as_slice() {
        [label, value] => Some((Record::plain(label), Record::plain(value))),
        _ => None,
    }
}
