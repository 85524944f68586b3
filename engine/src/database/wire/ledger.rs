//! Ledger of writes, added up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of pairs of table and operation that are counted apart.
const MOST_PAIRS: usize = 1000;
/// Name that stands for the rest.
const MORE: &str = "(more)";
/// Number of problems that are kept.
const MOST_PROBLEMS: usize = 20;
/// Names a table that the text did not tell.
pub(crate) const UNKNOWN: &str = "(unknown)";

/// Rows by table and operation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Writes(BTreeMap<(String, &'static str), u64>);

impl Writes {
    /// Adds rows.
    pub(crate) fn add(&mut self, table: String, operation: &'static str, rows: u64) {
        let pair = (table, operation);
        let is_full = self.0.len() >= MOST_PAIRS && !self.0.contains_key(&pair);
        let pair = if is_full { (MORE.to_owned(), "changed") } else { pair };
        let sum = self.0.entry(pair).or_default();
        *sum = sum.saturating_add(rows);
    }

    /// Adds everything of another.
    pub(crate) fn extend(&mut self, other: Self) {
        for ((table, operation), rows) in other.0 {
            self.add(table, operation, rows);
        }
    }

    /// Returns true if nothing was written.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over tables, each with its operation and the number of rows.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'static str, u64)> {
        self.0.iter().map(|((table, operation), rows)| (table.as_str(), *operation, *rows))
    }
}

/// Ledger of the writes on one service's connections, while it is recorded.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    page: Mutex<Page>,
    /// The names of tables before the agent, in small letters: with what they are in, and without.
    tables: Mutex<BTreeSet<String>>,
}

#[derive(Debug, Default)]
struct Page {
    writes: Writes,
    problems: Vec<String>,
    sealed: bool,
}

impl Ledger {
    fn page(&self) -> MutexGuard<'_, Page> {
        self.page.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the tables that are there before the agent, as `schema.table`.
    pub(crate) fn know<'a>(&self, tables: impl Iterator<Item = &'a String>) {
        let mut known = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        for name in tables.map(|name| name.to_lowercase()) {
            known.extend(name.split_once('.').map(|(_, plain)| plain.to_owned()));
            known.insert(name);
        }
    }

    /// Returns true if there was a table of this name, with or without its schema or database.
    pub(crate) fn knows(&self, table: &str) -> bool {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner).contains(&table.to_lowercase())
    }

    /// Forgets what was before.
    pub(crate) fn begin(&self) {
        *self.page() = Page::default();
    }

    /// Takes nothing more.
    pub(crate) fn seal(&self) {
        self.page().sealed = true;
    }

    /// Adds what is certain by now.
    pub(crate) fn add(&self, writes: Writes) {
        let mut page = self.page();
        if !page.sealed {
            page.writes.extend(writes);
        }
    }

    /// Notes something that could not be followed.
    pub(crate) fn note(&self, problem: String) {
        let mut page = self.page();
        if !page.sealed && page.problems.len() < MOST_PROBLEMS && !page.problems.contains(&problem) {
            page.problems.push(problem);
        }
    }

    /// Returns the writes.
    pub(crate) fn writes(&self) -> Writes {
        self.page().writes.clone()
    }

    /// Returns the descriptions of conversations that could not be followed.
    pub(crate) fn problems(&self) -> Vec<String> {
        self.page().problems.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::{Ledger, Writes};

    #[test]
    fn pairs_are_added_up_and_bounded() {
        let mut writes = Writes::default();
        for number in 0..3000 {
            writes.add(format!("t{}", number % 1500), "insert", 1);
        }
        assert_eq!(writes.iter().count(), 1001);
        let more: Vec<_> = writes.iter().filter(|(table, ..)| *table == "(more)").collect();
        assert_eq!(more, [("(more)", "changed", 1000)]);
    }

    #[test]
    fn only_what_comes_between_begin_and_seal_counts() {
        let ledger = Ledger::default();
        let one = || {
            let mut writes = Writes::default();
            writes.add("a".to_owned(), "insert", 1);
            writes
        };
        ledger.add(one());
        ledger.begin();
        ledger.add(one());
        ledger.seal();
        ledger.add(one());
        ledger.note("x".to_owned());
        assert_eq!(ledger.writes(), one());
        assert!(ledger.problems().is_empty());
    }
}
