//! A session while it goes on: every decision, its effect on the state, and the log of both.
//!
//! This is the same core as everywhere else, put in the order in which a gateway sees things: a request to a model
//! ([`LiveSession::request`]), its response ([`LiveSession::propose`], [`LiveSession::resolve`], [`LiveSession::release`]), an execution
//! ([`LiveSession::execute`], [`LiveSession::complete`]). Time is passed in, nothing is waited for, and nothing is sent: whoever
//! holds the session does that. The log has every input of the state, so that [`replay_log`] reproduces each decision.

mod execution;
mod log;
mod replay;
mod report;
mod request;
mod shared;
mod step;
#[cfg(test)]
mod tests;
mod world_state;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::apply::{Event, apply};
use crate::call::{Batch, Call};
use crate::compile::Compiled;
use crate::correlate::Correlator;
use crate::decide::{Decision, decide};
use crate::finding::Finding;
use crate::options::Mode;
use crate::state::{SessionState, Status};
pub use execution::{Execution, ExecutionSeen, ExecutionStage, ExecutionToJudge};
use log::SessionLog;
pub use log::{Log, Redact};
pub use replay::{Divergence, Replayed, replay_log};
pub use report::{LogReport, LoggedFinding, report_of_log};
pub use request::{ModelRequestSeen, OfferedTool, RequestDecision, ToolResultSeen};
pub use step::{Judged, ProposedCall, Released, Step};

/// The time of something that happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Now {
    /// The time of day, as RFC 3339.
    pub ts: String,
    /// Milliseconds since the agent started.
    pub at_ms: u64,
}

/// The way on which a call came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Via {
    /// The model proposed it.
    Llm,
    /// The tool gateway was asked to carry it out.
    Mcp,
    /// A request reached a service.
    Http,
}

/// A session under contracts while it goes on.
pub struct LiveSession {
    set: Arc<Compiled>,
    state: SessionState,
    correlator: Correlator,
    log: SessionLog,
    /// False when calls are only written down.
    decides: bool,
    /// True when proposals are seen, so that an execution without one is remarkable.
    sees_model: bool,
    /// Calls that were judged, by their ids in the session.
    known: BTreeMap<String, Known>,
    /// The id in the session of the newest call with a model's id.
    by_model_id: BTreeMap<String, String>,
    /// Model's ids of results that were reported without a proposal.
    orphans: BTreeSet<String>,
    calls: u64,
}

/// A call that was judged.
#[derive(Debug, Clone)]
struct Known {
    call: Call,
    decision: Decision,
}

/// The settings that a session is opened with.
#[derive(Debug, Clone)]
pub struct SessionOpening {
    /// Its id.
    pub session: String,
    /// Its role in a workflow.
    pub role: Option<String>,
    /// False when calls are only written down.
    pub decides: bool,
    /// True when the model's proposals are seen.
    pub sees_model: bool,
    /// Labels that it begins with, from the session that handed work to it.
    pub labels: Vec<(String, String)>,
}

impl Via {
    /// The word for it in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Llm => "llm",
            Self::Mcp => "mcp",
            Self::Http => "http",
        }
    }
}

impl LiveSession {
    /// Opens a session.
    #[must_use]
    pub fn open(set: Arc<Compiled>, opening: SessionOpening, redact: Redact, now: &Now) -> Self {
        let SessionOpening { session, role, decides, sees_model, labels } = opening;
        let state = SessionState::new(&set);
        let mut opened = Self {
            state,
            correlator: Correlator::default(),
            log: SessionLog::new(&session, redact),
            decides,
            sees_model,
            known: BTreeMap::new(),
            by_model_id: BTreeMap::new(),
            orphans: BTreeSet::new(),
            calls: 0,
            set,
        };
        let mode = match (decides, opened.set.run.mode) {
            (false, _) => "record",
            (true, Mode::Observe) => "observe",
            (true, Mode::Govern) => "govern",
        };
        let principal = opened.set.principal.as_ref().map(crate::canonical::hash);
        opened.log.add(
            now,
            "session_opened",
            json!({
                "mode": mode,
                "agent": opened.set.agent(),
                "role": role,
                "phase": opened.state.phase,
                "contract": opened.set.hash,
                "principal_sha256": principal,
            }),
        );
        for (label, origin) in labels {
            opened.add_label(now, &label, &origin);
        }
        opened
    }

    /// The contracts.
    #[must_use]
    pub fn set(&self) -> &Arc<Compiled> {
        &self.set
    }

