//! Ends what goes on in a database once the agent is gone, so that nothing is written while anybody looks.
//!
//! A look afterwards decides if something ended, never the server's answer: an order to end something may be refused,
//! but whatever is still there is reported.

mod mysql;
mod postgres;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::{CONNECT_LIMIT, Connection, Credentials, Database, DatabaseError, Dial, SessionSettings, within};

/// Timeout for the server to end statements and sessions.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time limit for sessions that have just been closed to disappear, before the agent starts.
const LINGER: Duration = Duration::from_secs(1);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);
/// Number of bytes that the server may send.
const MAX_ANSWER_BYTES: u64 = 4 << 20;
/// Number of leftovers that are named.
const MOST_NAMED: usize = 10;

/// A session, a worker or a thread of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Session {
    /// Its number.
    number: u64,
    /// Its kind and owner: the same for all that one client opens.
    kind: String,
}

/// Activity of a database before the agent started.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// The settings of our sessions.
    pub(crate) settings: SessionSettings,
    /// Kinds of sessions that other services have open. They open them again when they are ended.
    kinds: BTreeSet<String>,
    /// Threads of the server itself.
    threads: BTreeSet<u64>,
    /// Objects that start by themselves, such as events.
    standing: BTreeSet<String>,
}

/// State of a database after its activity was ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Ended {
    /// Sessions and other leftovers that could not be ended.
    pub(crate) left: Vec<String>,
    /// Position that changes with the next write; `None` where there is no such thing.
    pub(crate) position: Option<String>,
}

/// A database, and the way to reach it.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// Kind of database.
    pub(crate) database: Database,
    /// User that our sessions log in as.
    pub(crate) credentials: Credentials,
    /// Way to connect to it.
    pub(crate) dial: Arc<dyn Dial>,
}

impl Target {
    async fn open(&self, settings: Option<&SessionSettings>) -> Result<Connection, DatabaseError> {
        let mut connection =
            Connection::open(self.database, &self.credentials, settings, &*self.dial, CONNECT_LIMIT).await?;
        connection.bound(MAX_ANSWER_BYTES, PATIENCE);
        Ok(connection)
    }

    /// Records the activity before the agent starts.
    pub(crate) async fn known(&self) -> Result<Known, DatabaseError> {
        within(PATIENCE + CONNECT_LIMIT, async {
            let mut connection = self.open(None).await?;
            let settings = SessionSettings::read(&mut connection).await?;
            let mut known = Known { settings, ..Known::default() };
            known.standing = standing(&mut connection).await?;
            known.threads = threads(&mut connection).await?;
            let deadline = Instant::now() + LINGER;
            let mut others = others(&mut connection, &known).await?;
            while !others.is_empty() && Instant::now() < deadline {
                tokio::time::sleep(PAUSE).await;
                others = self::others(&mut connection, &known).await?;
            }
            known.kinds = others.into_iter().map(|session| session.kind).collect();
            Ok(known)
        })
        .await
    }

    /// Ends every other session and whatever starts one by itself, and waits until all are gone.
    pub(crate) async fn end(&self, known: &Known) -> Result<Ended, DatabaseError> {
        within(2 * PATIENCE + CONNECT_LIMIT, async {
            let mut connection = self.open(Some(&known.settings)).await?;
            match self.database {
                Database::Postgres => postgres::stop_background(&mut connection).await?,
                Database::MySql => mysql::stop_background(&mut connection).await?,
            }
            let mut left = end_all(&mut connection, known).await?;
            left.extend(self.end_prepared(&mut connection).await?);
            left.extend(standing(&mut connection).await?.difference(&known.standing).cloned());
            Ok(Ended { left: shortened(left), position: position(&mut connection, known).await? })
        })
        .await
    }

