//! Recordings of tools, which `tools.record` writes and `tools.replay` reads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{CassetteError, Recording, difference, without_keys};
use crate::evidence::{CallTrace, Evidence, ToolCall, ToolCallSource, ToolExecution};
use crate::untrusted;

/// The version of the file's form.
const VERSION: u32 = 1;
/// Maximum length of arguments that a message shows.
const SHOWN: usize = 200;

/// Calls of tools, by the ids of the scenarios in which they were recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCassette {
    version: u32,
    tools: BTreeMap<String, ToolTape>,
}

/// The tools and calls of one scenario.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolTape {
    /// The tools, as they were offered.
    pub definitions: Vec<Json>,
    /// The calls, in their order.
    pub calls: Vec<RecordedCall>,
}

/// One call of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedCall {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Json,
    /// The result, as it was sent; `null` when the call failed.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub result: Json,
    /// The error of the protocol; `null` when there was a result.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub error: Json,
}

impl Default for ToolCassette {
    fn default() -> Self {
        Self { version: VERSION, tools: BTreeMap::new() }
    }
}

impl ToolCassette {
    /// Returns the recording of a scenario. A cassette with one scenario serves any.
    #[must_use]
    pub fn scenario(&self, id: &str) -> Option<&ToolTape> {
        let only = || self.tools.values().next().filter(|_| self.tools.len() == 1);
        self.tools.get(id).or_else(only)
    }
}

impl Recording for ToolCassette {
    /// Extracts the recording of one scenario from its evidence. Calls that faults or the gateway itself answered are
    /// left out.
    ///
    /// # Errors
    ///
    /// A call was not kept whole.
    fn from_evidence(scenario: &str, evidence: &Evidence) -> Result<Self, CassetteError> {
        let mut tape = ToolTape::default();
        if let Some(record) = &evidence.tools {
            if record.only_counted > 0 {
                return Err(CassetteError::TooManyCalls(record.only_counted));
            }
            tape.definitions = record.definitions.iter().map(|tool| plain(&tool.definition)).collect();
            tape.calls = recorded(&evidence.call_trace)?;
        }
        Ok(Self { version: VERSION, tools: BTreeMap::from([(scenario.to_owned(), tape)]) })
    }

    /// Reads a cassette.
    ///
    /// # Errors
    ///
    /// It is no cassette, or one of another version.
    fn parse(text: &str) -> Result<Self, CassetteError> {
        let cassette: Self = serde_json::from_str(text).map_err(CassetteError::Unreadable)?;
        if cassette.version == VERSION { Ok(cassette) } else { Err(CassetteError::Version(cassette.version)) }
    }

    /// Adds the scenarios of another cassette; where both have one, that of the other counts.
    fn merge(&mut self, other: Self) {
        self.tools.extend(other.tools);
    }

    /// The file: the same calls give the same bytes.
    fn text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }
}

impl ToolTape {
    /// The message about a call that no recorded one answers: the nearest one that is left, and where it differs.
    #[must_use]
    pub fn missed(&self, tool: &str, arguments: &Json, used: &[bool]) -> String {
        let shown = |value: &Json| untrusted::line(&value.to_string(), SHOWN);
        let asked =
            format!("the recording has no answer to `{}` with {}", untrusted::line(tool, SHOWN), shown(arguments));
        let left =
            self.calls.iter().zip(used).filter(|(call, used)| !**used && call.tool == tool).map(|(call, _)| call);
        let nearest = left.filter_map(|call| Some((difference(&call.arguments, arguments)?, call)));
        let nearest = nearest.min_by_key(|(difference, _)| difference.count);
        match nearest {
            Some((difference, call)) => format!(
                "{asked}; the nearest one left has {}: at `{}` it has {}, and the call {}",
                shown(&call.arguments),
                difference.path,
                difference.expected,
                difference.found
            ),
            None if self.calls.iter().any(|call| call.tool == tool) => {
                format!("{asked}; every recorded call of it was answered")
            }
            None => format!("{asked}; it was never called there"),
        }
    }
}

fn recorded(trace: &CallTrace) -> Result<Vec<RecordedCall>, CassetteError> {
    let executed = trace.0.iter().filter(|call| call.source == ToolCallSource::Executed);
    let known = executed.filter_map(|call| Some((call, call.execution.as_deref()?)));
    let answered = known.filter(|(_, execution)| execution.refused.is_none() && execution.fault.is_none());
    answered.enumerate().map(|(index, (call, execution))| recorded_call(index, call, execution)).collect()
}

