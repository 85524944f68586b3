//! The first column of all rows that one statement returns.

use std::time::Duration;

use scenario::evidence::Datum;

use super::script::{ClientInstruction, only_statement};
use super::{Cell, Client, DatabaseError, read_only, within};

/// The most rows that are read. A statement with more has no answer: rows that are left out could be otherwise.
const MOST_ROWS: usize = 1000;
/// The most bytes that a server may send in answer.
const MAX_COLUMN_BYTES: u64 = 1 << 20;

/// A statement whose first column could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ColumnError {
    /// Only one statement keeps to the transaction that was begun for it.
    #[error("exactly one statement can be asked, and there are {0}")]
    NotOneStatement(usize),
    /// The statement is meant for a client program.
    #[error(transparent)]
    ClientInstruction(#[from] ClientInstruction),
    /// The query returns too many rows.
    #[error("the statement returns more than {MOST_ROWS} rows")]
    TooManyRows,
    /// The database could not be asked, or refused.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl Client {
    /// The first column of every row that a statement returns, in their order. The statement is asked alone, in a read-only
    /// transaction that is never committed, and has no longer than `limit`.
    pub(crate) async fn first_column(&mut self, sql: &str, limit: Duration) -> Result<Vec<Datum>, ColumnError> {
        let statement = only_statement(self.database, sql)?;
        let mut column = Vec::new();
        within(limit, async {
            let mut connection = self.take().await?;
            connection.bound(MAX_COLUMN_BYTES, limit);
            for sql in read_only(self.database, limit) {
                connection.execute(&sql).await?;
            }
            let asked = connection.for_each_row(statement, |cells| {
                column.extend(cells.first().map(Cell::datum));
                column.len() <= MOST_ROWS
            });
            asked.await
        })
        .await?;
        if column.len() > MOST_ROWS {
            return Err(ColumnError::TooManyRows);
        }
        Ok(column)
    }
}
