//! The record of calls: written before they are answered, and bounded.

use std::sync::{Mutex, MutexGuard, PoisonError};

use scenario::evidence::{CallTraceRecorder, ExecutedCall, FaultMark, ToolExecution, ToolRefusal};
use serde_json::{Value as Json, json};

use super::protocol::RpcError;
use super::result::ToolResult;
use crate::redact::Redactor;

/// Number of calls that are kept; the rest are counted.
const KEPT_CALLS: usize = 20_000;
/// Length limit of the arguments or the result of a call in the record: 64 KiB.
const TEXT_BYTES: usize = 64 * 1024;
/// Largest answer for a recording: 1 MiB.
const ANSWER_BYTES: usize = 1024 * 1024;
/// Number of bytes of calls that are kept together: 64 MiB.
const KEPT_BYTES: usize = 64 * 1024 * 1024;
/// Length limit of a name or id in the record.
const NAME_BYTES: usize = 256;

/// The calls so far.
#[derive(Debug)]
pub(super) struct CallLog {
    redactor: Redactor,
    /// True when whole answers are kept, for a recording.
    keeps_answers: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    calls: Vec<ExecutedCall>,
    bytes: usize,
    only_counted: u64,
    trees: CallTraceRecorder,
    is_closed: bool,
}

/// A call that has ended.
#[derive(Debug)]
pub(super) struct EndedCall<'a> {
    /// The time of its request.
    pub(super) at_ms: u64,
    /// Duration of the call.
    pub(super) duration_ms: u64,
    /// The model's id of the call.
    pub(super) id: Option<String>,
    /// The tool, as the agent named it.
    pub(super) tool: &'a str,
    /// The arguments.
    pub(super) arguments: &'a Json,
    /// The MCP server of the tool.
    pub(super) server: Option<String>,
    /// The result; `None` when the agent gets none.
    pub(super) result: Option<&'a ToolResult>,
    /// The error of the protocol.
    pub(super) error: Option<&'a RpcError>,
    /// The reason why it was refused.
    pub(super) refused: Option<ToolRefusal>,
    /// The fault.
    pub(super) fault: Option<FaultMark>,
    /// True when the agent gets no answer.
    pub(super) lost: bool,
}

impl CallLog {
    pub(super) fn new(redactor: Redactor, keeps_answers: bool) -> Self {
        Self { redactor, keeps_answers, state: Mutex::default() }
    }

    /// Forgets the calls so far: calls before the agent started are not its doing.
    pub(super) fn forget(&self) {
        *self.state() = State::default();
    }

    /// Ends the record.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
    }

    /// Writes a call down.
    pub(super) fn add(&self, call: &EndedCall<'_>) {
        let mut state = self.state();
        if state.is_closed {
            return;
        }
        let arguments = self.text(&call.arguments.to_string(), TEXT_BYTES);
        let text = call.result.map(ToolResult::joined_text).or_else(|| call.error.map(|error| error.message.clone()));
        let text = text.map(|text| self.text(&text, TEXT_BYTES));
        let structured = self.structured(call.result);
        let answer = self.answer(call);
        let size = arguments.len() * 2 + text.as_ref().map_or(0, String::len);
        let size = size + structured.to_string().len() + answer.to_string().len();
        if state.calls.len() >= KEPT_CALLS || state.bytes + size > KEPT_BYTES {
            state.only_counted += 1;
            return;
        }
        state.bytes += size;
        let arguments = state.trees.read_arguments(&arguments);
        state.calls.push(ExecutedCall {
            at_ms: call.at_ms,
            id: call.id.as_ref().map(|id| self.text(id, NAME_BYTES)),
            tool: self.text(call.tool, NAME_BYTES),
            arguments,
            result: text,
            is_error: call.error.is_some() || call.result.is_some_and(ToolResult::is_error),
            execution: ToolExecution {
                server: call.server.clone(),
                duration_ms: call.duration_ms,
                structured,
                answer,
                fault: call.fault.clone(),
                refused: call.refused,
                lost: call.lost,
            },
        });
    }

    /// The calls, and how many more there were.
    pub(super) fn calls(&self) -> (Vec<ExecutedCall>, u64) {
        let state = self.state();
        (state.calls.clone(), state.only_counted)
    }

    /// The structured content without secrets; `null` when it is too large.
    fn structured(&self, result: Option<&ToolResult>) -> Json {
        let text = result.map(ToolResult::structured).filter(|value| !value.is_null()).map(Json::to_string);
        let text = text.filter(|text| text.len() <= TEXT_BYTES);
        text.and_then(|text| serde_json::from_str(&self.redactor.text(&text)).ok()).unwrap_or(Json::Null)
    }

    /// The whole answer without secrets, where it is recorded; `null` when it is too large.
    fn answer(&self, call: &EndedCall<'_>) -> Json {
        let answer = match (call.result, call.error) {
            _ if !self.keeps_answers => return Json::Null,
            (Some(result), _) => json!({"result": result.to_json()}),
            (None, Some(error)) => json!({"error": error.to_json()}),
            (None, None) => return Json::Null,
        };
        let text = Some(answer.to_string()).filter(|text| text.len() <= ANSWER_BYTES);
        text.and_then(|text| serde_json::from_str(&self.redactor.text(&text)).ok()).unwrap_or(Json::Null)
    }

    /// A text as it is kept: cut, and without secrets.
    fn text(&self, text: &str, most: usize) -> String {
        let cut = &text.as_bytes()[..text.floor_char_boundary(most)];
        let bytes = if cut.len() == text.len() { self.redactor.bytes(cut) } else { self.redactor.beginning(cut) };
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
