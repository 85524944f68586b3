//! The text of a spec with numbered lines and colours. It knows just enough of YAML for eyes; what a spec means is read
//! elsewhere.

use std::collections::BTreeMap;

use maud::{Markup, html};
use scenario::untrusted;

use super::untrusted_html::short_prose;
use crate::error::Finding;

/// The text, each line with an address of its own (`#L12`), and beneath a line what was found there.
pub(super) fn source(text: &str, findings: &[Finding]) -> Markup {
    let mut by_line: BTreeMap<usize, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        by_line.entry(finding.line.max(1)).or_default().push(finding);
    }
    html! {
        div.source tabindex="0" role="region" aria-label="Source" {
            @for (number, (line, is_text)) in (1..).zip(with_texts(text)) {
                @let found = by_line.get(&number).map_or(&[][..], Vec::as_slice);
                div.line.found[!found.is_empty()] id={ "L" (number) } {
                    a.number href={ "#L" (number) } aria-label={ "Line " (number) } { (number) }
                    code { @if is_text { (untrusted::visible(line)) } @else { (coloured(line)) } }
                }
                @for finding in found {
                    p.finding {
                        strong { (finding.severity) } " " (short_prose(&finding.message, 300))
                        @if let Some(help) = &finding.help { " — " (short_prose(help, 300)) }
                    }
                }
            }
        }
    }
}

/// The lines, each with whether it is one of a text that a `|` or a `>` began: such a text has no keys, however it
/// looks.
fn with_texts(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut begun: Option<usize> = None;
    text.lines().map(move |line| {
        let indent = line.len() - line.trim_start_matches(' ').len();
        if begun.is_some_and(|least| line.trim().is_empty() || indent > least) {
            return (line, true);
        }
        begun = begins_text(line);
        (line, false)
    })
}

/// Returns the indent of a block text that begins after this line: its lines are indented further than the key that it
/// belongs to, or the dash.
fn begins_text(line: &str) -> Option<usize> {
    let lead = line.len() - line.trim_start_matches([' ', '-']).len();
    let (lead, rest) = line.split_at(lead);
    let content = rest[..comment_at(rest).unwrap_or(rest.len())].trim_end();
    let sign = content.rsplit(' ').next()?;
    let is_sign =
        sign.starts_with(['|', '>']) && sign[1..].chars().all(|one| one.is_ascii_digit() || "+-".contains(one));
    let before = content[..content.len() - sign.len()].trim_end();
    match before.strip_suffix(':') {
        _ if !is_sign => None,
        Some(_) => Some(lead.len()),
        None if before.is_empty() => lead.rfind('-'),
        None => None,
    }
}

/// A part of a line: how it looks, and its text.
type Part<'a> = (Option<&'static str>, &'a str);

fn coloured(line: &str) -> Markup {
    html! {
        @for (class, text) in parts(line) {
            @match class {
                Some(class) => span class=(class) { (untrusted::visible(text)) },
                None => { (untrusted::visible(text)) }
            }
        }
    }
}

fn parts(line: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let indent = line.len() - line.trim_start_matches([' ', '-']).len();
    let (lead, rest) = line.split_at(indent);
    parts.push((None, lead));
    let (content, comment) = rest.split_at(comment_at(rest).unwrap_or(rest.len()));
    match key_of(content) {
        Some(end) => {
            parts.push((Some("key"), &content[..end]));
            scalars(&content[end..], &mut parts);
        }
        None => scalars(content, &mut parts),
    }
    parts.push((Some("comment"), comment));
    parts.retain(|(_, text)| !text.is_empty());
    parts
}

/// Where a comment begins: at a `#` that stands alone and in no quotes.
fn comment_at(text: &str) -> Option<usize> {
    let (mut quote, mut before) = (None, ' ');
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if " :[{,".contains(before) => quote = Some(character),
            (None, '#') if before.is_whitespace() => return Some(at),
            _ => {}
        }
        before = character;
    }
    None
}

