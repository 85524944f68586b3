//! The answers of a remote session.

use serde::Serialize;
use serde_json::Value as Json;

use crate::decide::{Reason, Verdict};
use crate::live::Judged;

/// The answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub enum RemoteAnswer {
    /// About a request to a model.
    Model(ModelAnswer),
    /// About calls.
    Step(StepAnswer),
    /// It is done.
    Done,
}

/// The answer about a request to a model.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ModelAnswer {
    /// The reason why it may not be sent.
    pub refusal: Option<Reason>,
    /// The tools that the model is not to be shown.
    pub removed: Vec<RemovedTool>,
}

/// A tool that the model is not to be shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RemovedTool {
    /// The tool.
    pub tool: String,
    /// The reason.
    pub reason: Reason,
}

/// The answer about the calls of a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepAnswer {
    /// Its number, by which it can be asked about again.
    pub step: u64,
    /// The progress.
    pub status: StepStatus,
    /// The calls, in their order.
    pub calls: Vec<CallAnswer>,
    /// The call that waits for an approval.
    pub held: Option<HeldAnswer>,
}

/// The progress of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Everything is decided.
    Decided,
    /// A call waits for an approval, and the rest with it.
    Held,
}

/// The answer about a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallAnswer {
    /// Its id in the session.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The decision.
    pub verdict: Verdict,
    /// True when it may go on.
    pub released: bool,
    /// The reasons against it.
    pub reasons: Vec<Reason>,
    /// The decision as a sentence.
    pub sentence: String,
}

/// A call that waits for an approval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeldAnswer {
    /// The step.
    pub step: u64,
    /// The call's id in the session.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The hash of its arguments, which a decision names.
    pub args_hash: String,
    /// The arguments that a person is to see.
    pub context: Vec<(String, Json)>,
    /// The checkpoints that hold it.
    pub checkpoints: Vec<String>,
    /// The end of the time to decide, in milliseconds since the session was opened.
    pub deadline_ms: u64,
    /// True when the call passes when nobody decides.
    pub allows_on_timeout: bool,
}

impl StepAnswer {
    pub(super) fn decided(step: u64, judged: &[Judged], released: &[bool]) -> Self {
        let calls = judged.iter().zip(released).map(|(judged, released)| CallAnswer::of(judged, *released)).collect();
        Self { step, status: StepStatus::Decided, calls, held: None }
    }

    pub(super) fn of_one(step: u64, call: CallAnswer) -> Self {
        Self { step, status: StepStatus::Decided, calls: vec![call], held: None }
    }
}

impl CallAnswer {
    pub(super) fn of(judged: &Judged, released: bool) -> Self {
        let Judged { call, decision } = judged;
        Self {
            call: call.id.clone(),
            tool: call.tool.clone(),
            verdict: decision.verdict,
            released,
            reasons: decision.reasons.clone(),
            sentence: decision.explain(),
        }
    }

    pub(super) fn let_out(call: &str, tool: &str) -> Self {
        let (call, tool) = (call.to_owned(), tool.to_owned());
        Self {
            call,
            tool,
            verdict: Verdict::Allow,
            released: true,
            reasons: Vec::new(),
            sentence: "allowed".to_owned(),
        }
    }

    pub(super) fn refused(call: &str, tool: &str, reason: Reason) -> Self {
        let (sentence, reasons) = (reason.explain(), vec![reason]);
        Self { verdict: Verdict::Block, released: false, reasons, sentence, ..Self::let_out(call, tool) }
    }
}
