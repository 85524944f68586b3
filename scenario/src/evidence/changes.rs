//! Changes that the agent made in databases and in the text of files, as far as they are small enough to keep.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Changes in the tables of one database service.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DatabaseChanges {
    /// Each table that changed, by its name with its schema.
    pub tables: BTreeMap<String, TableChange>,
    /// The reason why the tables could not be compared; `None` when they could.
    pub problem: Option<String>,
}

/// Changes in one table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TableChange {
    /// Number of rows before; `None` when the table did not exist.
    pub rows_before: Option<u64>,
    /// Number of rows now; `None` when the table is gone.
    pub rows_after: Option<u64>,
    /// Rows that were added, as the database writes them, up to the number that is kept.
    pub added: Vec<String>,
    /// Rows that were there before and are not now.
    pub removed: Vec<String>,
    /// True when the table is too large to compare row by row, or there are more rows than are kept.
    pub incomplete: bool,
    /// The names of its columns, in order, where that was looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// The columns of its key, where that was looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub key: Vec<String>,
}

/// Change of the text of a file of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FileDiff {
    /// The path, relative to the workspace.
    pub path: String,
    /// The lines that changed, in the form of `diff -u`.
    pub diff: String,
    /// True when the difference is longer than what is kept.
    pub incomplete: bool,
}
