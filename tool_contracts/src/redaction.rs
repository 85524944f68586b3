//! Removes secrets from records.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value as Json;

/// The kinds of secrets, by the form of their text; the first that matches removes the text.
const KINDS: [(&str, &str); 6] = [
    ("pem", r"-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)"),
    ("connection_string", r"\b[a-z][a-z0-9+]*://[^\s:/@]+:[^\s@]+@[^\s]+"),
    ("provider_key", r"\b(?:sk-[A-Za-z0-9_-]{16,}|AKIA[0-9A-Z]{16}|ghp_[A-Za-z0-9]{20,}|xox[abp]-[A-Za-z0-9-]{10,})"),
    ("bearer", r"(?i)\bbearer\s+[A-Za-z0-9._~+/=-]{8,}"),
    ("api_key", r#"(?i)\b(?:x-)?api[-_]?key["']?\s*[:=]\s*["']?[^\s"',]{6,}"#),
    ("email", r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b"),
];

static PATTERNS: LazyLock<Vec<(String, Regex)>> = LazyLock::new(|| {
    let compile = |(kind, pattern): &(&str, &str)| Some((format!("[REDACTED:{kind}]"), Regex::new(pattern).ok()?));
    KINDS.iter().filter_map(compile).collect()
});

/// A value in which no string shows a secret.
#[must_use]
pub fn redacted(value: &Json) -> Json {
    match value {
        Json::String(text) => redacted_text(text).into(),
        Json::Array(items) => items.iter().map(redacted).collect(),
        Json::Object(map) => Json::Object(map.iter().map(|(key, value)| (key.clone(), redacted(value))).collect()),
        other => other.clone(),
    }
}

fn redacted_text(text: &str) -> String {
    let mut shown = text.to_owned();
    for (mark, pattern) in PATTERNS.iter() {
        if pattern.is_match(&shown) {
            shown = pattern.replace_all(&shown, mark.as_str()).into_owned();
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{KINDS, PATTERNS, redacted};

    #[test]
    fn each_kind_is_taken_away_and_named() {
        assert_eq!(PATTERNS.len(), KINDS.len());
        for (text, kind) in [
            ("key sk-abcdefghijklmnopqrst here", "provider_key"),
            ("Authorization: Bearer abc.def-123456", "bearer"),
            ("X-Api-Key: 0123456789", "api_key"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----", "pem"),
            ("postgres://user:secret@db/x", "connection_string"),
            ("write to jane.doe@example.org", "email"),
        ] {
            let shown = redacted(&json!([text])).to_string();
            assert!(shown.contains(&format!("[REDACTED:{kind}]")), "{text}: {shown}");
        }
        assert_eq!(redacted(&json!({"a": [1, "plain text", true]})), json!({"a": [1, "plain text", true]}));
    }
}
