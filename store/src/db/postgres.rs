//! A database of a Postgres server.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use sea_query::{PostgresQueryBuilder, Value};
use sea_query_sqlx::{SqlxBinder, SqlxValues};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions, PgRow};
use sqlx::{AssertSqlSafe, Connection as _, Executor, Postgres, Row as _};
use tokio::time::Instant;

use super::listener::CHANNEL;
use super::text::{Column, escape};
use super::{Db, Row};
use crate::error::StoreError;
use crate::migrate;
use crate::retries::Retries;

/// The connection limit of a process; one of them may listen. A server with its usual 100 serves nine processes.
const CONNECTIONS: u32 = 10;
/// Timeout for getting a connection: one that is in use, or to a server that does not answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Timeout for a server that is starting.
const START: Duration = Duration::from_secs(10);
/// Pause before asking again if the server has started.
const PAUSE: Duration = Duration::from_millis(200);
/// Settings of each connection. A process that was stopped in the middle of its changes must not keep its locks, and
/// nobody waits for a lock for ever. Who is not heard of any more is found.
const SETTINGS: &str = "SET idle_in_transaction_session_timeout = '10s'; SET lock_timeout = '30s'; \
                        SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3";

/// Where a database is. It knows no password, so it can be told to people.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    host: Arc<str>,
    database: Arc<str>,
}

impl Server {
    fn of(options: &PgConnectOptions) -> Self {
        let host = match options.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => format!("{}:{}", options.get_host(), options.get_port()),
        };
        // Like every client, it takes the user's name when no database is named.
        let database = options.get_database().unwrap_or_else(|| options.get_username());
        Self { host: host.into(), database: database.into() }
    }

    /// It cannot be used.
    pub(crate) fn unusable(&self, reason: impl ToString) -> StoreError {
        let (host, database) = (self.host.to_string(), self.database.to_string());
        StoreError::Server { host, database, reason: reason.to_string() }
    }

    /// Something was refused, or nobody was there to ask.
    pub(super) fn refused(&self, error: sqlx::Error) -> StoreError {
        match error {
            sqlx::Error::PoolTimedOut => self.unusable(format!("no connection within {} s", PATIENCE.as_secs())),
            sqlx::Error::Io(error) => self.unusable(error),
            error => error.into(),
        }
    }
}

/// Opens the database that a URL names, bringing it up to date first.
pub(super) async fn open(url: &str) -> Result<Db, StoreError> {
    // The reason names a part of the URL at most, and never the password.
    let options = PgConnectOptions::from_str(url).map_err(|error| StoreError::DatabaseUrl(error.to_string()))?;
    let options = options.application_name("touchstone");
    let server = Server::of(&options);
    let mut connection = first(&options).await.map_err(|error| server.unusable(error))?;
    let not_ours = |reason| server.unusable(format!("{reason}; was it made by a newer touchstone?"));
    migrate::postgres(&mut connection).await.map_err(not_ours)?;
    connection.close().await.map_err(|error| server.unusable(error))?;
    let pool = PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .acquire_timeout(PATIENCE)
        .after_connect(|connection, _| Box::pin(async { connection.execute(SETTINGS).await.map(|_| ()) }))
        .connect_lazy_with(options);
    Ok(Db::Postgres { pool, server })
}

/// The first connection, which says why there is none. A pool would only say that it took too long.
async fn first(options: &PgConnectOptions) -> sqlx::Result<PgConnection> {
    let deadline = Instant::now() + START;
    let retries = Retries::logged();
    let mut observer = retries.observe("connecting to the database");
    loop {
        // A pause on a busy machine may outlast the deadline; a server that refuses at once is still told from one that is silent.
        let until = deadline.max(Instant::now() + PAUSE);
        let connecting = tokio::time::timeout_at(until, PgConnection::connect_with(options));
        match connecting.await.unwrap_or(Err(sqlx::Error::PoolTimedOut)) {
            Err(error) if may_start(&error) && Instant::now() + PAUSE < deadline => {
                observer.failed(error);
                tokio::time::sleep(PAUSE).await;
            }
            Err(sqlx::Error::PoolTimedOut) => {
                let late = format!("it does not answer within {} s", START.as_secs());
                return Err(sqlx::Error::Io(std::io::Error::other(late)));
            }
            connected => return connected,
        }
    }
}

