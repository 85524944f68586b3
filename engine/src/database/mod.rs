//! Talks to Postgres, MySQL and MariaDB inside a sandbox, and waits for services to be ready.
//!
//! All connections go through [`Dial`], because a sandbox has no network that could be reached from outside. A
//! [`Client`] asks one database: [`Client::query_first`] for `sql` checks, `Client::first_column` for rules of tool
//! contracts, [`Client::execute_script`] for fixtures.

pub(crate) mod activity;
mod cell;
mod column;
mod connection;
mod credentials;
mod dial;
mod error;
mod readiness;
mod relay;
mod script;
mod session;
pub(crate) mod tables;
pub(crate) mod wire;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use scenario::evidence::SqlAnswer;
pub use scenario::spec::sections::Database;

pub(crate) use cell::{Cell, Kind, hexadecimal};
pub(crate) use column::ColumnError;
pub(crate) use connection::Connection;
pub use credentials::{Credentials, CredentialsError, Environment};
pub(crate) use dial::{ThroughDoor, ToAddress};
pub use error::{DatabaseError, Refusal};
pub use gateways::dial::Dial;
pub use readiness::{NotReady, Readiness, ReadinessError, ready};
pub use script::{ClientInstruction, ScriptError, ScriptFault};
pub(crate) use session::SessionSettings;

/// Timeout for a service that was healthy to accept a connection and a login.
pub const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Time limit of a query, the connection included.
pub const QUERY_LIMIT: Duration = Duration::from_secs(30);

/// Time limit for waiting for a lock, such as one that the agent left in a prepared transaction.
pub const LOCK_LIMIT: Duration = Duration::from_secs(5);

/// The longest value that becomes evidence.
pub const MAX_VALUE_BYTES: usize = 1 << 20;

/// Number of bytes that a server may send in answer to a query. Rows are read one at a time and only the first is
/// looked at, but a row has to be in memory as a whole.
const MAX_ANSWER_BYTES: u64 = 16 << 20;

/// A client of one database of one sandbox.
#[derive(Debug)]
pub struct Client {
    database: Database,
    credentials: Credentials,
    dial: Arc<dyn Dial>,
    /// Settings of every session, whatever the server's defaults are.
    settings: Option<SessionSettings>,
    /// A connection that nothing was asked on yet. A query or script takes it and closes it, so that none sees what
    /// another left in its session.
    fresh: Option<Connection>,
}

impl Client {
    /// Connects and logs in within `limit`; [`CONNECT_LIMIT`] is the usual one.
    ///
    /// # Errors
    /// When the database cannot be reached, refuses the login or is too slow.
    pub async fn connect(
        database: Database,
        credentials: Credentials,
        dial: Arc<dyn Dial>,
        limit: Duration,
    ) -> Result<Self, DatabaseError> {
        Self::connect_with(database, credentials, None, dial, limit).await
    }

    /// [`Client::connect`], with settings that every session has.
    pub(crate) async fn connect_with(
        database: Database,
        credentials: Credentials,
        settings: Option<SessionSettings>,
        dial: Arc<dyn Dial>,
        limit: Duration,
    ) -> Result<Self, DatabaseError> {
        let mut client = Self { database, credentials, dial, settings, fresh: None };
        client.fresh = Some(client.open(limit).await?);
        Ok(client)
    }

    /// Requests an answer that needs no table.
    ///
    /// # Errors
    /// When none comes within [`CONNECT_LIMIT`].
    pub async fn ping(&mut self) -> Result<(), DatabaseError> {
        let mut connection = self.take().await?;
        within(CONNECT_LIMIT, connection.execute("SELECT 1")).await?;
        self.fresh = Some(connection);
        Ok(())
    }

    /// The first column of the first row that `sql` returns. When `sql` has several statements, that is the first row
    /// of the first statement that returns any.
    ///
    /// The session is read-only for good, so that a query cannot change what it looks at, not even by `COMMIT; DELETE`;
    /// it ends without a commit, and only waits [`LOCK_LIMIT`] for a lock.
    ///
    /// # Errors
    /// When the database cannot be asked, or not within [`QUERY_LIMIT`], or when the value is longer than
    /// [`MAX_VALUE_BYTES`]. A query that the server refuses is an answer.
    pub async fn query_first(&mut self, sql: &str) -> Result<SqlAnswer, DatabaseError> {
        self.query_first_within(sql, QUERY_LIMIT).await
    }

