//! Rows that the agent wrote more than once.

use std::collections::{BTreeMap, HashSet};

use crate::evidence::{Duplicate, Evidence, TableChange};

/// Finds rows that were written to a table more than once, in each database whose writes are recorded.
///
/// Databases number rows themselves, so that the second one of a retry has another first column: of rows that are new, a whole
/// number there does not count. A row that replaced one with the same number was changed, and is compared as it is.
pub(super) fn written_twice(evidence: &Evidence) -> Vec<Duplicate> {
    let tables = evidence.databases.iter().flat_map(|(service, changes)| {
        changes.tables.iter().map(move |(table, change)| (format!("{service}:row of {table}"), change))
    });
    let found = tables.flat_map(|(target, change)| {
        counts(change).into_iter().map(move |count| Duplicate { target: target.clone(), count })
    });
    found.collect()
}

/// Counts the writes of each row that was written more than once.
fn counts(change: &TableChange) -> Vec<u64> {
    let replaced: HashSet<_> =
        change.removed.iter().filter_map(|row| numbered(row)).map(|(number, _)| number).collect();
    let mut counts: BTreeMap<(bool, &str), u64> = BTreeMap::new();
    for row in &change.added {
        let values = match numbered(row) {
            Some((number, values)) if !replaced.contains(number) => (true, values),
            _ => (false, row.as_str()),
        };
        *counts.entry(values).or_default() += 1;
    }
    counts.into_values().filter(|count| *count > 1).collect()
}

/// The whole number in the first column of a row, and the other columns. Postgres writes a row as `(7,ada)`, MySQL as `'7', 'ada'`.
fn numbered(row: &str) -> Option<(&str, &str)> {
    let (first, values) = row.split_once(',')?;
    let number = first.trim_start_matches('(').trim_matches('\'');
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some((number, values))
}

#[cfg(test)]
mod tests {
    use super::written_twice;
    use crate::evidence::{DatabaseChanges, Evidence, TableChange};

    /// Returns the rows that are found to be duplicates after rows were added to and removed from a table.
    fn found(added: &[&str], removed: &[&str]) -> Vec<(String, u64)> {
        let rows = |rows: &[&str]| rows.iter().map(|row| (*row).to_owned()).collect();
        let change = TableChange { added: rows(added), removed: rows(removed), ..TableChange::default() };
        let changes =
            DatabaseChanges { tables: [("public.payments".to_owned(), change)].into(), ..DatabaseChanges::default() };
        let evidence = Evidence { databases: [("db".to_owned(), changes)].into(), ..Evidence::default() };
        written_twice(&evidence).into_iter().map(|one| (one.target, one.count)).collect()
    }

    #[test]
    fn rows_with_the_same_values_are_found_also_under_another_number() {
        let twice = [("db:row of public.payments".to_owned(), 2)];
        assert_eq!(found(&["(a,5)", "(a,5)", "(b,5)"], &[]), twice);
        assert_eq!(found(&["(7,a,5)", "(8,a,5)", "(9,b,5)"], &[]), twice);
        assert_eq!(found(&["'7', 'a'", "'8', 'a'"], &[]), twice);
    }

    #[test]
    fn rows_that_differ_or_were_changed_are_none() {
        assert_eq!(found(&["(7,a)", "(8,b)"], &[]), []);
        assert_eq!(found(&["(1)", "(2)"], &[]), [], "a number alone says nothing");
        assert_eq!(found(&["(1,paid)", "(2,paid)"], &["(1,open)", "(2,open)"]), [], "two rows were changed alike");
        assert_eq!(found(&["(1,paid)", "(3,paid)"], &["(1,open)"]), [], "one was changed, and one is new");
    }

    #[test]
    fn without_a_record_of_writes_nothing_is_found() {
        assert_eq!(written_twice(&Evidence::default()), []);
    }
}
