//! Objects between a query and the tables: views, rules, functions, settings.

use std::collections::{BTreeMap, BTreeSet};

use super::Tables;

/// Number of changes of objects that are reported.
const MOST_CHANGES: usize = 500;

/// Kinds that can stand in the place of a table.
const STAND_INS: [&str; 3] = ["foreign table", "materialized view", "view"];
/// Kinds that are a part of their table: what is known to have been done to it covers them.
const PARTS: [&str; 2] = ["definition", "inheritance"];

/// A view, a trigger, a function, a setting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Object {
    /// Its kind, such as `view`.
    pub(super) kind: String,
    /// Its name, with its schema or database; that of its table, when it belongs to one.
    pub(super) name: String,
    /// A text that differs when it was changed.
    pub(super) state: String,
}

/// Change of the objects of one kind and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectChange {
    /// The table or object that was changed.
    pub(crate) name: String,
    /// The operation, such as `create view`.
    pub(crate) operation: String,
    /// True when the change of its table covers it already.
    pub(crate) is_part: bool,
}

impl Object {
    /// Reads a kind, a name and whatever else tells one state from another.
    pub(super) fn of(row: Vec<Option<String>>) -> Option<Self> {
        let mut cells = row.into_iter();
        let (kind, name) = (cells.next()??, cells.next()??);
        Some(Self { kind, name, state: cells.flatten().collect::<Vec<_>>().join(" ") })
    }
}

/// Returns the changes of objects in `after`, and whether they are all.
pub(crate) fn object_changes(before: &Tables, after: &Tables) -> (Vec<ObjectChange>, bool) {
    let (old, new) = (states(&before.objects), states(&after.objects));
    let both: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let mut changes = Vec::new();
    for key @ (kind, name) in both {
        let verb = match (old.get(key), new.get(key)) {
            (old, new) if old == new => continue,
            (None, _) => "create",
            (_, None) => "drop",
            _ => "change",
        };
        let (name, is_part) = ((*name).to_owned(), PARTS.contains(kind));
        changes.push(ObjectChange { name, operation: format!("{verb} {kind}"), is_part });
    }
    let is_all = changes.len() <= MOST_CHANGES;
    changes.truncate(MOST_CHANGES);
    (changes, is_all)
}

fn states(objects: &BTreeSet<Object>) -> BTreeMap<(&str, &str), Vec<&str>> {
    let mut states: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for Object { kind, name, state } in objects {
        states.entry((kind.as_str(), name.as_str())).or_default().push(state.as_str());
    }
    states
}

/// The tables in whose place there is something else now, each with what that is.
pub(crate) fn replaced(before: &Tables, after: &Tables) -> Vec<(String, String)> {
    let is_new = |object: &&Object| {
        let was_there = |old: &Object| old.kind == object.kind && old.name == object.name;
        STAND_INS.contains(&object.kind.as_str()) && !before.objects.iter().any(was_there)
    };
    let stand_ins = after.objects.iter().filter(is_new);
    let replaced = stand_ins.filter(|object| before.tables.contains_key(&object.name));
    replaced.map(|object| (object.name.clone(), object.kind.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::tables::Table;

    fn tables(tables: &[&str], objects: &[[&str; 3]]) -> Tables {
        let object =
            |cells: &[&str; 3]| Object::of(cells.iter().map(|cell| Some((*cell).to_owned())).collect()).unwrap();
        Tables {
            tables: tables.iter().map(|name| ((*name).to_owned(), Table::default())).collect(),
            objects: objects.iter().map(object).collect(),
            ..Tables::default()
        }
    }

    #[test]
    fn what_was_made_changed_and_dropped_is_told_once_for_each_name() {
        let before =
            tables(&[], &[["view", "a", "1"], ["function", "f", "1"], ["function", "f", "2"], ["rule", "t", "1"]]);
        let after =
            tables(&[], &[["view", "a", "1"], ["function", "f", "1"], ["definition", "t", "2"], ["view", "b", "1"]]);
        let (changes, is_all) = object_changes(&before, &after);
        let told: Vec<_> = changes.iter().map(|change| format!("{} {}", change.operation, change.name)).collect();
        assert_eq!(told, ["create definition t", "change function f", "drop rule t", "create view b"]);
        assert!(is_all && changes[0].is_part && !changes[1].is_part);
    }

    #[test]
    fn a_view_in_the_place_of_a_table_is_told_and_one_that_was_there_is_not() {
        let before = tables(&["public.orders"], &[["view", "public.open", "1"]]);
        let after = tables(&[], &[["view", "public.open", "2"], ["view", "public.orders", "1"]]);
        assert_eq!(replaced(&before, &after), [("public.orders".to_owned(), "view".to_owned())]);
    }
}
