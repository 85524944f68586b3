//! One entry of the call trace.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::tool_execution::ToolExecution;

/// The most values that the arguments of one call may have to be kept as a tree.
const VALUES_OF_A_CALL: usize = 2_000;
/// The deepest arguments that are kept as a tree. Readers of JSON refuse 128 levels, and evidence adds some of its own.
const DEEPEST: usize = 32;

/// One entry of the call trace: a use of a tool, as it was seen at one place.
///
/// A call that the model proposes and whose result the agent sends back has two entries, a proposal and a report. The report
/// names its proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The place in the trace, from 0.
    pub seq: u64,
    /// The time, in milliseconds since the agent started.
    pub at_ms: u64,
    /// The model's id of the call; `None` when it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool.
    pub tool: String,
    /// The place at which it was seen.
    pub source: ToolCallSource,
    /// The arguments: an object, or the text that the model wrote where that is no object, or too large or too deep to be kept
    /// as one. `null` in a report, whose proposal has them.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub arguments: Json,
    /// The text of the arguments, where it is not the shortest one for them: models write spaces, and numbers in many ways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// The call of the model, from 0, whose answer proposed it or whose request reported it; `None` for an execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_call: Option<usize>,
    /// The `seq` of the proposal that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<u64>,
    /// The text of the result, where this entry has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// True when the result is marked as an error.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub is_error: bool,
    /// The data that only the tool gateway has; `None` for a call that did not reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Box<ToolExecution>>,
}

/// The place at which a use of a tool was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallSource {
    /// An answer of the model calls the tool. The agent may do so, or not.
    Proposed,
    /// The tool gateway got the call, and knows its result. A request to a mock is no call of a tool by itself.
    Executed,
    /// The agent reported the result of a proposal to the model. It can report anything.
    Reported,
}

impl ToolCall {
    /// The text of the arguments, as the model wrote it.
    #[must_use]
    pub fn arguments_text(&self) -> Cow<'_, str> {
        match (&self.written, &self.arguments) {
            (Some(written), _) => written.into(),
            (None, Json::String(text)) => text.into(),
            (None, Json::Null) => "".into(),
            (None, arguments) => arguments.to_string().into(),
        }
    }
}

/// Arguments of a call as they are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolArguments {
    pub(super) value: Json,
    pub(super) written: Option<String>,
    text_bytes: usize,
}

impl ToolArguments {
    /// Reads arguments that a model wrote, if they have no more values than are left.
    pub(super) fn read(text: &str, values_left: &mut usize) -> Self {
        let (values, depth) = measure(text);
        let fits = values <= VALUES_OF_A_CALL.min(*values_left) && depth <= DEEPEST;
        let object = fits.then(|| serde_json::from_str::<Json>(text).ok()).flatten().filter(Json::is_object);
        if object.is_some() {
            *values_left -= values;
        }
        let compact = object.as_ref().map(Json::to_string);
        let written = compact.is_some_and(|compact| compact != text).then(|| text.to_owned());
        Self { value: object.unwrap_or_else(|| text.into()), written, text_bytes: text.len() }
    }

    /// The arguments as a tree, or as the text that they are.
    #[must_use]
    pub fn value(&self) -> &Json {
        &self.value
    }

    /// The bytes that they take in the record.
    #[must_use]
    pub fn stored_bytes(&self) -> usize {
        self.text_bytes + self.written.as_ref().map_or(0, String::len)
    }
}

/// The number of values of a text of JSON and its depth, both rather too high than too low.
fn measure(text: &str) -> (usize, usize) {
    let (mut values, mut depth, mut deepest) = (1, 0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                (values, depth) = (values + 1, depth + 1);
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => values += 1,
            _ => {}
        }
    }
    (values, deepest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ToolArguments, measure};

    #[track_caller]
    fn check(text: &str, value: serde_json::Value, written: bool) {
        let read = ToolArguments::read(text, &mut 10_000);
        assert_eq!((&read.value, read.written.as_deref()), (&value, written.then_some(text)), "{text}");
    }

    #[test]
    fn objects_are_trees_and_everything_else_is_text() {
        check(r#"{"a":1}"#, json!({"a": 1}), false);
        check(r#"{"a": 1}"#, json!({"a": 1}), true);
        check(r#"{"a":12345678901234567890123}"#, json!({"a": 1.234_567_890_123_456_8e22}), true);
        for text in ["", "{\"a", "[1]", "\"a\"", "7", "null"] {
            check(text, json!(text), false);
        }
    }

    #[test]
    fn large_and_deep_arguments_stay_text() {
        let wide = format!("{{\"a\":[{}]}}", vec!["0"; 2_000].join(","));
        check(&wide, json!(wide), false);
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(40), "]".repeat(40));
        check(&deep, json!(deep), false);
        let commas = json!({ "csv": ",[{\\\"".repeat(10_000) });
        check(&commas.to_string(), commas, false);
        let mut left = 3;
        assert!(ToolArguments::read(r#"{"a":1}"#, &mut left).value.is_object());
        assert!(ToolArguments::read(r#"{"a":1}"#, &mut left).value.is_string(), "none are left");
    }

    #[test]
    fn values_are_counted_outside_of_texts() {
        assert_eq!(measure(r#"{"a":[1,2],"b,[{":"\",["}"#), (5, 2));
    }
}
