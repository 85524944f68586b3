//! Ends what still runs in a database, so that nothing is written after the look.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::super::{CONNECT_LIMIT, Connection, Credentials, Database, DatabaseError, Dial, within};

/// How long the server may take to end what runs.
const PATIENCE: Duration = Duration::from_secs(5);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// Sessions of Postgres that are neither ours nor the server's own work.
const POSTGRES: &str = "SELECT pid, pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity \
     WHERE pid <> pg_catalog.pg_backend_pid() AND (backend_type = 'client backend' OR datid IS NOT NULL) \
     AND backend_type NOT LIKE 'autovacuum%'";
/// Sessions of MySQL and MariaDB that are neither ours nor the server's own work.
const MYSQL: &str = "SELECT id FROM information_schema.processlist WHERE id <> connection_id() \
     AND user NOT IN ('system user', 'event_scheduler') AND command <> 'Daemon'";

/// Ends every other session, and waits until all are gone; `false` when some stay.
pub(crate) async fn end_others(
    database: Database,
    credentials: &Credentials,
    dial: Arc<dyn Dial>,
) -> Result<bool, DatabaseError> {
    within(PATIENCE + CONNECT_LIMIT, async {
        let mut connection = Connection::open(database, credentials, &*dial, CONNECT_LIMIT).await?;
        connection.bound(1 << 20, PATIENCE);
        if database == Database::MySql {
            // A user who may not do this could not make events that run as another.
            let _ = connection.execute("SET GLOBAL event_scheduler = OFF").await;
        } else {
            connection.execute("SET search_path = pg_catalog, pg_temp").await?;
        }
        let deadline = Instant::now() + PATIENCE - PAUSE;
        while end_all(&mut connection).await? {
            if Instant::now() >= deadline {
                return Ok(false);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(true)
    })
    .await
}

/// Tells every other session to end; whether there was any.
async fn end_all(connection: &mut Connection) -> Result<bool, DatabaseError> {
    if connection.database() == Database::Postgres {
        return Ok(!connection.texts(POSTGRES).await?.is_empty());
    }
    let sessions = connection.texts(MYSQL).await?;
    for id in sessions.iter().filter_map(|row| row.first()?.as_ref()?.parse::<u64>().ok()) {
        // It may have ended by itself.
        let _ = connection.execute(&format!("KILL {id}")).await;
    }
    Ok(!sessions.is_empty())
}
