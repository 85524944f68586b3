//! Tools in evidence that was written before there was a call trace: they stood in the record of the model.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::call_trace::{CallTrace, CallTraceRecorder, ToolProposal, ToolReport};
use super::model::ModelCall;

/// A tool that an answer called, and the result that the agent sent back for it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EarlierToolUse {
    /// The id with which calls and results find each other.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, as the model wrote them.
    pub arguments: String,
    /// The model call, from 0, whose answer called it.
    pub call: usize,
    /// The result; `None` when the agent sent nothing back.
    pub result: Option<EarlierToolResult>,
}

/// A result that the agent sent back for a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EarlierToolResult {
    /// The model call, from 0, whose request held it first.
    pub call: usize,
    /// The text.
    pub content: String,
    /// True when the agent marked it as an error.
    pub is_error: bool,
}

/// Results that wait for their requests, by the number of the request.
type Waiting = BTreeMap<usize, Vec<(u64, EarlierToolResult)>>;

/// The call trace of tools that stood in the record of the model. A report stands before the proposals of the same call,
/// because a request comes before its answer.
pub(super) fn call_trace(tools: Vec<EarlierToolUse>, calls: &[ModelCall]) -> CallTrace {
    let mut recorder = CallTraceRecorder::default();
    let mut waiting = Waiting::new();
    for tool in tools {
        add_reports(&mut recorder, &mut waiting, tool.call, calls);
        let arguments = recorder.read_arguments(&tool.arguments);
        let at_ms = calls.get(tool.call).map_or_else(|| last_end(calls), ended_at);
        let proposal = ToolProposal { at_ms, model_call: tool.call, id: tool.id, tool: tool.name, arguments };
        let seq = recorder.add_proposal(proposal);
        if let Some(result) = tool.result {
            waiting.entry(result.call).or_default().push((seq, result));
        }
    }
    add_reports(&mut recorder, &mut waiting, usize::MAX, calls);
    recorder.finish()
}

/// Adds the results that wait for requests up to this one.
fn add_reports(recorder: &mut CallTraceRecorder, waiting: &mut Waiting, up_to: usize, calls: &[ModelCall]) {
    while let Some(first) = waiting.first_entry().filter(|first| *first.key() <= up_to) {
        for (proposal, EarlierToolResult { call, content, is_error }) in first.remove() {
            let at_ms = calls.get(call).map_or_else(|| last_end(calls), |call| call.at_ms);
            recorder.add_report(proposal, ToolReport { at_ms, model_call: call, result: content, is_error });
        }
    }
}

fn ended_at(call: &ModelCall) -> u64 {
    call.at_ms.saturating_add(call.duration_ms)
}

/// The end of the last call that was kept: those that were only counted came after it.
fn last_end(calls: &[ModelCall]) -> u64 {
    calls.last().map_or(0, ended_at)
}
