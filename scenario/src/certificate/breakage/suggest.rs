//! Invariants that would notice a breakage, as YAML.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::row_text::values;
use super::{Breakage, BrokenFile, BrokenRequest, BrokenRow, FileBreakage, RequestBreakage, RowBreakage};
use crate::evidence::{Evidence, TableChange};

/// How long a text is that a file must contain.
const MOST_TEXT: usize = 120;

impl Breakage {
    /// An invariant that would notice it, as YAML, from the evidence of a run in which nothing was broken.
    #[must_use]
    pub fn suggestion(&self, evidence: &Evidence) -> String {
        match self {
            Self::Look => String::new(),
            Self::File(broken) => of_file(broken, evidence),
            Self::Row(broken) => of_row(broken, evidence),
            Self::Request(broken) => of_request(broken, evidence),
            Self::Output => invariant("output", "The agent says what it did", &json!({"type": "output_not_empty"})),
        }
    }
}

/// An invariant as YAML. JSON is YAML, too.
fn invariant(name: &str, description: &str, check: &Json) -> String {
    let word = |character: char| if character.is_ascii_alphanumeric() { character } else { '_' };
    let name: String = name.chars().map(word).take(60).collect();
    let mut text = format!("{}:\n", name.trim_matches('_'));
    let _ = writeln!(text, "  description: {}", Json::from(description));
    let _ = write!(text, "  check: {check}");
    text
}

fn of_file(broken: &BrokenFile, evidence: &Evidence) -> String {
    let BrokenFile { path, how } = broken;
    match how {
        FileBreakage::PutBack => invariant(
            &format!("{path} gone"),
            &format!("{path} is gone"),
            &json!({"type": "file_absent", "path": path}),
        ),
        FileBreakage::Delete | FileBreakage::Empty | FileBreakage::Truncate => {
            let is_cut = *how == FileBreakage::Truncate;
            let check = match written_line(path, evidence, is_cut) {
                Some(line) => json!({"type": "file_content", "path": path, "contains": line}),
                None if is_cut => json!({"type": "command_exit", "command": format!("cmp -s {path} expected")}),
                None => json!({"type": "command_exit", "command": format!("test -s {path}")}),
            };
            invariant(&format!("{path} whole"), &format!("{path} has all that it must have"), &check)
        }
    }
}

/// A line that the solution wrote into a file: the last one where its end must be seen.
fn written_line(path: &str, evidence: &Evidence, last: bool) -> Option<String> {
    let diff = evidence.file_diffs.iter().find(|diff| diff.path == path)?;
    let added = diff.diff.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++"));
    let mut added = added.map(|line| line[1..].trim()).filter(|line| !line.is_empty());
    let line = if last { added.next_back() } else { added.next() };
    line.map(|line| line.chars().take(MOST_TEXT).collect())
}

fn of_row(broken: &BrokenRow, evidence: &Evidence) -> String {
    let BrokenRow { service, table, name, how } = broken;
    let change = evidence.databases.get(service).and_then(|changes| changes.tables.get(table));
    let change = change.cloned().unwrap_or_default();
    let sql =
        |query: String, expected: Json| json!({"type": "sql", "service": service, "query": query, "equals": expected});
    let (query, expected, description) = match how {
        RowBreakage::Alter { row, column } => {
            let value = value_of(&change, row, column);
            let query = format!("SELECT {column} FROM {table} WHERE {}", condition(&change, row));
            (query, value.map_or(Json::Null, Json::from), format!("{name}.{column} is right"))
        }
        RowBreakage::Duplicate { .. } => {
            let rows = change.rows_after.unwrap_or_default();
            (format!("SELECT count(*) FROM {table}"), rows.into(), format!("{name} is written once"))
        }
        RowBreakage::Undo { added: Some(row), .. } => {
            let query = format!("SELECT count(*) FROM {table} WHERE {}", all_values(&change, row));
            (query, 1.into(), format!("{name} is written"))
        }
        RowBreakage::Undo { added: None, removed } => {
            let row = removed.as_deref().unwrap_or_default();
            let query = format!("SELECT count(*) FROM {table} WHERE {}", condition(&change, row));
            (query, 0.into(), format!("{name} is removed"))
        }
    };
    invariant(&description, &description, &sql(query, expected))
}

fn value_of(change: &TableChange, row: &str, column: &str) -> Option<String> {
    change.columns.iter().zip(values(row)).find(|(name, _)| *name == column)?.1
}

/// A condition by which a row is found: its key, or all of it.
fn condition(change: &TableChange, row: &str) -> String {
    if change.key.is_empty() {
        all_values(change, row)
    } else {
        equals(change, row, |column| change.key.contains(column))
    }
}

fn all_values(change: &TableChange, row: &str) -> String {
    equals(change, row, |_| true)
}

fn equals(change: &TableChange, row: &str, is_wanted: impl Fn(&String) -> bool) -> String {
    let pairs = change.columns.iter().zip(values(row)).filter(|(column, _)| is_wanted(column));
    let terms = pairs.map(|(column, value)| match value {
        Some(value) => format!("{column} = '{}'", value.replace('\'', "''")),
        None => format!("{column} IS NULL"),
    });
    terms.collect::<Vec<_>>().join(" AND ")
}

fn of_request(broken: &BrokenRequest, evidence: &Evidence) -> String {
    let BrokenRequest { service, index, name, how } = broken;
    let journal = evidence.journals.get(service);
    let Some(exchange) = journal.and_then(|journal| journal.exchanges.get(*index)) else { return String::new() };
    let is_same = |other: &&crate::evidence::Exchange| other.method == exchange.method && other.path == exchange.path;
    let count = journal.map_or(0, |journal| journal.exchanges.iter().filter(is_same).count());
    let filters = json!({"method": exchange.method, "path": exchange.path});
    let assertion = match how {
        RequestBreakage::Drop | RequestBreakage::Repeat => {
            json!({"field": "request_count", "filters": filters, "equals": count})
        }
        RequestBreakage::Alter { field, .. } => {
            let body = exchange.whole_body().map(|blob| blob.text()).unwrap_or_default();
            match field {
                Some(field) => {
                    let sent: Json = serde_json::from_str(&body).unwrap_or_default();
                    json!({"field": format!("last_request.json.{field}"), "filters": filters, "equals": sent[field]})
                }
                None => json!({"field": "last_request.body", "filters": filters, "equals": body}),
            }
        }
    };
    let check = json!({"type": "http_mock_assertions", "service": service, "assertions": [assertion]});
    invariant(&format!("{service} {name}"), &format!("{name} is sent to {service} once, as it must be"), &check)
}