    /// Returns true if nothing was written, and nothing is active again, since the activity was ended.
    pub(crate) async fn is_still(&self, known: &Known, ended: &Ended) -> Result<bool, DatabaseError> {
        within(PATIENCE + CONNECT_LIMIT, async {
            let mut connection = self.open(Some(&known.settings)).await?;
            let position = position(&mut connection, known).await?;
            // Our own last question may still be on its way out.
            let deadline = Instant::now() + LINGER;
            let is_unknown = |session: &Session| !known.kinds.contains(&session.kind);
            while others(&mut connection, known).await?.iter().any(is_unknown) {
                if Instant::now() >= deadline {
                    return Ok(false);
                }
                tokio::time::sleep(PAUSE).await;
            }
            Ok(position == ended.position)
        })
        .await
    }

    /// Undoes transactions that wait for somebody to commit them; those that stay.
    async fn end_prepared(&self, connection: &mut Connection) -> Result<Vec<String>, DatabaseError> {
        match self.database {
            Database::Postgres => postgres::end_prepared(self, connection).await,
            Database::MySql => mysql::end_prepared(connection).await,
        }
    }
}

/// Ends sessions until none but those of other services are there; those that stay.
async fn end_all(connection: &mut Connection, known: &Known) -> Result<Vec<String>, DatabaseError> {
    let deadline = Instant::now() + PATIENCE;
    let mut rounds = 0;
    loop {
        let others = others(connection, known).await?;
        let strangers: Vec<_> = others.iter().filter(|session| !known.kinds.contains(&session.kind)).collect();
        // What other services open is ended as well, once: an agent's session can look the same.
        if others.is_empty() || strangers.is_empty() && rounds > 0 || Instant::now() >= deadline {
            return Ok(strangers.into_iter().map(|session| session.kind.clone()).collect());
        }
        for session in &others {
            let sql = match connection.database() {
                Database::Postgres => format!("SELECT pg_catalog.pg_terminate_backend({})", session.number),
                Database::MySql => format!("KILL {}", session.number),
            };
            // It may have ended by itself; the next look tells.
            if let Err(error @ (DatabaseError::Unreachable { .. } | DatabaseError::TimedOut { .. })) =
                connection.execute(&sql).await
            {
                return Err(error);
            }
        }
        rounds += 1;
        tokio::time::sleep(PAUSE).await;
    }
}

/// The sessions that are neither ours nor the server's own work.
async fn others(connection: &mut Connection, known: &Known) -> Result<Vec<Session>, DatabaseError> {
    match connection.database() {
        Database::Postgres => postgres::others(connection).await,
        Database::MySql => mysql::others(connection, &known.threads).await,
    }
}

async fn threads(connection: &mut Connection) -> Result<BTreeSet<u64>, DatabaseError> {
    match connection.database() {
        Database::Postgres => Ok(BTreeSet::new()),
        Database::MySql => mysql::threads(connection).await,
    }
}

async fn standing(connection: &mut Connection) -> Result<BTreeSet<String>, DatabaseError> {
    let rows = match connection.database() {
        Database::Postgres => connection.texts(postgres::STANDING).await?,
        Database::MySql => mysql::standing(connection).await?,
    };
    Ok(rows.into_iter().map(|row| row.into_iter().flatten().collect::<Vec<_>>().join(" ")).collect())
}

/// Reads a position that changes with every write. Returns none where other services have sessions, because they may
/// write.
async fn position(connection: &mut Connection, known: &Known) -> Result<Option<String>, DatabaseError> {
    if connection.database() != Database::Postgres || !known.kinds.is_empty() {
        return Ok(None);
    }
    let rows = connection.texts(postgres::POSITION).await?;
    Ok(rows.into_iter().flatten().next().flatten())
}

/// A number of a row.
fn number(cell: Option<&Option<String>>) -> Option<u64> {
    cell?.as_ref()?.parse().ok()
}

fn shortened(mut left: Vec<String>) -> Vec<String> {
    let count = left.len();
    left.truncate(MOST_NAMED);
    if count > MOST_NAMED {
        left.push(format!("and {} more", count - MOST_NAMED));
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_that_stays_is_counted() {
        assert_eq!(shortened(vec!["a".to_owned()]), ["a"]);
        let many = shortened((0..12).map(|number| number.to_string()).collect());
        assert_eq!((many.len(), many[10].as_str()), (11, "and 2 more"));
    }
}
