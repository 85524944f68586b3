//! Rows of a CSV text as maps, each cell with its place.

use super::labels::{finding, scalar};
use crate::spec::diagnostic::Diagnostic;
use crate::spec::yaml::{Entry, Kind, Node, Span};

/// A cell, and where it stands.
struct Cell {
    text: String,
    span: Span,
}

/// Reads rows by the names in the first one. Empty cells are keys that are not there.
pub(super) fn rows(text: &str, findings: &mut Vec<Diagnostic>) -> Vec<Node> {
    let mut records = records(text.strip_prefix('\u{feff}').unwrap_or(text), findings).into_iter();
    let Some(names) = records.next() else { return Vec::new() };
    let mut rows = Vec::new();
    for record in records {
        let span = record.first().map_or_else(Span::default, |cell| cell.span);
        if record.len() != names.len() {
            let message = format!("expected {} cells as in the first line, found {}", names.len(), record.len());
            findings.push(Diagnostic { span, ..finding(text, &message) });
            continue;
        }
        let entry = |(name, cell): (&Cell, Cell)| Entry {
            key: name.text.trim().to_owned(),
            key_span: name.span,
            value: Node { span: cell.span, kind: scalar(&cell.text) },
        };
        let filled = names.iter().zip(record).filter(|(_, cell)| !cell.text.is_empty());
        rows.push(Node { span, kind: Kind::Map(filled.map(entry).collect()) });
    }
    rows
}

/// The records of a text: cells between commas, in double quotes where they hold a comma, a quote or a line break.
fn records(text: &str, findings: &mut Vec<Diagnostic>) -> Vec<Vec<Cell>> {
    let mut cursor = Cursor { rest: text.chars().collect(), at: 0, line: 1, column: 1 };
    let mut records = Vec::new();
    while cursor.peek().is_some() {
        let record = cursor.record(text, findings);
        let is_blank = matches!(record.as_slice(), [only] if only.text.trim().is_empty());
        if !is_blank {
            records.push(record);
        }
    }
    records
}

struct Cursor {
    rest: Vec<char>,
    at: usize,
    line: usize,
    column: usize,
}

impl Cursor {
    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        (self.line, self.column) = if next == '\n' { (self.line + 1, 1) } else { (self.line, self.column + 1) };
        Some(next)
    }

    fn record(&mut self, text: &str, findings: &mut Vec<Diagnostic>) -> Vec<Cell> {
        let mut cells = Vec::new();
        loop {
            cells.push(self.cell(text, findings));
            match self.next() {
                Some(',') => {}
                // What stands between a closing quote and the next comma.
                Some('\n') | None => return cells,
                Some(_) => {
                    findings
                        .push(Diagnostic { span: self.here(), ..finding(text, "expected a comma after the quote") });
                    while self.next().is_some_and(|next| next != '\n') {}
                    return cells;
                }
            }
        }
    }

    fn cell(&mut self, text: &str, findings: &mut Vec<Diagnostic>) -> Cell {
        let start = self.here();
        let cell = if self.peek() == Some('"') {
            self.next();
            self.quoted().unwrap_or_else(|| {
                findings.push(Diagnostic { span: start, ..finding(text, "this quote is not closed") });
                String::new()
            })
        } else {
            let mut plain = String::new();
            while self.peek().is_some_and(|next| !matches!(next, ',' | '\n')) {
                plain.extend(self.next());
            }
            plain.trim_end_matches('\r').to_owned()
        };
        Cell { text: cell, span: Span { end: self.at, ..start } }
    }

    /// The rest of a quoted cell; two quotes stand for one. `None` without an end.
    fn quoted(&mut self) -> Option<String> {
        let mut quoted = String::new();
        loop {
            match self.next()? {
                '"' if self.peek() == Some('"') => quoted.extend(self.next()),
                '"' => {
                    if self.peek() == Some('\r') {
                        self.next();
                    }
                    return Some(quoted);
                }
                other => quoted.push(other),
            }
        }
    }

    fn here(&self) -> Span {
        Span { start: self.at, end: self.at, line: self.line, column: self.column }
    }
}
