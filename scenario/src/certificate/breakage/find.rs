//! The breakages of a right answer, from what a run of the solution changed.

use std::collections::BTreeSet;

use super::records::other_bodies;
use super::row_text::values;
use super::{Breakage, BrokenFile, BrokenRequest, BrokenRow, FileBreakage, RequestBreakage, RowBreakage};
use crate::evidence::{Evidence, TableChange};
use crate::plan::{Chance, Seed};
use crate::spec::Spec;

/// How many fields of a request are changed, each by itself.
const MOST_FIELDS: usize = 12;
/// How long a value in the name of a row may be.
const MOST_KEY: usize = 40;
/// Parts of paths that are nobody's work.
const PASSED_OVER: [&str; 4] = [".keystone", ".git", "__pycache__", ".pytest_cache"];
/// Methods that change nothing.
const READING: [&str; 4] = ["GET", "HEAD", "OPTIONS", "TRACE"];

/// Every way to break what a run changed.
#[must_use]
pub fn breakages(spec: &Spec, evidence: &Evidence) -> Vec<Breakage> {
    let databases = evidence.databases.iter();
    let rows = databases.flat_map(|(service, changes)| {
        changes.tables.iter().flat_map(move |(table, change)| of_table(service, table, change))
    });
    let mut found: Vec<_> = of_files(evidence).chain(rows.map(Breakage::Row)).chain(of_requests(evidence)).collect();
    let says = !evidence.agent.stdout.text().trim().is_empty();
    let is_read = spec.checks().any(|(_, check)| check.is_about_invocation());
    if says && (is_read || found.is_empty()) {
        found.push(Breakage::Output);
    }
    found
}

/// Some of them, chosen by a seed and in their order.
#[must_use]
pub fn chosen(all: Vec<Breakage>, at_most: usize, seed: Seed) -> Vec<Breakage> {
    let mut places: Vec<usize> = (0..all.len()).collect();
    let mut chance = Chance::new(seed.derive(&["breakages"]));
    let mut chosen = BTreeSet::new();
    while chosen.len() < at_most && !places.is_empty() {
        chosen.insert(places.swap_remove(chance.below(places.len())));
    }
    all.into_iter().enumerate().filter(|(place, _)| chosen.contains(place)).map(|(_, breakage)| breakage).collect()
}

fn of_files(evidence: &Evidence) -> impl Iterator<Item = Breakage> {
    use FileBreakage::{Delete, Empty, PutBack, Truncate};
    let workspace = &evidence.workspace;
    let written = files(workspace.added.iter().chain(&workspace.modified));
    let removed = files(workspace.removed.iter());
    let broken = |path: &str, how| Breakage::File(BrokenFile { path: path.to_owned(), how });
    let written: Vec<_> =
        written.into_iter().flat_map(|path| [Delete, Empty, Truncate].map(|how| broken(path, how))).collect();
    let removed: Vec<_> = removed.into_iter().map(|path| broken(path, PutBack)).collect();
    written.into_iter().chain(removed)
}

/// Those that are files and somebody's work: a folder is where something else is in it.
fn files<'a>(paths: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let is_work = |path: &&str| !path.split('/').any(|step| PASSED_OVER.contains(&step));
    let all: BTreeSet<&str> = paths.map(String::as_str).filter(is_work).collect();
    let is_folder = |path: &str| {
        path.ends_with('/')
            || all.iter().any(|other| other.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
    };
    all.iter().copied().filter(|path| !is_folder(path)).collect()
}

/// A row that was written: added, removed, or both.
struct WrittenRow<'a> {
    added: Option<&'a String>,
    removed: Option<&'a String>,
}

fn of_table(service: &str, table: &str, change: &TableChange) -> Vec<BrokenRow> {
    let mut broken = Vec::new();
    for WrittenRow { added, removed } in written(change) {
        let name = name(table, change, added.or(removed).map_or("", String::as_str));
        let mut push = |how| {
            let (service, table, name) = (service.to_owned(), table.to_owned(), name.clone());
            broken.push(BrokenRow { service, table, name, how });
        };
        push(RowBreakage::Undo { added: added.cloned(), removed: removed.cloned() });
        let Some(row) = added else { continue };
        push(RowBreakage::Duplicate { row: row.clone() });
        for column in change.columns.iter().filter(|column| !change.key.contains(column)) {
            push(RowBreakage::Alter { row: row.clone(), column: column.clone() });
        }
    }
    broken
}

/// The rows that were written: an added one with the key of a removed one is the same row.
fn written(change: &TableChange) -> Vec<WrittenRow<'_>> {
    let mut removed: Vec<&String> = change.removed.iter().collect();
    let mut rows: Vec<_> = change
        .added
        .iter()
        .map(|added| {
            let own = key(change, added);
            let before = removed.iter().position(|row| !own.is_empty() && key(change, row) == own);
            WrittenRow { added: Some(added), removed: before.map(|place| removed.remove(place)) }
        })
        .collect();
    rows.extend(removed.into_iter().map(|row| WrittenRow { added: None, removed: Some(row) }));
    rows
}

/// The values of a row's key; none where the table has no key.
fn key(change: &TableChange, row: &str) -> Vec<String> {
    let values = values(row);
    let of_key = change.columns.iter().zip(values).filter(|(column, _)| change.key.contains(column));
    of_key.map(|(_, value)| value.unwrap_or_default()).collect()
}

/// The name of a row: its table without the usual schema, and its key or its first value.
fn name(table: &str, change: &TableChange, row: &str) -> String {
    let table = table.rsplit('.').next().unwrap_or(table);
    let key = key(change, row);
    let words = if key.is_empty() { values(row).into_iter().take(1).flatten().collect() } else { key };
    let words: Vec<String> = words.iter().map(|word| word.chars().take(MOST_KEY).collect()).collect();
    format!("{table}/{}", words.join(","))
}

fn of_requests(evidence: &Evidence) -> impl Iterator<Item = Breakage> {
    evidence.journals.iter().flat_map(|(service, journal)| {
        let changing = journal.exchanges.iter().enumerate();
        let changing = changing.filter(|(_, one)| one.has_reached() && !READING.contains(&one.method.as_str()));
        changing.flat_map(move |(index, exchange)| {
            let name = format!("{} {}", exchange.method, exchange.path);
            let alter = |(field, body)| RequestBreakage::Alter { field, body };
            let hows = [RequestBreakage::Drop, RequestBreakage::Repeat].into_iter();
            let hows = hows.chain(other_bodies(exchange, MOST_FIELDS).into_iter().map(alter));
            let request = move |how| BrokenRequest { service: service.clone(), index, name: name.clone(), how };
            hows.map(move |how| Breakage::Request(request(how))).collect::<Vec<_>>()
        })
    })
}
