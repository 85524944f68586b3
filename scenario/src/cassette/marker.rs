//! Markers of secrets without the key of an attempt.

/// Prefix of a marker.
const BEGINNING: &str = "[redacted:";

/// The text with `[redacted:NAME]` for every `[redacted:NAME:key]`.
#[must_use]
pub fn without_keys(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(BEGINNING) {
        let (before, marker) = rest.split_at(at + BEGINNING.len());
        plain.push_str(before);
        rest = marker;
        let name = rest.find(|character: char| !character.is_ascii_alphanumeric() && character != '_').unwrap_or(0);
        // A recording keeps which secret it was, and not in which form: older ones do not know forms.
        let form = rest[name..].strip_prefix('/').map_or(0, |form| 1 + word_length(form));
        let Some(key) = rest[name + form..].strip_prefix(':') else { continue };
        let end = key.find(|character: char| !character.is_ascii_alphanumeric());
        if let Some(end) = end.filter(|end| *end > 0 && key[*end..].starts_with(']')) {
            plain.push_str(&rest[..name]);
            rest = &key[end..];
        }
    }
    plain.push_str(rest);
    plain
}

fn word_length(text: &str) -> usize {
    text.find(|character: char| !character.is_ascii_alphanumeric()).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::without_keys;

    #[test]
    fn only_the_key_of_a_whole_marker_goes() {
        let check = |text: &str, expected: &str| assert_eq!(without_keys(text), expected);
        check("a [redacted:KEY:0f] b [redacted:B_2:9]", "a [redacted:KEY] b [redacted:B_2]");
        check("[redacted:KEY/base64:0f] [redacted:KEY/x", "[redacted:KEY] [redacted:KEY/x");
        check("[redacted:KEY]", "[redacted:KEY]");
        check("[redacted:KEY:", "[redacted:KEY:");
        check("[redacted:KEY:]", "[redacted:KEY:]");
        check("[redacted:[redacted:A:b]", "[redacted:[redacted:A]");
        check("[redacted:A:b c]", "[redacted:A:b c]");
    }

    proptest! {
        #[test]
        fn any_text_keeps_what_is_no_key(text in "(\\[redacted:|KEY|:|\\]|\\PC){0,12}") {
            let once = without_keys(&text);
            prop_assert!(once.len() <= text.len());
            if !text.contains("[redacted:") {
                prop_assert_eq!(once, text);
            }
        }
    }
}
