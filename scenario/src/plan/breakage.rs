//! What is broken in a scenario after its agent has ended, to see if an invariant notices.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::checks::Check;
use crate::spec::Spec;

/// A way to break a right answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Breakage {
    /// Nothing is broken: everything is looked at that could be.
    Look,
    /// A file of the workspace.
    File(BrokenFile),
    /// A row of a database.
    Row(BrokenRow),
    /// A request to a mock.
    Request(BrokenRequest),
    /// The output: nothing is printed.
    Output,
}

/// A file that is broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenFile {
    /// Its path in the workspace.
    pub path: String,
    /// The way.
    pub how: FileBreakage,
}

/// A way to break a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileBreakage {
    /// It is removed.
    Delete,
    /// It has nothing in it.
    Empty,
    /// Its second half is missing, and more than the end of its last line.
    Truncate,
    /// It was removed, and is there again.
    PutBack,
}

/// A row that is broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenRow {
    /// The service.
    pub service: String,
    /// The table, with its schema or database.
    pub table: String,
    /// The row for people, by its key.
    pub name: String,
    /// The way.
    pub how: RowBreakage,
}

/// A way to break a row. Rows are written as the database writes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowBreakage {
    /// It is as if nobody had written: what was added is gone, and what was removed is back.
    Undo {
        /// The row that was added.
        added: Option<String>,
        /// The row that was removed.
        removed: Option<String>,
    },
    /// It is there twice, with another key where it has one.
    Duplicate {
        /// The row.
        row: String,
    },
    /// A column has another value.
    Alter {
        /// The row.
        row: String,
        /// The column.
        column: String,
    },
}

/// A request that is broken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BrokenRequest {
    /// The service.
    pub service: String,
    /// The request's place in the journal.
    pub index: usize,
    /// The request for people.
    pub name: String,
    /// The way.
    pub how: RequestBreakage,
}

/// A way to break a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestBreakage {
    /// It was not sent.
    Drop,
    /// It was sent twice.
    Repeat,
    /// It has another body.
    Alter {
        /// The field of a JSON body that is different; `None` for all of it.
        field: Option<String>,
        /// The body.
        body: Json,
    },
}

impl Breakage {
    /// True for one that changes records alone, and nothing that is in the sandbox.
    #[must_use]
    pub const fn is_of_records(&self) -> bool {
        matches!(self, Self::Request(_) | Self::Output)
    }

    /// True for one that can be judged from the evidence of another run: it changes records alone, and no check of the spec gets them
    /// in a sandbox or asks somebody about them.
    #[must_use]
    pub fn is_judged_purely(&self, spec: &Spec) -> bool {
        let asks = |check: &Check| {
            matches!(
                check,
                Check::Custom(_) | Check::LlmAsJudge(_) | Check::Similarity(_) | Check::BehaviorUnchanged(_)
            )
        };
        self.is_of_records() && !spec.checks().any(|(_, check)| asks(check))
    }
}

/// What happens, as a clause: "report.md is deleted".
impl fmt::Display for Breakage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Look => formatter.write_str("nothing is broken"),
            Self::File(BrokenFile { path, how }) => {
                let what = match how {
                    FileBreakage::Delete => "is deleted",
                    FileBreakage::Empty => "is empty",
                    FileBreakage::Truncate => "is cut in half",
                    FileBreakage::PutBack => "is still there",
                };
                write!(formatter, "{path} {what}")
            }
            Self::Row(BrokenRow { name, how, .. }) => match how {
                RowBreakage::Undo { removed: None, .. } => write!(formatter, "row {name} is not written"),
                RowBreakage::Undo { added: None, .. } => write!(formatter, "row {name} is not removed"),
                RowBreakage::Undo { .. } => write!(formatter, "row {name} is not changed"),
                RowBreakage::Duplicate { .. } => write!(formatter, "row {name} is written twice"),
                RowBreakage::Alter { column, .. } => write!(formatter, "row {name}.{column} changes"),
            },
            Self::Request(BrokenRequest { service, name, how, .. }) => match how {
                RequestBreakage::Drop => write!(formatter, "{name} to {service} is not sent"),
                RequestBreakage::Repeat => write!(formatter, "{name} to {service} is sent twice"),
                RequestBreakage::Alter { field: Some(field), .. } => {
                    write!(formatter, "{name} to {service} is sent with another `{field}`")
                }
                RequestBreakage::Alter { field: None, .. } => {
                    write!(formatter, "{name} to {service} is sent with another body")
                }
            },
            Self::Output => formatter.write_str("nothing is printed"),
        }
    }
}
