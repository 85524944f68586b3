//! Finds the tab that YAML does not allow.

use super::node::Span;
use crate::problem::{Problem, ProblemKind};

/// The finding at the tab itself, when it is about one: the scanner often names the text before it.
pub(super) fn at_the_tab(finding: Problem, text: &str) -> Problem {
    let is_about_a_tab = finding.kind == ProblemKind::Syntax
        && (finding.message.contains("found a tab") || finding.message.contains("tabs disallowed"));
    match first_tab(text, finding.span.line).filter(|_| is_about_a_tab) {
        Some(span) => Problem { message: "a tab stands where a line is indented".to_owned(), span, ..finding },
        None => finding,
    }
}

/// The first tab before the words of a line, from this line on.
fn first_tab(text: &str, from_line: usize) -> Option<Span> {
    let mut start = 0;
    for (index, line) in text.split('\n').enumerate() {
        let indented = line.chars().take_while(|sign| *sign == ' ' || *sign == '\t');
        if let Some(column) = indented.clone().position(|sign| sign == '\t').filter(|_| index + 1 >= from_line) {
            // With the first sign of a word, so that there is something to point at.
            let end = start + indented.count() + 1;
            return Some(Span { start: start + column, end, line: index + 1, column: column + 1 });
        }
        start += line.chars().count() + 1;
    }
    None
}