/// True when the server may answer in a moment.
fn may_start(error: &sqlx::Error) -> bool {
    /// It is starting, stopping, or has no connection left.
    const LATER: [&str; 3] = ["57P03", "57P01", "53300"];
    match error {
        sqlx::Error::Io(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        error => error.as_database_error().and_then(|error| error.code()).is_some_and(|code| LATER.contains(&&*code)),
    }
}

/// The value of a column.
pub(crate) fn column<T: Column>(row: &PgRow, name: &str) -> sqlx::Result<T> {
    Ok(row.try_get::<T, _>(name)?.unescaped())
}

fn build(statement: &impl SqlxBinder) -> (AssertSqlSafe<String>, SqlxValues) {
    let (sql, mut values) = statement.build_sqlx(PostgresQueryBuilder);
    for value in &mut values.0.0 {
        if let Value::String(Some(text)) = value {
            escape(text);
        }
    }
    (AssertSqlSafe(sql), values)
}

/// All rows of a query.
pub(super) async fn fetch_all<'e, T: Row>(
    executor: impl Executor<'e, Database = Postgres>,
    statement: &impl SqlxBinder,
) -> sqlx::Result<Vec<T>> {
    let (sql, values) = build(statement);
    sqlx::query_as_with::<Postgres, T, _>(sql, values).fetch_all(executor).await
}

/// The row of a query, if there is one.
pub(super) async fn fetch_optional<'e, T: Row>(
    executor: impl Executor<'e, Database = Postgres>,
    statement: &impl SqlxBinder,
) -> sqlx::Result<Option<T>> {
    let (sql, values) = build(statement);
    sqlx::query_as_with::<Postgres, T, _>(sql, values).fetch_optional(executor).await
}

/// Changes something; how many rows.
pub(super) async fn execute<'e>(
    executor: impl Executor<'e, Database = Postgres>,
    statement: &impl SqlxBinder,
) -> sqlx::Result<u64> {
    let (sql, values) = build(statement);
    Ok(sqlx::query_with::<Postgres, _>(sql, values).execute(executor).await?.rows_affected())
}

/// Holds the lock of this name alone, until the end of the transaction. It is given back after what was changed is
/// visible, so who has it next sees all of it.
pub(super) async fn lock(connection: &mut PgConnection, name: &str) -> sqlx::Result<()> {
    let lock = sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))").bind(name);
    lock.execute(connection).await.map(|_| ())
}

/// Holds the lock of this name together with others, until the end of the transaction.
pub(super) async fn share(connection: &mut PgConnection, name: &str) -> sqlx::Result<()> {
    let share = sqlx::query("SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))").bind(name);
    share.execute(connection).await.map(|_| ())
}

/// Tells those who listen, when the transaction ends. The same told twice in it is told once.
pub(super) async fn notify(connection: &mut PgConnection, text: &str) -> sqlx::Result<()> {
    let notify = sqlx::query("SELECT pg_notify($1, $2)").bind(CHANNEL).bind(text);
    notify.execute(connection).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::{Db, open};
    use crate::testing::TestDatabase;

    /// A process that is stopped in the middle of its changes would keep everybody else waiting.
    #[tokio::test]
    async fn who_is_stopped_in_the_middle_loses_its_locks() {
        let Some(database) = TestDatabase::new().await else { return };
        let Db::Postgres { pool, .. } = open(&database.url()).await.expect("open") else { panic!("this is Postgres") };
        for setting in ["SHOW idle_in_transaction_session_timeout", "SHOW lock_timeout"] {
            let value: String = sqlx::query_scalar(setting).fetch_one(&pool).await.expect("a setting");
            assert!(value.ends_with('s') && value != "0", "{setting}: {value}");
        }
    }
}
