//! The one place that knows which database it is: an arm for each, and a folder of migrations.

mod begin;
mod identity;
mod listener;
mod postgres;
mod sqlite;
mod text;

use std::path::Path;
use std::time::Duration;

use sea_query_sqlx::SqlxBinder;
use sqlx::postgres::{PgPool, PgRow};
use sqlx::sqlite::{SqlitePool, SqliteRow};
use sqlx::{FromRow, Postgres, Sqlite, Transaction};

use crate::error::StoreError;
use crate::wakeups::Wakeup;
use begin::begun;
pub(crate) use listener::Listener;
pub(crate) use postgres::{Server, column};
#[cfg(test)]
pub(crate) use sqlite::plan;

/// Timeout for closing connections.
const CLOSING: Duration = Duration::from_secs(10);

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
    /// A database of a server, which many machines can use.
    Postgres {
        /// For everything.
        pool: PgPool,
        /// Where it is.
        server: Server,
    },
}

/// Changes that become visible together.
#[derive(Debug)]
pub(crate) enum Tx {
    /// In a file, which nobody else can write to meanwhile.
    Sqlite(Transaction<'static, Sqlite>),
    /// In a server, where others write at the same time: each statement sees what was visible when it began.
    Postgres(Transaction<'static, Postgres>),
}

/// A row that every dialect can read.
pub(crate) trait Row: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}

impl<T> Row for T where T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}

