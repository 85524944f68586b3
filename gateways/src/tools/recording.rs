//! Answers of a recording, in place of services and servers.

use std::sync::{Mutex, PoisonError};

use scenario::cassette::{RecordedCall, ToolTape};
use scenario::spec::sections::Matching;
use serde_json::{Map, Value as Json, json};

use super::protocol::RpcError;
use super::result::ToolResult;

/// Number of misses of a recording that are kept.
const KEPT_MISSES: usize = 100;

/// The tools and answers of a recording.
#[derive(Debug)]
pub struct RecordedTools {
    tape: ToolTape,
    matching: Matching,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    used: Vec<bool>,
    misses: Vec<String>,
}

impl RecordedTools {
    /// The calls of one scenario.
    #[must_use]
    pub fn new(tape: ToolTape, matching: Matching) -> Self {
        let state = State { used: vec![false; tape.calls.len()], misses: Vec::new() };
        Self { tape, matching, state: Mutex::new(state) }
    }

    /// The definitions of the tools.
    pub(super) fn definitions(&self) -> impl Iterator<Item = Json> {
        self.tape.definitions.iter().cloned()
    }

    /// The recorded answer to a call. Each answers once, in their order.
    pub(super) fn answer(&self, tool: &str, arguments: &Map<String, Json>) -> Result<ToolResult, RpcError> {
        let asked = Json::Object(arguments.clone());
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = |index: usize, call: &RecordedCall, used: &[bool]| {
            !used[index]
                && match self.matching {
                    Matching::Strict => call.tool == tool && call.arguments == asked,
                    Matching::Fifo => call.tool == tool,
                }
        };
        let found = self.tape.calls.iter().enumerate().find(|(index, call)| answers(*index, call, &state.used));
        match found {
            Some((index, call)) => {
                state.used[index] = true;
                if call.error.is_null() {
                    Ok(ToolResult::of_server(call.result.clone()))
                } else {
                    Err(RpcError::from_json(&call.error))
                }
            }
            None => {
                let missed = self.tape.missed(tool, &asked, &state.used);
                if state.misses.len() < KEPT_MISSES {
                    state.misses.push(missed.clone());
                }
                Ok(ToolResult::of_server(json!({"content": [{"type": "text", "text": missed}], "isError": true})))
            }
        }
    }

    /// Calls that the recording has no answer to.
    pub(super) fn misses(&self) -> Vec<String> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).misses.clone()
    }

    /// Returns the number of recorded calls that were not made.
    pub(super) fn unused(&self) -> u64 {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.used.iter().filter(|used| !**used).count() as u64
    }
}
