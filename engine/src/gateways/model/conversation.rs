//! Results of tools in the conversation that a request repeats.

use scenario::evidence::Dialect;
use serde_json::Value as Json;

/// The result of a tool, as a request holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SentResult<'a> {
    pub(super) id: &'a str,
    content: Option<&'a Json>,
    pub(super) is_error: bool,
}

impl SentResult<'_> {
    /// The result as text: that of its parts when it has parts, and its JSON when it is something else.
    pub(super) fn text(&self) -> String {
        match self.content {
            None | Some(Json::Null) => String::new(),
            Some(Json::String(text)) => text.clone(),
            Some(Json::Array(parts)) => parts.iter().map(part).collect::<Vec<_>>().join("\n"),
            Some(other) => other.to_string(),
        }
    }
}

fn part(part: &Json) -> String {
    part["text"].as_str().map_or_else(|| part.to_string(), ToOwned::to_owned)
}

/// Every result of a tool in the conversation, in its order.
pub(super) fn results(dialect: Dialect, request: &Json) -> Vec<SentResult<'_>> {
    let list = |name: &str| request[name].as_array().map_or(&[][..], Vec::as_slice);
    match dialect {
        Dialect::Chat => list("messages").iter().filter_map(of_chat).collect(),
        Dialect::Responses => list("input").iter().filter_map(of_responses).collect(),
        Dialect::Messages => {
            let blocks = list("messages").iter().filter_map(|message| message["content"].as_array()).flatten();
            blocks.filter_map(of_messages).collect()
        }
        Dialect::Embeddings | Dialect::Models | Dialect::Other => Vec::new(),
    }
}

fn of_chat(message: &Json) -> Option<SentResult<'_>> {
    (message["role"] == "tool").then(|| SentResult {
        id: message["tool_call_id"].as_str().unwrap_or_default(),
        content: message.get("content"),
        is_error: false,
    })
}

fn of_responses(item: &Json) -> Option<SentResult<'_>> {
    (item["type"] == "function_call_output").then(|| SentResult {
        id: item["call_id"].as_str().unwrap_or_default(),
        content: item.get("output"),
        is_error: false,
    })
}

fn of_messages(block: &Json) -> Option<SentResult<'_>> {
    (block["type"] == "tool_result").then(|| SentResult {
        id: block["tool_use_id"].as_str().unwrap_or_default(),
        content: block.get("content"),
        is_error: block["is_error"] == true,
    })
}

/// Whether any text of a request contains this.
pub(super) fn contains(request: &Json, text: &str) -> bool {
    match request {
        Json::String(string) => string.contains(text),
        Json::Array(items) => items.iter().any(|item| contains(item, text)),
        Json::Object(entries) => entries.values().any(|value| contains(value, text)),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use scenario::evidence::Dialect;
    use serde_json::{Value as Json, json};

    use super::{contains, results};

    fn check(dialect: Dialect, request: Json, expected: &[(&str, &str, bool)]) {
        let found = results(dialect, &request);
        let found: Vec<_> = found.iter().map(|result| (result.id, result.text(), result.is_error)).collect();
        let expected: Vec<_> = expected.iter().map(|(id, text, error)| (*id, (*text).to_owned(), *error)).collect();
        assert_eq!(found, expected, "{request}");
    }

    #[test]
    fn results_are_found_in_every_dialect() {
        let parts = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
        check(
            Dialect::Chat,
            json!({"messages": [{"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "1", "content": "y"},
                {"role": "tool", "tool_call_id": "2", "content": parts}, {"role": "tool"}]}),
            &[("1", "y", false), ("2", "a\nb", false), ("", "", false)],
        );
        check(
            Dialect::Responses,
            json!({"input": [{"type": "function_call_output", "call_id": "1", "output": "y"}, {"role": "user"}]}),
            &[("1", "y", false)],
        );
        check(Dialect::Responses, json!({"input": "text"}), &[]);
        check(
            Dialect::Messages,
            json!({"messages": [{"role": "user", "content": "text"}, {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": parts, "is_error": true},
                {"type": "tool_result", "tool_use_id": "2"}]}]}),
            &[("1", "a\nb", true), ("2", "", false)],
        );
        check(Dialect::Chat, json!([1]), &[]);
        check(Dialect::Chat, json!({"messages": 1}), &[]);
    }

    #[test]
    fn texts_are_looked_for_as_they_are_meant() {
        let request = json!({"messages": [{"content": [{"text": "say \"hi\"\n"}]}]});
        assert!(contains(&request, "say \"hi\"") && !contains(&request, "content"));
    }
}
