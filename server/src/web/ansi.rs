//! Converts terminal output to HTML: colours become classes, and other control sequences are shown.
//!
//! A text cannot hide by its colours: one that names a background gets a foreground that can be read on it, and
//! "concealed" is not known here.

use maud::{Markup, html};

use super::untrusted_html::Marks;

/// The style of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Look {
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    inverse: bool,
    front: Option<u8>,
    back: Option<u8>,
}

/// A text with the colours that it asks for.
pub(super) fn coloured(text: &str, marks: Marks<'_>) -> Markup {
    let (mut look, mut rest) = (Look::default(), text);
    let mut parts: Vec<(Look, String)> = Vec::new();
    while let Some((before, codes, after)) = sequence(rest) {
        push(&mut parts, look, before);
        look = look.with(codes);
        rest = after;
    }
    push(&mut parts, look, rest);
    html! {
        @for (look, text) in parts {
            @match look.classes() {
                Some(classes) => span class=(classes) { (marks.text(&text)) },
                None => { (marks.text(&text)) }
            }
        }
    }
}

/// Adds a text; one that looks like what stands before it goes there, so that marks across both are found.
fn push(parts: &mut Vec<(Look, String)>, look: Look, text: &str) {
    match parts.last_mut() {
        Some((last, before)) if *last == look => before.push_str(text),
        _ if text.is_empty() => {}
        _ => parts.push((look, text.to_owned())),
    }
}

/// Splits a text into what is before the first sequence that sets colours, its codes, and what is after it.
fn sequence(text: &str) -> Option<(&str, &str, &str)> {
    const BEGINNING: &str = "\u{1b}[";
    let mut from = 0;
    while let Some(found) = text[from..].find(BEGINNING) {
        let at = from + found;
        let codes = &text[at + BEGINNING.len()..];
        let end = codes.find(|character: char| !character.is_ascii_digit() && character != ';')?;
        if codes[end..].starts_with('m') {
            return Some((&text[..at], &codes[..end], &codes[end + 1..]));
        }
        from = at + BEGINNING.len();
    }
    None
}

impl Look {
    fn with(mut self, codes: &str) -> Self {
        let mut codes = codes.split(';').map(|code| code.parse::<u16>().unwrap_or(0));
        while let Some(code) = codes.next() {
            match code {
                0 => self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                3 => self.italic = true,
                4 => self.underline = true,
                7 => self.inverse = true,
                22 => (self.bold, self.dim) = (false, false),
                23 => self.italic = false,
                24 => self.underline = false,
                27 => self.inverse = false,
                30..=37 => self.front = small(code - 30),
                90..=97 => self.front = small(code - 90 + 8),
                39 => self.front = None,
                40..=47 => self.back = small(code - 40),
                100..=107 => self.back = small(code - 100 + 8),
                49 => self.back = None,
                38 => self.front = extended(&mut codes),
                48 => self.back = extended(&mut codes),
                _ => {}
            }
        }
        self
    }

    fn classes(self) -> Option<String> {
        let words = [
            self.bold.then(|| "bold".to_owned()),
            self.dim.then(|| "dim".to_owned()),
            self.italic.then(|| "italic".to_owned()),
            self.underline.then(|| "underline".to_owned()),
            self.inverse.then(|| "inverse".to_owned()),
            self.back.map(|colour| format!("back{colour}")),
            self.front.filter(|_| self.back.is_none() && !self.inverse).map(|colour| format!("front{colour}")),
        ];
        let words: Vec<_> = words.into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join(" "))
    }
}

fn small(code: u16) -> Option<u8> {
    u8::try_from(code).ok()
}

/// One of 256 colours, of which the first 16 are known here, or one by its parts, which are passed over.
fn extended(codes: &mut impl Iterator<Item = u16>) -> Option<u8> {
    match codes.next() {
        Some(5) => codes.next().and_then(small).filter(|colour| *colour < 16),
        Some(2) => codes.nth(2).and(None),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::coloured;
    use crate::web::untrusted_html::Marks;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(coloured(text, Marks::default()).into_string(), expected);
    }

    #[test]
    fn colours_become_classes() {
        check("\u{1b}[1;31mred\u{1b}[0m plain", "<span class=\"bold front1\">red</span> plain");
        check("\u{1b}[38;5;9mx\u{1b}[38;2;1;2;3my\u{1b}[39mz", "<span class=\"front9\">x</span>yz");
        check("\u{1b}[91mx\u{1b}[mz", "<span class=\"front9\">x</span>z");
    }

    #[test]
    fn what_a_terminal_would_do_besides_is_shown() {
        check("a\u{1b}[2Jb\u{1b}]0;title\u{7}", "a␛[2Jb␛]0;title␇");
        check("\u{1b}[31", "␛[31");
        check("\u{1b}[31m<b>", "<span class=\"front1\">&lt;b&gt;</span>");
    }

    #[test]
    fn nothing_hides_by_its_colours() {
        check("\u{1b}[31;41mx", "<span class=\"back1\">x</span>");
        check("\u{1b}[8mx\u{1b}[28my", "xy");
    }
}
