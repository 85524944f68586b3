//! Markers that the recorder writes in place of a secret's value.
//!
//! `[redacted:NAME:KEY]` stands for the value itself, `[redacted:NAME/FORM:KEY]` for the value in another form. Only the
//! first is what `{{ secrets.NAME }}` becomes while judging, so an encoding of a secret is not taken for the secret. Where
//! a check decodes what it reads, the markers of that encoding become those of the value.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value as Json;

/// Prefix of a marker.
const BEGINNING: &str = "[redacted:";
/// Separator between the name of a secret and a form.
const FORM: char = '/';

/// A text without the key of its redaction markers, which is another one in each attempt.
pub(super) fn without_key(text: &str, marker_key: Option<&str>) -> String {
    with_key(text, marker_key.unwrap_or_default(), "\0")
}

/// A text whose redaction markers have another key: those of one attempt, as another one would have written them.
pub(super) fn with_key(text: &str, from: &str, to: &str) -> String {
    if from.is_empty() { text.to_owned() } else { text.replace(&format!(":{from}]"), &format!(":{to}]")) }
}

/// A form in which the value of a secret is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretForm {
    /// Unchanged.
    Plain,
    /// Escaped in a JSON string.
    Json,
    /// Percent-encoded.
    Url,
    /// Encoded as a field of an HTML form.
    Form,
    /// Escaped in HTML or XML.
    Html,
    /// One line of a value with several.
    Line,
    /// With other cases of letters.
    Case,
    /// As hexadecimal digits.
    Hex,
    /// As base64, or a part of it.
    Base64,
    /// Last letter first.
    Reversed,
    /// Escaped twice.
    Twice,
    /// In any of the forms, with line breaks in between.
    Wrapped,
}

impl SecretForm {
    /// All of them.
    const ALL: [Self; 12] = [
        Self::Plain,
        Self::Json,
        Self::Url,
        Self::Form,
        Self::Html,
        Self::Line,
        Self::Case,
        Self::Hex,
        Self::Base64,
        Self::Reversed,
        Self::Twice,
        Self::Wrapped,
    ];

    /// The word in a marker; `None` for the value itself.
    #[must_use]
    pub fn word(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Json => Some("json"),
            Self::Url => Some("url"),
            Self::Form => Some("form"),
            Self::Html => Some("html"),
            Self::Line => Some("line"),
            Self::Case => Some("case"),
            Self::Hex => Some("hex"),
            Self::Base64 => Some("base64"),
            Self::Reversed => Some("reversed"),
            Self::Twice => Some("twice"),
            Self::Wrapped => Some("wrapped"),
        }
    }
}

impl fmt::Display for SecretForm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word().unwrap_or("plain"))
    }
}

/// Returns the marker that the recorder writes in place of a secret's value. `key` is the attempt's own.
#[must_use]
pub fn redacted(secret: &str, key: &str) -> String {
    redacted_form(secret, SecretForm::Plain, key)
}

/// Returns the marker that the recorder writes in place of a secret's value in this form.
#[must_use]
pub fn redacted_form(secret: &str, form: SecretForm, key: &str) -> String {
    match form.word() {
        None => format!("{BEGINNING}{secret}:{key}]"),
        Some(word) => format!("{BEGINNING}{secret}{FORM}{word}:{key}]"),
    }
}

/// Returns true if the value of a secret stood in a text, in any form. `key` is the attempt's own, so that nobody else
/// can write the marker.
#[must_use]
pub fn mentions_secret(text: &str, secret: &str, key: &str) -> bool {
    SecretForm::ALL.iter().any(|form| text.contains(&redacted_form(secret, *form, key)))
}

/// A text that was decoded: what stood in one of these forms is the value now.
#[must_use]
pub(crate) fn decoded<'a>(text: &'a str, forms: &[SecretForm]) -> Cow<'a, str> {
    if !text.contains(BEGINNING) {
        return Cow::Borrowed(text);
    }
    let ends = forms.iter().filter_map(|form| Some((format!("{FORM}{}:", form.word()?), ":")));
    let mut plain = String::with_capacity(text.len());
    let ends: Vec<_> = ends.collect();
    let mut rest = text;
    while let Some(at) = rest.find(BEGINNING) {
        let (before, marker) = rest.split_at(at + BEGINNING.len());
        plain.push_str(before);
        let name = marker.find([FORM, ':', '[', ']']).unwrap_or(marker.len());
        let (name, after) = marker.split_at(name);
        plain.push_str(name);
        let end = ends.iter().find(|(form, _)| after.starts_with(form.as_str()));
        rest = end.map_or(after, |(form, with)| {
            plain.push_str(with);
            &after[form.len()..]
        });
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// A value that was read from JSON: what stood escaped in its strings is the value now.
pub(crate) fn decoded_json(json: &mut Json) {
    match json {
        Json::String(text) => {
            if let Cow::Owned(decoded) = decoded(text, &[SecretForm::Json]) {
                *text = decoded;
            }
        }
        Json::Array(items) => items.iter_mut().for_each(decoded_json),
        Json::Object(fields) => fields.iter_mut().for_each(|(_, value)| decoded_json(value)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{SecretForm, decoded, decoded_json, redacted, redacted_form};

    #[test]
    fn only_the_value_itself_has_the_marker_without_a_form() {
        assert_eq!(redacted("KEY", "k1"), "[redacted:KEY:k1]");
        assert_eq!(redacted_form("KEY", SecretForm::Hex, "k1"), "[redacted:KEY/hex:k1]");
        assert!(!redacted_form("KEY", SecretForm::Base64, "k1").contains(&redacted("KEY", "k1")));
    }

    #[test]
    fn decoding_undoes_one_encoding_and_no_other() {
        let forms = [SecretForm::Url, SecretForm::Form];
        let text =
            "a [redacted:A/url:k] [redacted:B/form:k] [redacted:C/hex:k] [redacted:D:k] [redacted: [redacted:E/url:k";
        let plain = "a [redacted:A:k] [redacted:B:k] [redacted:C/hex:k] [redacted:D:k] [redacted: [redacted:E:k";
        assert_eq!(decoded(text, &forms), plain);
        let mut json = json!({"a": ["x [redacted:A/json:k]"], "b": {"c": "[redacted:A/base64:k]"}, "d": 1});
        decoded_json(&mut json);
        assert_eq!(json, json!({"a": ["x [redacted:A:k]"], "b": {"c": "[redacted:A/base64:k]"}, "d": 1}));
    }
}
