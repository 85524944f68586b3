//! The one place that knows which database it is. A second dialect is a second arm here, and a folder of migrations.

use std::path::Path;
use std::time::Duration;

use sea_query::SqliteQueryBuilder;
use sea_query_sqlx::SqlxBinder;
use sqlx::sqlite::{
    SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteRow,
    SqliteSynchronous,
};
use sqlx::{AssertSqlSafe, FromRow, Sqlite, Transaction};
use tokio::time::Instant;

use crate::error::StoreError;
use crate::migrate;

/// How long a process waits for another one that is writing.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a process waits before it asks again for a file that another one is making.
const PAUSE: Duration = Duration::from_millis(10);
/// How many can read at once.
const READERS: u32 = 4;
/// How many unused pages are given back at once.
const PAGES: u32 = 1000;

/// A database of ours.
#[derive(Debug, Clone)]
pub(crate) enum Db {
    /// A file. One connection writes, so that a process never waits for itself.
    Sqlite {
        /// For reading.
        reading: SqlitePool,
        /// For writing.
        writing: SqlitePool,
    },
}

/// Changes that become visible together.
#[derive(Debug)]
pub(crate) enum Tx {
    /// In a file.
    Sqlite(Transaction<'static, Sqlite>),
}

/// A row that every dialect can read.
pub(crate) trait Row: for<'r> FromRow<'r, SqliteRow> + Send + Unpin {}

impl<T> Row for T where T: for<'r> FromRow<'r, SqliteRow> + Send + Unpin {}

/// Defines the row of a query: its fields are the columns of the same names.
macro_rules! row {
    ($(#[doc = $doc:literal])+ $name:ident { $($field:ident: $type:ty),+ $(,)? }) => {
        $(#[doc = $doc])+
        #[derive(Debug)]
        struct $name {
            $($field: $type,)+
        }

        impl<'r> sqlx::FromRow<'r, sqlx::sqlite::SqliteRow> for $name {
            fn from_row(row: &'r sqlx::sqlite::SqliteRow) -> sqlx::Result<Self> {
                use sqlx::Row as _;
                Ok(Self { $($field: row.try_get(stringify!($field))?,)+ })
            }
        }
    };
}
pub(crate) use row;

impl Db {
    /// Opens the database in a file, making it or bringing it up to date first.
    pub(crate) async fn sqlite(path: &Path) -> Result<Self, StoreError> {
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
        Ok(Self::Sqlite { reading, writing })
    }

    /// All rows of a query.
    pub(crate) async fn fetch_all<T: Row>(&self, statement: &impl SqlxBinder) -> Result<Vec<T>, StoreError> {
        let Self::Sqlite { reading, .. } = self;
        let (sql, values) = statement.build_sqlx(SqliteQueryBuilder);
        Ok(sqlx::query_as_with::<Sqlite, T, _>(AssertSqlSafe(sql), values).fetch_all(reading).await?)
    }

    /// The row of a query, if there is one.
    pub(crate) async fn fetch_optional<T: Row>(&self, statement: &impl SqlxBinder) -> Result<Option<T>, StoreError> {
        let Self::Sqlite { reading, .. } = self;
        let (sql, values) = statement.build_sqlx(SqliteQueryBuilder);
        Ok(sqlx::query_as_with::<Sqlite, T, _>(AssertSqlSafe(sql), values).fetch_optional(reading).await?)
    }

    /// Changes something; how many rows.
    pub(crate) async fn execute(&self, statement: &impl SqlxBinder) -> Result<u64, StoreError> {
        let Self::Sqlite { writing, .. } = self;
        let (sql, values) = statement.build_sqlx(SqliteQueryBuilder);
        Ok(sqlx::query_with::<Sqlite, _>(AssertSqlSafe(sql), values).execute(writing).await?.rows_affected())
    }

    /// Begins changes that become visible together, and lets nobody else write until they do.
    pub(crate) async fn begin(&self) -> Result<Tx, StoreError> {
        let Self::Sqlite { writing, .. } = self;
        Ok(Tx::Sqlite(writing.begin_with("BEGIN IMMEDIATE").await?))
    }

    /// Begins to read: all that is read in it is as it was at one moment.
    pub(crate) async fn snapshot(&self) -> Result<Tx, StoreError> {
        let Self::Sqlite { reading, .. } = self;
        Ok(Tx::Sqlite(reading.begin().await?))
    }

    /// Gives room that removed rows took back to the machine, in steps between which others can write.
    pub(crate) async fn shrink(&self) -> Result<(), StoreError> {
        let Self::Sqlite { writing, .. } = self;
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

    /// Ends all connections.
    pub(crate) async fn close(&self) {
        let Self::Sqlite { reading, writing } = self;
        reading.close().await;
        writing.close().await;
    }
}

/// Connects, so many times at most. When several processes open a new file at once, SQLite refuses some of them without
/// waiting: two of them would wait for each other.
async fn connect(options: &SqliteConnectOptions, most: u32) -> Result<SqlitePool, sqlx::Error> {
    let pool = SqlitePoolOptions::new().max_connections(most).acquire_timeout(PATIENCE);
    let pool = pool.idle_timeout(None).max_lifetime(None);
    let deadline = Instant::now() + PATIENCE;
    loop {
        match pool.clone().connect_with(options.clone()).await {
            Err(error) if is_busy(&error) && Instant::now() < deadline => tokio::time::sleep(PAUSE).await,
            connected => return connected,
        }
    }
}

/// Whether somebody else uses the file just now.
fn is_busy(error: &sqlx::Error) -> bool {
    /// What SQLite calls it, in the lower byte of its codes.
    const BUSY: u32 = 5;
    let code = error.as_database_error().and_then(|error| error.code()?.parse::<u32>().ok());
    code.is_some_and(|code| code & 0xff == BUSY)
}

impl Tx {
    /// All rows of a query.
    pub(crate) async fn fetch_all<T: Row>(&mut self, statement: &impl SqlxBinder) -> Result<Vec<T>, StoreError> {
        let Self::Sqlite(transaction) = self;
        let (sql, values) = statement.build_sqlx(SqliteQueryBuilder);
        Ok(sqlx::query_as_with::<Sqlite, T, _>(AssertSqlSafe(sql), values).fetch_all(&mut **transaction).await?)
    }

    /// The row of a query, if there is one.
    pub(crate) async fn fetch_optional<T: Row>(
        &mut self,
        statement: &impl SqlxBinder,
    ) -> Result<Option<T>, StoreError> {
        let Self::Sqlite(transaction) = self;
        let (sql, values) = statement.build_sqlx(SqliteQueryBuilder);
        Ok(sqlx::query_as_with::<Sqlite, T, _>(AssertSqlSafe(sql), values).fetch_optional(&mut **transaction).await?)
    }

    /// Changes something; how many rows.
    pub(crate) async fn execute(&mut self, statement: &impl SqlxBinder) -> Result<u64, StoreError> {
        let Self::Sqlite(transaction) = self;
        let (sql, values) = statement.build_sqlx(SqliteQueryBuilder);
        Ok(sqlx::query_with::<Sqlite, _>(AssertSqlSafe(sql), values).execute(&mut **transaction).await?.rows_affected())
    }

    /// Makes the changes visible. Without it, none of them is made.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        let Self::Sqlite(transaction) = self;
        Ok(transaction.commit().await?)
    }
}
