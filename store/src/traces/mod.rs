//! Traces of agents: self-reported and observed.

mod read;
mod write;

pub(crate) use write::insert_traces;

use jiff::Timestamp;
use serde_json::Value as Json;

use crate::ids::{ExperimentId, RunId};
use crate::tables::Traces;

/// The columns of a trace, besides its number.
const COLUMNS: [Traces; 17] = [
    Traces::Owner,
    Traces::Experiment,
    Traces::Run,
    Traces::Scenario,
    Traces::Sandbox,
    Traces::Agent,
    Traces::SelfReported,
    Traces::At,
    Traces::EventType,
    Traces::Tool,
    Traces::Phase,
    Traces::Status,
    Traces::SpanId,
    Traces::ParentSpanId,
    Traces::RootSpanId,
    Traces::DurationMs,
    Traces::Body,
];

/// Something that an agent did.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTrace {
    /// Whose it is. In a [`crate::Completion`] it is the experiment's owner, whatever stands here.
    pub owner: String,
    /// The run. In a [`crate::Completion`] it is the job's, whatever stands here.
    pub run: Option<RunId>,
    /// The scenario. In a [`crate::Completion`] it is the job's, whatever stands here.
    pub scenario: Option<String>,
    /// The sandbox.
    pub sandbox: Option<String>,
    /// The name of the agent; '' when it has none.
    pub agent: String,
    /// True for self-reported traces.
    pub self_reported: bool,
    /// When it happened.
    pub at: Timestamp,
    /// The kind: `tool_call`, `llm_call`, …
    pub event_type: String,
    /// The tool.
    pub tool: String,
    /// Which part of it: `start`, `end`, `complete`, …
    pub phase: String,
    /// The status: `ok` or `error`.
    pub status: String,
    /// Its span; '' when it has none.
    pub span_id: String,
    /// The span around it; '' when there is none.
    pub parent_span_id: String,
    /// The span around all; '' when there is none.
    pub root_span_id: String,
    /// The duration.
    pub duration_ms: Option<u64>,
    /// All that is known of it.
    pub body: Json,
}

/// Something that an agent did, and its place among all that was done.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTrace {
    /// Its number: later ones have higher numbers.
    pub number: u64,
    /// The trace.
    pub trace: NewTrace,
}

/// Which traces are wanted; `None` means any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TraceFilter<'a> {
    /// Whose.
    pub owner: Option<&'a str>,
    /// Of which experiment, all its runs.
    pub experiment: Option<ExperimentId>,
    /// Of which run.
    pub run: Option<RunId>,
    /// Of which scenario.
    pub scenario: Option<&'a str>,
    /// In which sandbox.
    pub sandbox: Option<&'a str>,
    /// Of which agent.
    pub agent: Option<&'a str>,
    /// The kind.
    pub event_type: Option<&'a str>,
    /// Which tool.
    pub tool: Option<&'a str>,
    /// Not before this time.
    pub since: Option<Timestamp>,
    /// The number of the one that is wanted.
    pub trace_id: Option<u64>,
    /// Its span.
    pub span_id: Option<&'a str>,
    /// The span around it.
    pub parent_span_id: Option<&'a str>,
    /// The span around all.
    pub root_span_id: Option<&'a str>,
    /// True for newest first.
    pub newest_first: bool,
}
