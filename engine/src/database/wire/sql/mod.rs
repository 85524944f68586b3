//! Effects of statements, as far as their text tells: the tables they write, and their effect on a transaction.

mod find;
mod lexer;
mod reads;
mod scan;
mod targets;

use std::collections::VecDeque;
use std::sync::Arc;

pub(super) use lexer::Dialect;
use scenario::spec::sections::StatementKind;

/// Number of statements of one text that are told apart.
const MOST_STATEMENTS: usize = 1000;

/// The statements of one text, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Script {
    /// The statements that are not empty. What the server answers beyond them belongs to a part that was not read.
    pub(super) statements: VecDeque<Arc<Statement>>,
}

/// Effects of one statement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Statement {
    /// The tables that it writes.
    pub(super) targets: Vec<Target>,
    /// Its effect besides writing.
    pub(super) effect: Effect,
    /// True when it may write more than its text tells.
    pub(super) unclear: bool,
    /// True when its answer may report a number of rows although it writes none: `SELECT … INTO @x`, `CALL`.
    pub(super) tells_rows: bool,
    /// True when MySQL ends a transaction before it, even when it fails.
    pub(super) commits: bool,
    /// Its kind, by its first words.
    pub(super) kind: StatementKind,
    /// The tables that it names besides those that it writes, where the dialect asks for them.
    pub(super) reads: Vec<String>,
}

impl Statement {
    /// Returns its share of the weight that one connection may hold.
    pub(super) fn weight(&self) -> usize {
        let inner = match &self.effect {
            Effect::Prepare(_, inner) => inner.targets.len(),
            _ => 0,
        };
        1 + self.targets.len() + self.reads.len() + inner
    }

    /// Its kind: what is selected from a statement that writes is a write.
    pub(super) fn kind(&self) -> StatementKind {
        let written = || self.targets.iter().find_map(|target| kind_of(target.operation));
        match self.kind {
            StatementKind::Select | StatementKind::Other => written().unwrap_or(self.kind),
            kind => kind,
        }
    }

    /// The tables that it names, with their schema where it names one.
    pub(super) fn tables(&self) -> Vec<String> {
        let written = self.targets.iter().map(|target| match &target.schema {
            Some(schema) => format!("{schema}.{}", target.table),
            None => target.table.clone(),
        });
        written.chain(self.reads.iter().cloned()).collect()
    }
}

/// The kind of statement that does this to a table.
fn kind_of(operation: &str) -> Option<StatementKind> {
    Some(match operation {
        "insert" | "replace" | "copy" | "load" => StatementKind::Insert,
        "update" | "merge" => StatementKind::Update,
        "delete" => StatementKind::Delete,
        "truncate" | "create" | "drop" | "alter" => StatementKind::Ddl,
        _ => return None,
    })
}

/// A table that a statement writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// The operation: `insert`, `update`, `delete`, `merge`, `replace`, `truncate`, `copy`, `load`, `create`, `drop` or
    /// `alter`.
    pub(super) operation: &'static str,
    /// The schema or database, where the text names one.
    pub(super) schema: Option<String>,
    /// The table; `*` for all of a schema.
    pub(super) table: String,
    /// True when the number of rows that the server reports is about this table.
    pub(super) is_main: bool,
    /// True when a temporary table is made, which no other session sees.
    pub(super) temporary: bool,
    /// True when the temporary table is gone at the end of the transaction.
    pub(super) until_commit: bool,
}

/// Effect of a statement besides writing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) enum Effect {
    /// No effect that matters here.
    #[default]
    None,
    /// A transaction begins, and MySQL ends the one before.
    Begin,
    /// A transaction is kept.
    Commit,
    /// A transaction is undone.
    Rollback,
    /// A part of a transaction is undone.
    RollbackTo,
    /// Another database becomes the default for names without one.
    Use(String),
    /// A statement gets a name.
    Prepare(String, Arc<Statement>),
    /// A statement with a name is run.
    Execute(String),
    /// A procedure is called, which may answer many times.
    Call,
    /// The statement that is explained is also executed.
    Explained,
    /// A statement with a name is explained and done.
    ExplainedExecute(String),
    /// Rows are taken from a portal.
    Fetch(String),
    /// A statement's name is forgotten.
    Deallocate(String),
    /// Prepared statements and temporary tables are forgotten.
    Discard,
    /// Prepared statements are forgotten.
    DeallocateAll,
}

impl Script {
    /// Reads a text.
    pub(super) fn read(dialect: Dialect, text: &[u8]) -> Self {
        Self { statements: scan::statements(dialect, text, MOST_STATEMENTS) }
    }
}

#[cfg(test)]
mod tests;
