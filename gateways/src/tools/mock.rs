//! Tools whose answers are written down.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use scenario::spec::sections::{MockRule, ToolMock, UnknownCall};
use serde_json::{Map, Value as Json};

use super::result::ToolResult;
use crate::json_match::includes;

/// A mocked tool.
#[derive(Debug)]
pub(super) struct MockedTool {
    mock: ToolMock,
    /// Number of times that each rule answered.
    answered: Mutex<Vec<i64>>,
}

impl MockedTool {
    pub(super) fn new(mock: ToolMock) -> Self {
        let answered = Mutex::new(vec![0; mock.rules.len()]);
        Self { mock, answered }
    }

    /// The answer to a call, and how long to wait before it.
    pub(super) fn answer(&self, tool: &str, arguments: &Map<String, Json>) -> (ToolResult, Duration) {
        let Some(rule) = self.take(arguments) else { return (self.unknown(tool, arguments), Duration::ZERO) };
        let result = match (&rule.error, &rule.returns) {
            (Some(message), _) => ToolResult::error(message.as_str()),
            (None, Some(value)) => ToolResult::value(value),
            (None, None) => ToolResult::empty(),
        };
        (result, rule.delay.map_or(Duration::ZERO, |delay| delay.get()))
    }

    /// The first rule that matches and still answers. It is counted.
    fn take(&self, arguments: &Map<String, Json>) -> Option<&MockRule> {
        let mut answered = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rules = self.mock.rules.iter().zip(answered.iter_mut());
        let (rule, count) = rules
            .find(|(rule, count)| rule.times.is_none_or(|times| **count < times.get()) && matches(rule, arguments))?;
        *count += 1;
        Some(rule)
    }

    fn unknown(&self, tool: &str, arguments: &Map<String, Json>) -> ToolResult {
        match self.mock.unknown {
            UnknownCall::Empty => ToolResult::empty(),
            UnknownCall::Error => {
                let shown = scenario::untrusted::line(&Json::Object(arguments.clone()).to_string(), 300);
                ToolResult::error(format!("no rule of the mock `{tool}` matches {shown}"))
            }
        }
    }
}

fn matches(rule: &MockRule, arguments: &Map<String, Json>) -> bool {
    let has = |(name, value)| arguments.get(AsRef::<str>::as_ref(&name)).is_some_and(|found| includes(found, value));
    rule.arguments.iter().map(|(name, value)| (name.as_str(), value)).all(has)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::MockedTool;
    use crate::tools::testing::declared;

    fn mocked(mock: &str) -> MockedTool {
        MockedTool::new(declared(&format!("{{name: read_note, mock: {mock}}}")).mock.expect("a mock"))
    }

    fn text(tool: &MockedTool, arguments: Json) -> (String, bool) {
        let Json::Object(arguments) = arguments else { panic!("arguments are an object") };
        let (result, _) = tool.answer("read_note", &arguments);
        (result.joined_text(), result.is_error())
    }

    #[test]
    fn the_first_rule_that_matches_answers() {
        let tool = mocked(
            "{rules: [{match: {id: '7'}, return: {text: hi}}, {match: {at: {x: 1}}, return: deep}, {match: {id: '8'}, error: locked}]}",
        );
        assert_eq!(text(&tool, json!({"id": "7", "more": true})), ("{\"text\":\"hi\"}".to_owned(), false));
        assert_eq!(text(&tool, json!({"at": {"x": 1.0, "y": 2}})), ("deep".to_owned(), false));
        assert_eq!(text(&tool, json!({"id": "8"})), ("locked".to_owned(), true));
        let unknown = text(&tool, json!({"id": "9"}));
        assert_eq!(unknown, ("no rule of the mock `read_note` matches {\"id\":\"9\"}".to_owned(), true));
    }

    #[test]
    fn a_rule_answers_as_often_as_it_says() {
        let tool = mocked("{rules: [{times: 2, error: busy}, {return: ready}], unknown: empty}");
        let answers: Vec<_> = (0..3).map(|_| text(&tool, json!({})).0).collect();
        assert_eq!(answers, ["busy", "busy", "ready"]);
        assert_eq!(text(&mocked("{rules: [{times: 1, return: x, match: {a: 1}}], unknown: empty}"), json!({})).0, "");
    }
}