fn recorded_call(index: usize, call: &ToolCall, execution: &ToolExecution) -> Result<RecordedCall, CassetteError> {
    let incomplete = |part| CassetteError::NotWholeTool { call: index, part };
    let arguments =
        if call.arguments.is_object() { plain(&call.arguments) } else { return Err(incomplete("arguments")) };
    let (result, error) = match &execution.answer {
        Json::Object(answer) if answer.contains_key("error") => (Json::Null, plain(&answer["error"])),
        Json::Object(answer) if answer.contains_key("result") => (plain(&answer["result"]), Json::Null),
        _ => return Err(incomplete("answer")),
    };
    Ok(RecordedCall { tool: call.tool.clone(), arguments, result, error })
}

/// A value without the keys of markers, which differ from run to run.
fn plain(value: &Json) -> Json {
    serde_json::from_str(&without_keys(&value.to_string())).unwrap_or_else(|_| value.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{RecordedCall, ToolCassette, ToolTape};
    use crate::cassette::Recording as _;
    use crate::evidence::{
        CallTrace, CallTraceRecorder, Evidence, ExecutedCall, ToolExecution, ToolRecord, ToolRefusal,
    };

    fn executed(at_ms: u64, arguments: &str, execution: ToolExecution) -> ExecutedCall {
        let arguments = CallTraceRecorder::default().read_arguments(arguments);
        ExecutedCall { at_ms, id: None, tool: "read".to_owned(), arguments, result: None, is_error: false, execution }
    }

    #[test]
    fn answers_of_tools_are_recorded_and_those_of_the_gateway_are_not() {
        let answered = ToolExecution { answer: json!({"result": {"content": []}}), ..ToolExecution::default() };
        let refused = ToolExecution { refused: Some(ToolRefusal::Hidden), ..answered.clone() };
        let failed =
            ToolExecution { answer: json!({"error": {"code": 1, "message": "no"}}), ..ToolExecution::default() };
        let calls =
            vec![executed(1, r#"{"id": "7"}"#, answered), executed(2, "{}", refused), executed(3, "{}", failed)];
        let evidence = Evidence {
            call_trace: CallTrace::default().with_executions(calls),
            tools: Some(ToolRecord::default()),
            ..Evidence::default()
        };
        let cassette = ToolCassette::from_evidence("default-r0", &evidence).expect("a cassette");
        let tape = cassette.scenario("any").expect("the only one");
        assert_eq!(tape.calls.len(), 2);
        assert_eq!(tape.calls[1].error, json!({"code": 1, "message": "no"}));
        assert_eq!(ToolCassette::parse(&cassette.text()).expect("the same"), cassette);
    }

    #[test]
    fn a_call_that_was_not_kept_whole_cannot_be_recorded() {
        let evidence = Evidence {
            call_trace: CallTrace::default().with_executions(vec![executed(1, "{}", ToolExecution::default())]),
            tools: Some(ToolRecord::default()),
            ..Evidence::default()
        };
        let problem = ToolCassette::from_evidence("a", &evidence).expect_err("refused");
        insta::assert_snapshot!(problem, @"call 0 of the tools cannot be recorded: its answer is larger than what is kept, or is no JSON");
    }

    #[test]
    fn a_miss_names_the_nearest_call() {
        let call = |id: &str| RecordedCall {
            tool: "read".to_owned(),
            arguments: json!({"id": id, "page": 1}),
            result: json!({}),
            error: json!(null),
        };
        let tape = ToolTape { definitions: Vec::new(), calls: vec![call("7"), call("8")] };
        insta::assert_snapshot!(tape.missed("read", &json!({"id": "8", "page": 2}), &[false, false]), @r#"the recording has no answer to `read` with {"id":"8","page":2}; the nearest one left has {"id":"8","page":1}: at `$.page` it has 1, and the call 2"#);
        insta::assert_snapshot!(tape.missed("read", &json!({}), &[true, true]), @"the recording has no answer to `read` with {}; every recorded call of it was answered");
        insta::assert_snapshot!(tape.missed("write", &json!({}), &[true, true]), @"the recording has no answer to `write` with {}; it was never called there");
    }
}