/// Where the key of a line ends: before its first `:` that has a space or nothing after it.
fn key_of(text: &str) -> Option<usize> {
    let end = text.find(": ").or_else(|| text.strip_suffix(':').map(str::len))?;
    let is_key = |character: char| character.is_alphanumeric() || "_-./\"' ".contains(character);
    (end > 0 && text[..end].chars().all(is_key)).then_some(end)
}

/// Words of a value: quoted texts, templates, numbers and keywords have looks of their own.
fn scalars<'a>(text: &'a str, parts: &mut Vec<Part<'a>>) {
    let mut rest = text;
    while !rest.is_empty() {
        let (class, end) = next_scalar(rest);
        parts.push((class, &rest[..end]));
        rest = &rest[end..];
    }
}

fn next_scalar(text: &str) -> (Option<&'static str>, usize) {
    if let Some(after) = text.strip_prefix("{{") {
        return (Some("template"), after.find("}}").map_or(text.len(), |end| end + 4));
    }
    let first = text.chars().next().unwrap_or_default();
    if matches!(first, '"' | '\'') {
        let end = text[1..].find(first).map_or(text.len(), |end| end + 2);
        return (Some("string"), end);
    }
    let is_word = |character: char| character.is_alphanumeric() || "_.+-".contains(character);
    if !is_word(first) {
        let end = text.find(|character: char| is_word(character) || matches!(character, '"' | '\''));
        let template = text.find("{{").filter(|at| *at > 0);
        return (None, end.into_iter().chain(template).min().unwrap_or(text.len()).max(first.len_utf8()));
    }
    let end = text.find(|character: char| !is_word(character)).unwrap_or(text.len());
    let word = &text[..end];
    let class = match word {
        "true" | "false" | "null" | "yes" | "no" => Some("keyword"),
        _ if first.is_ascii_digit() && word.parse::<f64>().is_ok() => Some("digits"),
        _ => None,
    };
    (class, end)
}

#[cfg(test)]
mod tests {
    use super::{parts, source, with_texts};

    #[test]
    fn every_character_of_a_line_stays() {
        for line in [
            "",
            "a: 1 # one",
            "- name: \"x: # y\"",
            "  - {type: file_exists, path: 'out #1.txt'}",
            "prompt: say {{ params.word }} and {{ broken",
            "äöü: ☃ \"unterminated",
            "\u{202e}: {\"a\": [1, 2.5, true, ~]}",
            "don't: it's",
        ] {
            let together: String = parts(line).into_iter().map(|(_, text)| text).collect();
            assert_eq!(together, line);
        }
    }

    #[test]
    fn keys_values_and_comments_look_different() {
        assert_eq!(
            parts("a: 1 # one"),
            [(Some("key"), "a"), (None, ": "), (Some("digits"), "1"), (None, " "), (Some("comment"), "# one")]
        );
    }

    #[test]
    fn a_text_that_a_sign_began_has_no_colours() {
        let spec = "\
task:
  prompt: | # said to the agent
    key: 1 # no comment

   - still: true
  after: 2
steps:
  - |-
    a: 1
  - run: >2
     b: 2
  - c: 3
    d: x | y
    e: 4";
        let texts: Vec<_> = with_texts(spec).filter(|(_, is_text)| *is_text).map(|(line, _)| line.trim()).collect();
        assert_eq!(texts, ["key: 1 # no comment", "", "- still: true", "a: 1", "b: 2"]);
        let shown = source(spec, &[]).into_string();
        assert!(shown.contains("<code>    key: 1 # no comment</code>"), "{shown}");
        assert!(shown.contains("<span class=\"key\">after</span>"), "{shown}");
    }

    #[test]
    fn a_spec_cannot_write_markup() {
        assert!(!source("a: <script>\n<b>: </div>", &[]).into_string().contains("<script>"));
    }
}
