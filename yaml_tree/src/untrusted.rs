//! Makes untrusted text safe to show.
//!
//! An agent's output ends up in terminals, pull requests and XML. It must not move the cursor, hide itself, or reverse
//! the line that it stands in.

/// The text with everything that a terminal would act upon, or that a reader could not see, made visible. Line breaks
/// and tabs stay.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' if characters.peek() == Some(&'\n') => {}
            '\n' | '\t' => shown.push(character),
            character if is_unsafe(character) => shown.push_str(&picture(character)),
            character => shown.push(character),
        }
    }
    shown
}

/// The text on one line, at most `most` characters long.
#[must_use]
pub fn line(text: &str, most: usize) -> String {
    let shown = visible(text);
    let joined = shown
        .split('\n')
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(" ⏎ ")
        .replace('\t', " ");
    cut(&joined, most)
}

/// The beginning of a text, with a mark when something is missing.
#[must_use]
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Control characters, characters that change direction or are invisible, and code points that no text may hold.
#[must_use]
pub fn is_unsafe(character: char) -> bool {
    let never_a_character = u32::from(character) & 0xfffe == 0xfffe || matches!(character, '\u{fdd0}'..='\u{fdef}');
    let invisible = matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}'
        | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff9}'..='\u{fffc}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}');
    character.is_control() || never_a_character || invisible
}

/// Returns a visible stand-in: `␛` for escape, `<U+202E>` for a character that has no picture.
fn picture(character: char) -> String {
    match u32::from(character) {
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or('\u{fffd}').to_string(),
        0x7f => "\u{2421}".to_owned(),
        code => format!("<U+{code:04X}>"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{cut, is_unsafe, line, visible};

    #[test]
    fn what_a_terminal_would_act_upon_is_shown() {
        assert_eq!(visible("\u{1b}[31mred\u{7}\u{0}"), "␛[31mred␇␀");
        assert_eq!(visible("a\r\nb\rc\td"), "a\nb␍c\td");
        assert_eq!(visible("user\u{202e}txt.exe"), "user<U+202E>txt.exe");
        assert_eq!(visible("a\u{200b}b\u{9b}c\u{e0041}"), "a<U+200B>b<U+009B>c<U+E0041>");
        assert_eq!(visible("\u{ffff}\u{3164}\u{e0100}\u{ad}"), "<U+FFFF><U+3164><U+E0100><U+00AD>");
        assert_eq!(visible("naïve 日本 👩‍🚀"), "naïve 日本 👩‍🚀");
    }

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(line("first\n\n  second\t\n", 100), "first ⏎   second");
        assert_eq!(cut("äbc", 2), "äb…");
        assert_eq!(cut("äb", 2), "äb");
    }

    proptest! {
        #[test]
        fn nothing_unsafe_is_left(text in "\\PC*|[\\x00-\\x{ffff}]{0,50}") {
            prop_assert!(visible(&text).chars().all(|character| !is_unsafe(character) || matches!(character, '\n' | '\t')));
            prop_assert!(!line(&text, 30).contains(['\n', '\t', '\r']));
        }
    }
}
