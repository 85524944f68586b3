//! A database in a file.

use std::future;
use std::path::Path;
use std::time::Duration;

use sea_query::SqliteQueryBuilder;
use sea_query_sqlx::SqlxBinder;
use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{AssertSqlSafe, Connection as _, Executor, Sqlite, SqliteConnection};
use tokio::time::Instant;

use super::{Db, Row};
use crate::error::StoreError;
use crate::migrate;
use crate::retries::Retries;

/// Timeout for another process that is writing.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pause before asking again for a file that another process is making.
const PAUSE: Duration = Duration::from_millis(10);
/// The number of concurrent readers.
const READERS: u32 = 4;
/// The number of unused pages given back at once.
const PAGES: u32 = 1000;

/// Opens the database in a file, making it or bringing it up to date first.
pub(super) async fn open(path: &Path) -> Result<Db, StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Normal)
        .foreign_keys(true)
        .busy_timeout(PATIENCE);
    // Making the file, and saying how unused pages are given back, is for who writes.
    let to_write = options.clone().create_if_missing(true).auto_vacuum(SqliteAutoVacuum::Incremental);
    let unusable = |error: sqlx::Error| StoreError::Unusable { path: path.to_owned(), reason: error.to_string() };
    let writing = connect(&to_write, 1).await.map_err(unusable)?;
    migrate::sqlite(&writing, path).await?;
    let reading = connect(&options.read_only(true), READERS).await.map_err(unusable)?;
    Ok(Db::Sqlite { reading, writing })
}

/// All rows of a query.
pub(super) async fn fetch_all<'e, T: Row>(
    executor: impl Executor<'e, Database = Sqlite>,
    statement: &impl SqlxBinder,
) -> sqlx::Result<Vec<T>> {
    let (sql, values) = statement.build_sqlx(SqliteQueryBuilder);
    sqlx::query_as_with::<Sqlite, T, _>(AssertSqlSafe(sql), values).fetch_all(executor).await
}

/// The row of a query, if there is one.
pub(super) async fn fetch_optional<'e, T: Row>(
    executor: impl Executor<'e, Database = Sqlite>,
    statement: &impl SqlxBinder,
) -> sqlx::Result<Option<T>> {
    let (sql, values) = statement.build_sqlx(SqliteQueryBuilder);
    sqlx::query_as_with::<Sqlite, T, _>(AssertSqlSafe(sql), values).fetch_optional(executor).await
}

/// Changes something; how many rows.
pub(super) async fn execute<'e>(
    executor: impl Executor<'e, Database = Sqlite>,
    statement: &impl SqlxBinder,
) -> sqlx::Result<u64> {
    let (sql, values) = statement.build_sqlx(SqliteQueryBuilder);
    Ok(sqlx::query_with::<Sqlite, _>(AssertSqlSafe(sql), values).execute(executor).await?.rows_affected())
}

/// Gives room that removed rows took back to the machine, in steps between which others can write.
pub(super) async fn shrink(writing: &SqlitePool) -> sqlx::Result<()> {
    let mut unused = i64::MAX;
    loop {
        let left: i64 = sqlx::query_scalar("PRAGMA freelist_count").fetch_one(writing).await?;
        if left == 0 || left >= unused {
            break;
        }
        unused = left;
        sqlx::query(AssertSqlSafe(format!("PRAGMA incremental_vacuum({PAGES})"))).execute(writing).await?;
    }
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(writing).await?;
    Ok(())
}

/// Connects, so many times at most. When several processes open a new file at once, SQLite refuses some of them without
/// waiting: two of them would wait for each other.
async fn connect(options: &SqliteConnectOptions, most: u32) -> Result<SqlitePool, sqlx::Error> {
    let pool = SqlitePoolOptions::new().max_connections(most).acquire_timeout(PATIENCE);
    // When a disk is full, SQLite takes changes back by itself, and the driver, which then cannot, believes for ever that they
    // are still open. Such a connection is closed, and a new one is made.
    let is_usable = |connection: &mut SqliteConnection| !connection.is_in_transaction();
    let pool = pool.before_acquire(move |connection, _| Box::pin(future::ready(Ok(is_usable(connection)))));
    let pool = pool.idle_timeout(None).max_lifetime(None);
    let deadline = Instant::now() + PATIENCE;
    // That another process opens the file at the same time is worth a word only when it takes long.
    let (retries, patient) = (Retries::logged(), Instant::now() + PATIENCE / 10);
    let mut observer = retries.observe("opening the database");
    loop {
        match pool.clone().connect_with(options.clone()).await {
            Err(error) if is_busy(&error) && Instant::now() < deadline => {
                if patient < Instant::now() {
                    observer.failed(error);
                }
                tokio::time::sleep(PAUSE).await;
            }
            connected => return connected,
        }
    }
}

/// True when another connection uses the file.
fn is_busy(error: &sqlx::Error) -> bool {
    /// SQLite's code for it, in the lower byte.
    const BUSY: u32 = 5;
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<u32>().ok());
    code.is_some_and(|code| code & 0xff == BUSY)
}

/// Returns SQLite's query plan of a statement.
#[cfg(test)]
pub(crate) async fn plan(sql: String) -> String {
    use sqlx::Row as _;

    let folder = tempfile::tempdir().expect("a folder");
    let store = crate::Store::open(folder.path()).await.expect("a store");
    let Db::Sqlite { writing, .. } = &store.db else { panic!("a folder has a file") };
    let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
    let rows = sqlx::query(explain).fetch_all(writing).await.expect("a plan");
    let step = |row: &sqlx::sqlite::SqliteRow| row.get::<String, _>("detail");
    rows.iter().map(step).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::Db;
    use crate::Store;
    use crate::db::Tx;

    #[tokio::test]
    async fn changes_that_sqlite_took_back_by_itself_keep_nobody_from_writing() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path()).await.expect("a store");
        assert!(matches!(store.db, Db::Sqlite { .. }));
        for _ in 0..3 {
            let Ok(Tx::Sqlite(mut changes)) = store.db.begin().await else { panic!("they begin") };
            // As SQLite does when there is no room: the driver knows nothing of it.
            sqlx::query("ROLLBACK").execute(&mut *changes).await.expect("taken back");
            changes.commit().await.expect_err("there is nothing to commit");
        }
        store.db.begin().await.expect("begun").commit().await.expect("kept");
    }
}
