//! Text that an agent, a model, a script or a spec wrote, as it stands in a page.
//!
//! maud escapes markup. What is left are characters that a reader could not see, or that turn a line around: they are
//! shown. Where a recorder took a secret out, that is marked; an agent cannot make such a mark, because it does not
//! know the key.
//!
//! In sentences, what stands between backticks is code. That is all of markup that a text can ask for: its letters are
//! treated as all others, and a backtick that stands alone is one.

use maud::{Markup, html};
use scenario::untrusted;

/// The form of the marks of one attempt.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marks<'a> {
    /// The key in them; without one there are none.
    pub(super) key: Option<&'a str>,
}

impl Marks<'_> {
    /// A text, with what was taken out of it marked.
    pub(super) fn text(self, text: &str) -> Markup {
        let Some(key) = self.key.filter(|key| !key.is_empty()) else { return html! { (untrusted::visible(text)) } };
        let (mut rest, end) = (text, format!(":{key}]"));
        let mut parts = Vec::new();
        while let Some((before, name, after)) = mark(rest, &end) {
            parts.push((before, Some(name)));
            rest = after;
        }
        parts.push((rest, None));
        html! {
            @for (text, name) in parts {
                (untrusted::visible(text))
                @if let Some(name) = name { mark.redacted { "redacted: " (untrusted::line(name, 100)) } }
            }
        }
    }
}

impl Marks<'_> {
    /// A sentence, in which code stands between backticks.
    pub(super) fn prose(self, text: &str) -> Markup {
        html! {
            @for (text, is_code) in spans(text) {
                @if is_code { code { (self.text(text)) } } @else { (self.text(text)) }
            }
        }
    }
}

/// The parts of a sentence, each with whether it is code: what stands between two backticks on the same line.
fn spans(text: &str) -> Vec<(&str, bool)> {
    let (mut rest, mut spans) = (text, Vec::new());
    while let Some((before, code, after)) = span(rest) {
        spans.extend([(before, false), (code, true)]);
        rest = after;
    }
    spans.push((rest, false));
    spans.retain(|(text, _)| !text.is_empty());
    spans
}

/// Splits a text into what is before the first code, the code, and what is after it.
fn span(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(found) = text[from..].find('`') {
        let begin = from + found + 1;
        let end = begin + text[begin..].find(['`', '\n'])?;
        if end > begin && text[end..].starts_with('`') {
            return Some((&text[..begin - 1], &text[begin..end], &text[end + 1..]));
        }
        from = end + 1;
    }
    None
}

/// Splits a text into what is before the first mark, the name of its secret, and what is after it.
fn mark<'a>(text: &'a str, end: &str) -> Option<(&'a str, &'a str, &'a str)> {
    const BEGINNING: &str = "[redacted:";
    let mut from = 0;
    while let Some(found) = text[from..].find(end) {
        let at = from + found;
        if let Some(begin) = text[..at].rfind(BEGINNING) {
            return Some((&text[..begin], &text[begin + BEGINNING.len()..at], &text[at + end.len()..]));
        }
        from = at + end.len();
    }
    None
}

/// A text as it was written.
pub(super) fn text(text: &str) -> Markup {
    Marks::default().text(text)
}

/// A sentence, in which code stands between backticks.
pub(super) fn prose(text: &str) -> Markup {
    Marks::default().prose(text)
}

/// The beginning of a sentence on one line. Code that is cut ends where it is cut.
pub(super) fn short_prose(text: &str, most: usize) -> Markup {
    let mut cut = untrusted::line(text, most);
    let backticks = |text: &str| text.matches('`').count();
    if backticks(&cut) % 2 == 1 && backticks(text) > backticks(&cut) {
        cut.push('`');
    }
    prose(&cut)
}

/// The beginning of a text on one line.
pub(super) fn line(text: &str, most: usize) -> Markup {
    html! { (untrusted::line(text, most)) }
}

/// The beginning of a text, at a character's boundary, and how many bytes are left out.
pub(super) fn beginning(text: &str, most: usize) -> (&str, usize) {
    let end = text.floor_char_boundary(most);
    (&text[..end], text.len() - end)
}

/// The end of a text, at a character's boundary.
pub(super) fn ending(text: &str, most: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(most))..]
}

#[cfg(test)]
mod tests {
    use super::{Marks, beginning, ending, prose, short_prose, text};

    #[test]
    fn nothing_becomes_markup_or_hides() {
        assert_eq!(text("<script>&\"'\u{202e}\u{7}").into_string(), "&lt;script&gt;&amp;&quot;'&lt;U+202E&gt;␇");
    }

    #[test]
    fn only_marks_with_the_key_are_marks() {
        let marks = Marks { key: Some("k1") };
        let shown = marks.text("a [redacted:PIN:k1] b [redacted:PIN:k2] <c>").into_string();
        assert_eq!(shown, "a <mark class=\"redacted\">redacted: PIN</mark> b [redacted:PIN:k2] &lt;c&gt;");
        assert_eq!(
            marks.text("x :k1] [redacted:A:k1]").into_string(),
            "x :k1] <mark class=\"redacted\">redacted: A</mark>"
        );
    }

    #[test]
    fn code_stands_between_backticks_and_nothing_else_is_markup() {
        for (text, expected) in [
            ("expected `a_b`, found `<b>`", "expected <code>a_b</code>, found <code>&lt;b&gt;</code>"),
            ("`</code><script>`", "<code>&lt;/code&gt;&lt;script&gt;</code>"),
            ("one ` alone", "one ` alone"),
            ("`` is empty, ```x```", "`` is empty, ``<code>x</code>``"),
            ("not `over\nlines`", "not `over\nlines`"),
            ("`\u{202e}` <i>", "<code>&lt;U+202E&gt;</code> &lt;i&gt;"),
            ("`", "`"),
            ("", ""),
        ] {
            assert_eq!(prose(text).into_string(), expected, "{text:?}");
        }
        let marks = Marks { key: Some("k1") };
        assert_eq!(
            marks.prose("is `[redacted:PIN:k1]`").into_string(),
            "is <code><mark class=\"redacted\">redacted: PIN</mark></code>"
        );
    }

    #[test]
    fn code_that_is_cut_ends_where_it_is_cut() {
        assert_eq!(short_prose("`a_long_name` (gate)", 8).into_string(), "<code>a_long_…</code>");
        assert_eq!(short_prose("`name` (gate)", 9).into_string(), "<code>name</code> (g…");
        assert_eq!(short_prose("one ` alone and more", 10).into_string(), "one ` alon…");
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(beginning("äbc", 1), ("", 4));
        assert_eq!(beginning("äbc", 2), ("ä", 2));
        assert_eq!(ending("abä", 1), "");
        assert_eq!(ending("abä", 3), "bä");
    }
}
