//! Texts in requests, which rules of a script look for.

use serde_json::Value as Json;

/// Returns whether any text of a request contains this.
#[must_use]
pub fn contains_text(request: &Json, text: &str) -> bool {
    match request {
        Json::String(string) => string.contains(text),
        Json::Array(items) => items.iter().any(|item| contains_text(item, text)),
        Json::Object(entries) => entries.values().any(|value| contains_text(value, text)),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::contains_text;

    #[test]
    fn texts_are_looked_for_as_they_are_meant() {
        let request = json!({"messages": [{"content": [{"text": "say \"hi\"\n"}]}]});
        assert!(contains_text(&request, "say \"hi\"") && !contains_text(&request, "content"));
    }
}
