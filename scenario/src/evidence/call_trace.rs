//! The call trace: every use of a tool, in the order in which it was seen.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::tool_call::{ToolArguments, ToolCall, ToolCallSource};

/// The most values that the arguments of all calls may have together to be kept as trees.
const VALUES: usize = 200_000;

/// The call trace of a scenario: every use of a tool, in the order in which it was seen. All results about tools are
/// computed from it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallTrace(pub Vec<ToolCall>);

impl CallTrace {
    /// Returns whether nothing was seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Writes a call trace.
#[derive(Debug)]
pub struct CallTraceRecorder {
    trace: CallTrace,
    proposals: usize,
    values_left: usize,
}

/// A call that the model proposes.
#[derive(Debug)]
pub struct ToolProposal {
    /// The time at which the answer had come.
    pub at_ms: u64,
    /// The call of the model, from 0, whose answer it is in.
    pub model_call: usize,
    /// The model's id of the call; empty when it gave none.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: ToolArguments,
}

/// A result that the agent reports.
#[derive(Debug)]
pub struct ToolReport {
    /// The time at which the request came.
    pub at_ms: u64,
    /// The call of the model, from 0, whose request it is in.
    pub model_call: usize,
    /// The text of the result.
    pub result: String,
    /// True when the agent marked it as an error.
    pub is_error: bool,
}

impl Default for CallTraceRecorder {
    fn default() -> Self {
        Self { trace: CallTrace::default(), proposals: 0, values_left: VALUES }
    }
}

impl CallTraceRecorder {
    /// The trace so far.
    #[must_use]
    pub fn trace(&self) -> &CallTrace {
        &self.trace
    }

    /// The number of proposals so far.
    #[must_use]
    pub fn proposals(&self) -> usize {
        self.proposals
    }

    /// Reads arguments that a model wrote.
    pub fn read_arguments(&mut self, text: &str) -> ToolArguments {
        ToolArguments::read(text, &mut self.values_left)
    }

    /// Adds a proposal, and returns its place in the trace.
    pub fn add_proposal(&mut self, proposal: ToolProposal) -> u64 {
        let ToolProposal { at_ms, model_call, id, tool, arguments } = proposal;
        self.proposals += 1;
        self.add(ToolCall {
            seq: 0,
            at_ms,
            id: Some(id).filter(|id| !id.is_empty()),
            tool,
            source: ToolCallSource::Proposed,
            arguments: arguments.value,
            written: arguments.written,
            model_call: Some(model_call),
            proposal: None,
            result: None,
            is_error: false,
            execution: None,
        })
    }

    /// Adds the agent's report on a proposal.
    pub fn add_report(&mut self, proposal: u64, report: ToolReport) {
        let ToolReport { at_ms, model_call, result, is_error } = report;
        let proposed = usize::try_from(proposal).ok().and_then(|place| self.trace.0.get(place));
        let (id, tool) = proposed.map_or_else(Default::default, |call| (call.id.clone(), call.tool.clone()));
        self.add(ToolCall {
            seq: 0,
            at_ms,
            id,
            tool,
            source: ToolCallSource::Reported,
            arguments: Json::Null,
            written: None,
            model_call: Some(model_call),
            proposal: Some(proposal),
            result: Some(result),
            is_error,
            execution: None,
        });
    }

    fn add(&mut self, call: ToolCall) -> u64 {
        let seq = self.trace.0.len() as u64;
        self.trace.0.push(ToolCall { seq, ..call });
        seq
    }

    /// The whole trace.
    #[must_use]
    pub fn finish(self) -> CallTrace {
        self.trace
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{CallTraceRecorder, ToolProposal, ToolReport};

    #[test]
    fn reports_find_their_proposals_and_nothing_else() {
        let mut recorder = CallTraceRecorder::default();
        let proposal = |recorder: &mut CallTraceRecorder, at_ms, id: &str| {
            let arguments = recorder.read_arguments("{\"a\": 1}");
            let (id, tool) = (id.to_owned(), "read".to_owned());
            recorder.add_proposal(ToolProposal { at_ms, model_call: 0, id, tool, arguments })
        };
        let first = proposal(&mut recorder, 10, "x");
        let second = proposal(&mut recorder, 10, "");
        let report = ToolReport { at_ms: 30, model_call: 1, result: "no".to_owned(), is_error: true };
        recorder.add_report(second, report);
        assert_eq!((first, second, recorder.proposals()), (0, 1, 2));
        let trace = recorder.finish();
        let calls: Vec<_> =
            trace.sightings().iter().map(|used| (used.result(), used.is_error(), used.took_ms())).collect();
        assert_eq!(calls, [(None, false, 0), (Some("no"), true, 20)]);
        let stored = serde_json::to_value(&trace).expect("JSON");
        let expected = json!([
            {"seq": 0, "at_ms": 10, "id": "x", "tool": "read", "source": "proposed", "arguments": {"a": 1}, "written": "{\"a\": 1}", "model_call": 0},
            {"seq": 1, "at_ms": 10, "tool": "read", "source": "proposed", "arguments": {"a": 1}, "written": "{\"a\": 1}", "model_call": 0},
            {"seq": 2, "at_ms": 30, "tool": "read", "source": "reported", "model_call": 1, "proposal": 1, "result": "no", "is_error": true},
        ]);
        assert_eq!(stored, expected);
        assert_eq!(serde_json::from_value::<super::CallTrace>(stored).expect("a trace"), trace);
    }
}