    /// [`Client::query_first`] with another limit, for a caller who has less time left.
    ///
    /// # Errors
    /// As there.
    pub async fn query_first_within(&mut self, sql: &str, limit: Duration) -> Result<SqlAnswer, DatabaseError> {
        within(limit, async {
            let mut connection = self.take().await?;
            connection.bound(MAX_ANSWER_BYTES, limit);
            for sql in read_only(self.database, limit) {
                connection.execute(&sql).await?;
            }
            let mut first = None;
            let asked = connection.for_each_row(sql, |cells| {
                first = cells.into_iter().next();
                false
            });
            match asked.await {
                Ok(()) => answer(first),
                Err(DatabaseError::Refused(refusal)) => Ok(SqlAnswer::Refused(refusal.to_string())),
                // Access to a table is refused with the same codes as a login.
                Err(DatabaseError::LoginRefused(refusal)) => Ok(SqlAnswer::Refused(refusal.to_string())),
                Err(error) => Err(error),
            }
        })
        .await
    }

    /// Runs the statements of a script one after the other, each by itself as `psql` and `mysql` do, within `limit`.
    ///
    /// # Errors
    /// At the first statement that fails, with its line. What earlier statements committed stays.
    pub async fn execute_script(&mut self, script: &str, limit: Duration) -> Result<(), ScriptError> {
        script::execute(self, script, limit).await
    }

    /// A connection for a caller that needs a transaction over several statements.
    pub(crate) async fn take(&mut self) -> Result<Connection, DatabaseError> {
        match self.fresh.take() {
            Some(connection) => Ok(connection),
            None => self.open(CONNECT_LIMIT).await,
        }
    }

    async fn open(&self, limit: Duration) -> Result<Connection, DatabaseError> {
        within(limit, Connection::open(self.database, &self.credentials, self.settings.as_ref(), &*self.dial, limit))
            .await
    }
}

/// Returns the statements that make a session read-only and bounded, and its output the same everywhere, whatever the
/// agent made the server's defaults. The transaction is begun separately: in one message with the settings, its
/// ROLLBACK would undo them.
fn read_only(database: Database, limit: Duration) -> [String; 2] {
    // Zero would mean no limit at all.
    let (milliseconds, lock) = (limit.as_millis().max(1), LOCK_LIMIT.as_secs());
    match database {
        Database::Postgres => [
            format!(
                "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY; \
                 SET statement_timeout = {milliseconds}; SET lock_timeout = '{lock}s'; \
                 SET IntervalStyle = 'postgres'; SET bytea_output = 'hex'; SET extra_float_digits = 1"
            ),
            "BEGIN READ ONLY".to_owned(),
        ],
        // Comments of the form /*! … */ are code to MySQL, and those of the form /*M! … */ to MariaDB.
        Database::MySql => [
            format!(
                "SET SESSION TRANSACTION READ ONLY; \
                 SET SESSION lock_wait_timeout = {lock}, SESSION innodb_lock_wait_timeout = {lock} \
                 /*!50708 , SESSION max_execution_time = {milliseconds} */ \
                 /*M!100100 , SESSION max_statement_time = {milliseconds} / 1000 */"
            ),
            "START TRANSACTION READ ONLY".to_owned(),
        ],
    }
}

fn answer(cell: Option<Cell>) -> Result<SqlAnswer, DatabaseError> {
    match cell {
        None => Ok(SqlAnswer::NoRow),
        Some(cell) if cell.bytes.as_ref().is_some_and(|bytes| bytes.len() > MAX_VALUE_BYTES) => {
            Err(DatabaseError::TooLarge { limit_bytes: MAX_VALUE_BYTES as u64 })
        }
        Some(cell) => Ok(SqlAnswer::Value(cell.datum())),
    }
}

/// Waits for `work`, but not longer than `limit`. A server is foreign: bytes that make the client library panic are one
/// more unreadable answer.
async fn within<T>(limit: Duration, work: impl Future<Output = Result<T, DatabaseError>>) -> Result<T, DatabaseError> {
    match tokio::time::timeout(limit, AssertUnwindSafe(work).catch_unwind()).await {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(DatabaseError::Unreadable { reason: "it is not the database's protocol".to_owned() }),
        Err(_) => Err(DatabaseError::TimedOut { limit }),
    }
}