    /// The state, which only this session changes.
    #[must_use]
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// True when decisions take effect.
    #[must_use]
    pub fn governs(&self) -> bool {
        self.decides && self.set.run.mode == Mode::Govern
    }

    /// The log so far.
    #[must_use]
    pub fn log(&self) -> &Log {
        self.log.log()
    }

    /// Adds a label from outside.
    pub fn add_label(&mut self, now: &Now, label: &str, origin: &str) {
        self.log.add(now, "label", json!({"label": label, "origin": origin}));
        self.apply(now, &Event::LabelAdded { label: label.to_owned(), origin: origin.to_owned() });
    }

    /// Sets the filter of tools, or removes it.
    pub fn set_filter(&mut self, now: &Now, filter: Option<BTreeSet<String>>) {
        self.log.add(now, "filter", json!({"tools": filter}));
        self.apply(now, &Event::FilterSet(filter));
    }

    /// Adds the cost of an answer of the model.
    pub fn add_cost(&mut self, now: &Now, micros: u64) {
        if micros > 0 {
            self.log.add(now, "cost", json!({"micros": micros}));
            self.apply(now, &Event::CostAdded(micros));
        }
    }

    /// Ends the session for a cause, such as a kill by an operator.
    pub fn kill(&mut self, now: &Now, cause: &str) {
        if !self.is_over() {
            self.apply(now, &Event::Killed(cause.to_owned()));
        }
    }

    /// Asks the session to end.
    pub fn request_cancel(&mut self, now: &Now) {
        if !self.is_over() {
            self.log.add(now, "cancel_requested", json!({}));
            self.apply(now, &Event::CancelRequested);
        }
    }

    /// Closes the session, and judges what can only be judged at its end.
    pub fn close(&mut self, now: &Now) {
        if self.state.status == Status::Closed {
            return;
        }
        let before = self.state.status.clone();
        self.apply(now, &Event::Closed);
        let fields = json!({"phase": self.state.phase, "status": self.state.status.name(), "before": before.name()});
        self.log.add(now, "session_closed", fields);
    }

    /// True when the session was killed or closed.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.state.is_final()
    }

    /// Applies an event and writes down what it brings to light.
    fn apply(&mut self, now: &Now, event: &Event) {
        let was_killed = self.state.is_killed();
        for finding in apply(&self.set, &mut self.state, event) {
            self.find(now, &finding);
        }
        self.note_kill(now, was_killed, event);
    }

    /// Writes down that the session was killed, by an event or a breaker.
    fn note_kill(&mut self, now: &Now, was_killed: bool, event: &Event) {
        if let (false, Status::Killed(cause)) = (was_killed, &self.state.status) {
            let fields = json!({"cause": cause, "by_event": matches!(event, Event::Killed(_))});
            self.log.add(now, "killed", fields);
        }
    }

    fn find(&mut self, now: &Now, finding: &Finding) {
        let place = self.set.rule_place(&finding.tool, &finding.rule);
        self.log.add(
            now,
            "finding",
            json!({
                "file": place.as_ref().map(|place| place.file.clone()),
                "line": place.as_ref().map(|place| place.span.line),
                "code": finding.code,
                "tool": finding.tool,
                "rule": finding.rule,
                "path": finding.path,
                "call": finding.call,
                "message": finding.message,
                "fingerprint": finding.fingerprint(),
                "severity": finding.code.class().name(),
            }),
        );
    }

    /// Decides on a call. A panic inside a rule is a decision too, as the options have it.
    fn decided(&self, state: &SessionState, batch: &Batch, call: &Call) -> Decision {
        let decision = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| decide(&self.set, state, batch, call)));
        decision.unwrap_or_else(|_| Decision::failed(&self.set, call))
    }

    /// The id of a call in the session: the model's own where it is new, so that records of both can be compared.
    fn call_id(&mut self, model_id: &str) -> String {
        self.calls += 1;
        let id = match model_id {
            "" => format!("call-{}", self.calls),
            id if self.known.contains_key(id) => format!("{id}#{}", self.calls),
            id => id.to_owned(),
        };
        if !model_id.is_empty() {
            self.by_model_id.insert(model_id.to_owned(), id.clone());
        }
        id
    }

    fn phase_json(&self) -> Json {
        json!(self.state.phase)
    }
}

impl fmt::Debug for LiveSession {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LiveSession").field("state", &self.state.status).finish_non_exhaustive()
    }
}
