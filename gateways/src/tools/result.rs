//! Results of calls, as MCP has them.

use serde_json::{Value as Json, json};

/// The result of a call: an object with `content`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolResult(Json);

impl ToolResult {
    /// A text.
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self(json!({"content": [{"type": "text", "text": text.into()}], "isError": false}))
    }

    /// An error of the tool, which the model can read.
    pub(super) fn error(message: impl Into<String>) -> Self {
        Self(json!({"content": [{"type": "text", "text": message.into()}], "isError": true}))
    }

    /// An error of the tool with structured content.
    pub(super) fn refused(message: impl Into<String>, structured: &Json) -> Self {
        let Self(mut result) = Self::error(message);
        result["structuredContent"] = structured.clone();
        Self(result)
    }

    /// True when there is nothing in it.
    pub(super) fn is_blank(&self) -> bool {
        self.structured().is_null() && self.0["content"].as_array().is_none_or(Vec::is_empty)
    }

    /// Makes an empty result.
    pub(super) fn empty() -> Self {
        Self(json!({"content": [], "isError": false}))
    }

    /// A value: a text as it is, anything else as JSON, and an object as structured content too.
    pub(super) fn value(value: &Json) -> Self {
        let Self(mut result) = match value {
            Json::String(text) => Self::text(text.as_str()),
            other => Self::text(other.to_string()),
        };
        if value.is_object() {
            result["structuredContent"] = value.clone();
        }
        Self(result)
    }

    /// The result of a server, as it is.
    pub(super) fn of_server(result: Json) -> Self {
        Self(result)
    }

    /// True for an error of the tool.
    pub(super) fn is_error(&self) -> bool {
        self.0["isError"] == true
    }

    /// Its texts, a line each.
    pub(super) fn joined_text(&self) -> String {
        let blocks = self.0["content"].as_array().map(Vec::as_slice).unwrap_or_default();
        blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
    }

    /// Its structured content; `null` without any.
    pub(super) fn structured(&self) -> &Json {
        &self.0["structuredContent"]
    }

    /// The value in it: its structured content, else its only text, read as JSON where it is.
    pub(super) fn to_value(&self) -> Json {
        if !self.structured().is_null() {
            return self.structured().clone();
        }
        let text = self.joined_text();
        serde_json::from_str(&text).unwrap_or(Json::String(text))
    }

    /// The same with another value in it.
    pub(super) fn with_value(&self, value: &Json) -> Self {
        let Self(mut changed) = Self::value(value);
        if !value.is_object() && !self.structured().is_null() {
            // The agent reads what it always reads, and finds something else there.
            changed["structuredContent"] = value.clone();
        }
        changed["isError"] = self.is_error().into();
        Self(changed)
    }

    /// Returns it as JSON.
    pub(super) fn to_json(&self) -> Json {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ToolResult;

    #[test]
    fn objects_are_structured_content_and_text() {
        let result = ToolResult::value(&json!({"total": 40}));
        assert_eq!((result.structured(), result.joined_text()), (&json!({"total": 40}), "{\"total\":40}".to_owned()));
        assert_eq!(ToolResult::value(&json!("plain")).joined_text(), "plain");
        assert!(ToolResult::value(&json!([1])).structured().is_null());
        assert_eq!(ToolResult::text("{\"a\":1}").to_value(), json!({"a": 1}));
    }

    #[test]
    fn another_value_takes_the_place_of_the_first() {
        let result = ToolResult::value(&json!({"total": 40})).with_value(&json!([1]));
        assert_eq!((result.structured(), result.joined_text()), (&json!([1]), "[1]".to_owned()));
        assert!(ToolResult::error("no").with_value(&json!("x")).is_error());
    }
}
