//! An open connection to a database inside a sandbox.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Either, MySqlConnection, PgConnection};

use super::cell::{Cell, mysql_cells, postgres_cells};
use super::error::classify;
use super::relay::Relay;
use super::session::SessionSettings;
use super::{Credentials, Database, DatabaseError, Dial};

/// A connection. Dropping it closes it, and with that undoes whatever was not committed.
#[derive(Debug)]
pub(crate) struct Connection {
    // The session goes first, so that it can still say goodbye through the relay.
    session: Session,
    relay: Relay,
    allowed_bytes: u64,
    limit: Duration,
}

#[derive(Debug)]
enum Session {
    Postgres(Box<PgConnection>),
    MySql(Box<MySqlConnection>),
}

impl Connection {
    /// Opens a connection, logs in, and gives the session the settings that it must have, where some are known.
    pub(crate) async fn open(
        database: Database,
        credentials: &Credentials,
        settings: Option<&SessionSettings>,
        dial: &dyn Dial,
        limit: Duration,
    ) -> Result<Self, DatabaseError> {
        let stream = dial
            .dial(credentials.port)
            .await
            .map_err(|error| DatabaseError::Unreachable { reason: error.to_string() })?;
        // Postgres's clients make the name from the port, so it is the same for all.
        let name = format!(".s.PGSQL.{}", credentials.port);
        let relay = Relay::open(stream, &name).map_err(DatabaseError::Relay)?;
        let session = match database {
            Database::Postgres => {
                postgres_options(credentials, settings, &relay).connect().await.map(Box::new).map(Session::Postgres)
            }
            Database::MySql => mysql_options(credentials, &relay).connect().await.map(Box::new).map(Session::MySql),
        };
        let session = session.map_err(|error| classify(error, "", limit))?;
        let mut connection = Self { session, relay, allowed_bytes: u64::MAX, limit };
        if let Some(settings) = settings {
            settings.apply(&mut connection).await?;
        }
        Ok(connection)
    }

    /// Returns the kind of database.
    pub(crate) fn database(&self) -> Database {
        match self.session {
            Session::Postgres(_) => Database::Postgres,
            Session::MySql(_) => Database::MySql,
        }
    }

    /// Allows the server this many bytes from now on, and sets its time limit.
    pub(super) fn bound(&mut self, bytes: u64, limit: Duration) {
        (self.allowed_bytes, self.limit) = (bytes, limit);
        self.relay.allow(bytes);
    }

    /// Runs statements and says how many rows they touched; what they return is passed over.
    pub(crate) async fn execute(&mut self, sql: &str) -> Result<u64, DatabaseError> {
        let raw = sqlx::raw_sql(AssertSqlSafe(sql));
        let touched = match &mut self.session {
            Session::Postgres(session) => {
                let done = raw.execute_many(&mut **session).try_fold(0, async |sum, one| Ok(sum + one.rows_affected()));
                done.await
            }
            Session::MySql(session) => {
                let done = raw.execute_many(&mut **session).try_fold(0, async |sum, one| Ok(sum + one.rows_affected()));
                done.await
            }
        };
        touched.map_err(|error| self.explain(error, sql))
    }

    /// Passes every row to `take`, until that returns `false`.
    pub(crate) async fn for_each_row(
        &mut self,
        sql: &str,
        mut take: impl FnMut(Vec<Cell>) -> bool + Send,
    ) -> Result<(), DatabaseError> {
        let raw = sqlx::raw_sql(AssertSqlSafe(sql));
        let mut rows = match &mut self.session {
            Session::Postgres(session) => raw
                .fetch_many(&mut **session)
                .map(|one| rows_only(one).and_then(|row| row.as_ref().map(postgres_cells).transpose()))
                .boxed(),
            Session::MySql(session) => raw
                .fetch_many(&mut **session)
                .map(|one| rows_only(one).and_then(|row| row.as_ref().map(mysql_cells).transpose()))
                .boxed(),
        };
        let ended = loop {
            match rows.try_next().await {
                Ok(Some(Some(cells))) => {
                    if !take(cells) {
                        break Ok(());
                    }
                }
                Ok(Some(None)) => {}
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        drop(rows);
        ended.map_err(|error| self.explain(error, sql))
    }

    /// Returns all rows as texts; for the small answers of catalogues.
    pub(crate) async fn texts(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, DatabaseError> {
        let mut rows = Vec::new();
        self.for_each_row(sql, |cells| {
            rows.push(cells.iter().map(Cell::text).collect());
            true
        })
        .await?;
        Ok(rows)
    }

    fn explain(&self, error: sqlx::Error, sql: &str) -> DatabaseError {
        match self.relay.overflowed() {
            true => DatabaseError::TooLarge { limit_bytes: self.allowed_bytes },
            false => classify(error, sql, self.limit),
        }
    }
}

/// The row, when it is one and not the end of a statement.
fn rows_only<End, Row>(one: Result<Either<End, Row>, sqlx::Error>) -> Result<Option<Row>, sqlx::Error> {
    one.map(|one| match one {
        Either::Left(_) => None,
        Either::Right(row) => Some(row),
    })
}

fn postgres_options(credentials: &Credentials, settings: Option<&SessionSettings>, relay: &Relay) -> PgConnectOptions {
    // Every setting that could come from our own process's environment is set here.
    PgConnectOptions::new_without_pgpass()
        .socket(relay.folder())
        .port(credentials.port)
        .username(&credentials.user)
        .password(credentials.password.as_deref().unwrap_or_default())
        .database(credentials.database.as_deref().unwrap_or(&credentials.user))
        .application_name("touchstone")
        .ssl_mode(PgSslMode::Disable)
        .options(settings.into_iter().flat_map(SessionSettings::startup))
        .disable_statement_logging()
}

fn mysql_options(credentials: &Credentials, relay: &Relay) -> MySqlConnectOptions {
    let options = MySqlConnectOptions::new()
        .socket(relay.socket())
        .username(&credentials.user)
        // MySQL takes a password in clear over TLS only, and offers TLS with a certificate of its own making.
        .ssl_mode(MySqlSslMode::Preferred)
        // SQL means what the server's own settings say, as for any other client.
        .pipes_as_concat(false)
        .no_engine_substitution(false)
        .disable_statement_logging();
    let options = match &credentials.password {
        Some(password) => options.password(password),
        None => options,
    };
    match &credentials.database {
        Some(database) => options.database(database),
        None => options,
    }
}
