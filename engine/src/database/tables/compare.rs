//! Changes in tables between two moments.

use std::collections::BTreeMap;

use scenario::evidence::{DatabaseChanges, TableChange};

use super::{Table, Tables};

/// Number of rows of a kind that are kept of one table.
const MOST_ROWS: usize = 100;
/// Size limit of all rows that are kept together.
const MOST_BYTES: usize = 1 << 20;

/// Returns the differences in `after`.
pub(crate) fn compare(before: &Tables, after: &Tables) -> DatabaseChanges {
    let mut changes = DatabaseChanges::default();
    let mut room = MOST_BYTES;
    let names: std::collections::BTreeSet<_> = before.tables.keys().chain(after.tables.keys()).collect();
    for name in names {
        let (old, new) = (before.tables.get(name), after.tables.get(name));
        let is_same = match (old, new) {
            (Some(old), Some(new)) if old.is_estimate == new.is_estimate => old.digest == new.digest,
            // One was looked at by its statistics only, because it became too large or too much: it is not what it was.
            (Some(old), Some(new)) => old.rows == new.rows && (before.incomplete || after.incomplete),
            _ => false,
        };
        if !is_same {
            changes.tables.insert(name.clone(), change(old, new, &mut room));
        }
    }
    if before.incomplete || after.incomplete {
        changes.problem = Some("there are more tables, or larger ones, than can be looked at".to_owned());
    }
    changes
}

fn change(old: Option<&Table>, new: Option<&Table>, room: &mut usize) -> TableChange {
    let rows = |table: Option<&Table>| table.map(|table| table.rows);
    let mut change = TableChange { rows_before: rows(old), rows_after: rows(new), ..TableChange::default() };
    let nothing = Vec::new();
    let content = |table: Option<&Table>| match table {
        None => Some(Vec::new()),
        Some(table) => table.content.clone(),
    };
    let (Some(before), Some(after)) = (content(old), content(new)) else {
        change.incomplete = true;
        return change;
    };
    change.added = difference(&after, if old.is_some() { &before } else { &nothing });
    change.removed = difference(&before, &after);
    for rows in [&mut change.added, &mut change.removed] {
        let count = rows.len();
        let mut kept = 0;
        rows.truncate(MOST_ROWS);
        rows.retain(|row| {
            let fits = row.len() <= *room;
            *room -= if fits { row.len() } else { 0 };
            kept += usize::from(fits);
            fits
        });
        change.incomplete |= kept < count;
    }
    change
}

/// The rows of `one` that are not in `other`, each as often as it is more there.
fn difference(one: &[String], other: &[String]) -> Vec<String> {
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for row in other {
        *left.entry(row.as_str()).or_default() += 1;
    }
    let mut is_more = |row: &&String| match left.get_mut(row.as_str()) {
        Some(count @ 1..) => {
            *count -= 1;
            false
        }
        _ => true,
    };
    one.iter().filter(|row| is_more(row)).cloned().collect()
}

/// Returns the number of rows that differ, as far as that is known; at least one.
pub(crate) fn differing_rows(change: &TableChange) -> u64 {
    let (before, after) = (change.rows_before.unwrap_or(0), change.rows_after.unwrap_or(0));
    let seen = change.added.len().max(change.removed.len()) as u64;
    seen.max(before.abs_diff(after)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[&str]) -> Table {
        let content: Vec<_> = rows.iter().map(|row| (*row).to_owned()).collect();
        Table { rows: rows.len() as u64, digest: content.join("|"), content: Some(content), is_estimate: false }
    }

    fn tables(list: &[(&str, Table)]) -> Tables {
        let tables = list.iter().map(|(name, table)| ((*name).to_owned(), table.clone())).collect();
        Tables { tables, ..Tables::default() }
    }

    #[test]
    fn rows_that_came_and_went_are_told() {
        let before = tables(&[("a", table(&["1", "2", "2"])), ("same", table(&["1"])), ("gone", table(&["x"]))]);
        let after = tables(&[("a", table(&["2", "3"])), ("same", table(&["1"])), ("new", table(&[]))]);
        let changes = compare(&before, &after);
        assert_eq!(changes.tables.keys().collect::<Vec<_>>(), ["a", "gone", "new"]);
        let a = &changes.tables["a"];
        assert_eq!((a.added.clone(), a.removed.clone()), (vec!["3".to_owned()], vec!["1".to_owned(), "2".to_owned()]));
        assert_eq!((differing_rows(a), a.rows_before, a.rows_after, a.incomplete), (2, Some(3), Some(2), false));
        assert_eq!((changes.tables["gone"].rows_after, changes.tables["new"].rows_before), (None, None));
    }

    #[test]
    fn a_large_table_is_compared_by_its_digest() {
        let large = |rows, digest: &str| Table { rows, digest: digest.to_owned(), content: None, is_estimate: false };
        let changes = compare(&tables(&[("a", large(900, "x"))]), &tables(&[("a", large(900, "y"))]));
        assert!(changes.tables["a"].incomplete);
        assert_eq!(differing_rows(&changes.tables["a"]), 1);
        assert!(compare(&tables(&[("a", large(900, "x"))]), &tables(&[("a", large(900, "x"))])).tables.is_empty());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let many: Vec<_> = (0..150).map(|number| format!("{number:0>9000}")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        let changes = compare(&tables(&[("a", table(&[]))]), &tables(&[("a", table(&many))]));
        let change = &changes.tables["a"];
        assert!(change.incomplete && change.added.len() == 100);
        assert_eq!(differing_rows(change), 150);
    }
}
