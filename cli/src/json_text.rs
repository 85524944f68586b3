//! JSON that is safe to look at.

use std::fmt::Write as _;

use scenario::untrusted;
use serde_json::Value as Json;

/// A value as JSON for a person or a program: characters that a terminal would act upon stand as `\u` escapes, and readers
/// get them back.
pub(crate) fn pretty(value: &Json) -> String {
    escaped(&format!("{value:#}"))
}

/// JSON in which no character acts on a terminal.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if is_unsafe(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        } else {
            safe.push(character);
        }
    }
    safe
}

/// Returns true for the unsafe characters that JSON leaves unescaped (it escapes those below 32); they occur in strings
/// only.
fn is_unsafe(character: char) -> bool {
    let mut bytes = [0; 4];
    let text: &str = character.encode_utf8(&mut bytes);
    (character == '\u{7f}' || !character.is_ascii()) && untrusted::visible(text) != text
}

#[cfg(test)]
mod tests {
    use super::pretty;

    #[test]
    fn no_character_acts_and_none_is_lost() {
        let text = "a\u{1b}[2J\u{9b}\u{202e}\u{7f}\u{e0041}\n日本";
        let json = pretty(&serde_json::json!([text]));
        assert!(!json.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\u{7f}', '\u{e0041}']), "{json}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).expect("JSON"), [text]);
    }
}