/// Defines the row of a query: its fields are the columns of the same names.
macro_rules! row {
    ($(#[doc = $doc:literal])+ $visibility:vis $name:ident { $($field:ident: $type:ty),+ $(,)? }) => {
        $(#[doc = $doc])+
        #[derive(Debug)]
        $visibility struct $name {
            $($field: $type,)+
        }

        impl<'r> sqlx::FromRow<'r, sqlx::sqlite::SqliteRow> for $name {
            fn from_row(row: &'r sqlx::sqlite::SqliteRow) -> sqlx::Result<Self> {
                use sqlx::Row as _;
                Ok(Self { $($field: row.try_get(stringify!($field))?,)+ })
            }
        }

        impl<'r> sqlx::FromRow<'r, sqlx::postgres::PgRow> for $name {
            fn from_row(row: &'r sqlx::postgres::PgRow) -> sqlx::Result<Self> {
                Ok(Self { $($field: $crate::db::column(row, stringify!($field))?,)+ })
            }
        }
    };
}
pub(crate) use row;

impl Db {
    /// Opens the database in a file, making it or bringing it up to date first.
    pub(crate) async fn sqlite(path: &Path) -> Result<Self, StoreError> {
        sqlite::open(path).await
    }

    /// Opens the database that a `postgres://…` URL names, bringing it up to date first.
    pub(crate) async fn postgres(url: &str) -> Result<Self, StoreError> {
        postgres::open(url).await
    }

    /// True for a file, which only one machine can use.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self, Self::Sqlite { .. })
    }

    /// All rows of a query.
    pub(crate) async fn fetch_all<T: Row>(&self, statement: &impl SqlxBinder) -> Result<Vec<T>, StoreError> {
        match self {
            Self::Sqlite { reading, .. } => Ok(sqlite::fetch_all(reading, statement).await?),
            Self::Postgres { pool, server } => {
                postgres::fetch_all(pool, statement).await.map_err(|error| server.refused(error))
            }
        }
    }

    /// The row of a query, if there is one.
    pub(crate) async fn fetch_optional<T: Row>(&self, statement: &impl SqlxBinder) -> Result<Option<T>, StoreError> {
        match self {
            Self::Sqlite { reading, .. } => Ok(sqlite::fetch_optional(reading, statement).await?),
            Self::Postgres { pool, server } => {
                postgres::fetch_optional(pool, statement).await.map_err(|error| server.refused(error))
            }
        }
    }

    /// Changes something; how many rows.
    pub(crate) async fn execute(&self, statement: &impl SqlxBinder) -> Result<u64, StoreError> {
        match self {
            Self::Sqlite { writing, .. } => Ok(sqlite::execute(writing, statement).await?),
            Self::Postgres { pool, server } => {
                postgres::execute(pool, statement).await.map_err(|error| server.refused(error))
            }
        }
    }

    /// Begins changes that become visible together. A file lets nobody else write until they do; in a server, what must
    /// not happen at the same time is locked: rows with `FOR UPDATE`, and everything else with [`Tx::lock`].
    pub(crate) async fn begin(&self) -> Result<Tx, StoreError> {
        match self {
            Self::Sqlite { writing, .. } => Ok(Tx::Sqlite(writing.begin_with("BEGIN IMMEDIATE").await?)),
            Self::Postgres { pool, server } => {
                let pool = pool.clone();
                let begun = begun(async move { pool.begin().await }).await;
                Ok(Tx::Postgres(begun.map_err(|error| server.refused(error))?))
            }
        }
    }

    /// Begins to read: all that is read in it is as it was at one moment.
    pub(crate) async fn snapshot(&self) -> Result<Tx, StoreError> {
        match self {
            Self::Sqlite { reading, .. } => Ok(Tx::Sqlite(reading.begin().await?)),
            Self::Postgres { pool, server } => {
                let pool = pool.clone();
                let begin = async move { pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY").await };
                let begun = begun(begin).await;
                Ok(Tx::Postgres(begun.map_err(|error| server.refused(error))?))
            }
        }
    }

    /// Begins to listen to what others tell; a file tells nothing.
    pub(crate) async fn listen(&self) -> Result<Option<Listener>, StoreError> {
        match self {
            Self::Sqlite { .. } => Ok(None),
            Self::Postgres { pool, server } => Ok(Some(Listener::new(pool.clone(), server.clone()).await?)),
        }
    }

    /// Gives room that removed rows took back to the machine. A server does so by itself.
    pub(crate) async fn shrink(&self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite { writing, .. } => Ok(sqlite::shrink(writing).await?),
            Self::Postgres { .. } => Ok(()),
        }
    }

    /// Ends all connections. One that a server does not give back is not waited for without end.
    pub(crate) async fn close(&self) {
        let _ = tokio::time::timeout(CLOSING, self.close_all()).await;
    }

    async fn close_all(&self) {
        match self {
            Self::Sqlite { reading, writing } => {
                reading.close().await;
                writing.close().await;
            }
            Self::Postgres { pool, .. } => pool.close().await,
        }
    }
}

impl Tx {
    /// All rows of a query.
    pub(crate) async fn fetch_all<T: Row>(&mut self, statement: &impl SqlxBinder) -> Result<Vec<T>, StoreError> {
        Ok(match self {
            Self::Sqlite(transaction) => sqlite::fetch_all(&mut **transaction, statement).await?,
            Self::Postgres(transaction) => postgres::fetch_all(&mut **transaction, statement).await?,
        })
    }

    /// The row of a query, if there is one.
    pub(crate) async fn fetch_optional<T: Row>(
        &mut self,
        statement: &impl SqlxBinder,
    ) -> Result<Option<T>, StoreError> {
        Ok(match self {
            Self::Sqlite(transaction) => sqlite::fetch_optional(&mut **transaction, statement).await?,
            Self::Postgres(transaction) => postgres::fetch_optional(&mut **transaction, statement).await?,
        })
    }

    /// Changes something; how many rows.
    pub(crate) async fn execute(&mut self, statement: &impl SqlxBinder) -> Result<u64, StoreError> {
        Ok(match self {
            Self::Sqlite(transaction) => sqlite::execute(&mut **transaction, statement).await?,
            Self::Postgres(transaction) => postgres::execute(&mut **transaction, statement).await?,
        })
    }

    /// Waits until nobody else holds the lock of this name, and holds it until the end of these changes. Who holds a file
    /// holds all locks.
    pub(crate) async fn lock(&mut self, name: &str) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(transaction) => Ok(postgres::lock(transaction, name).await?),
        }
    }

    /// Like [`Tx::lock`], but others can share it.
    pub(crate) async fn share(&mut self, name: &str) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(transaction) => Ok(postgres::share(transaction, name).await?),
        }
    }

    /// Tells who listens that there is something to look at, once it is visible. Nobody listens to a file.
    pub(crate) async fn tell(&mut self, wakeup: Wakeup) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(transaction) => Ok(postgres::notify(transaction, &wakeup.to_string()).await?),
        }
    }

    /// Makes the changes visible. Without it, none of them is made.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        match self {
            Self::Sqlite(transaction) => Ok(transaction.commit().await?),
            Self::Postgres(transaction) => Ok(transaction.commit().await?),
        }
    }
}
