//! What the agent changed in databases and in the text of files, as far as it is small enough to keep.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What changed in the tables of one database service.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DatabaseChanges {
    /// Each table that changed, by its name with its schema.
    pub tables: BTreeMap<String, TableChange>,
    /// Why the tables could not be compared, when they could not.
    pub problem: Option<String>,
}

/// What changed in one table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TableChange {
    /// How many rows it had before; `None` when it was not there.
    pub rows_before: Option<u64>,
    /// How many rows it has now; `None` when it is gone.
    pub rows_after: Option<u64>,
    /// Rows that are there now and were not before, as the database writes them, up to the number that is kept.
    pub added: Vec<String>,
    /// Rows that were there before and are not now.
    pub removed: Vec<String>,
    /// Set when the table is too large to compare row by row, or there are more rows than are kept.
    pub incomplete: bool,
    /// The names of its columns, in order, where that was looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// The columns of its key, where that was looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub key: Vec<String>,
}

/// How the text of a file of the workspace changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FileDiff {
    /// The path, relative to the workspace.
    pub path: String,
    /// The lines that changed, in the form of `diff -u`.
    pub diff: String,
    /// Set when the difference is longer than what is kept.
    pub incomplete: bool,
}
