//! Sessions, workers and waiting transactions of Postgres.
//!
//! Only functions that are compiled into the server are asked: a view such as `pg_stat_activity` can be replaced by one that
//! shows less.

use super::{Session, Target, number};
use crate::database::{Connection, Credentials, DatabaseError};

/// Query for all sessions and processes of a database, and the server's own processes.
const ACTIVITY: &str = "SELECT pid, backend_type, usesysid, datid, application_name \
     FROM pg_catalog.pg_stat_get_activity(NULL) WHERE pid OPERATOR(pg_catalog.<>) pg_catalog.pg_backend_pid()";
/// Processes of the server that run no SQL, as long as they are in no database.
const OWN: [&str; 13] = [
    "archiver",
    "autovacuum launcher",
    "background writer",
    "checkpointer",
    "io worker",
    "logger",
    "logical replication launcher",
    "slotsync worker",
    "startup",
    "walreceiver",
    "walsummarizer",
    "walwriter",
    "stats collector",
];
/// Query for objects that run by themselves: subscriptions write the changes that others publish, and event triggers
/// run at every login, ours included.
pub(super) const STANDING: &str = "SELECT 'subscription', subname::pg_catalog.text FROM pg_catalog.pg_subscription \
         WHERE subenabled \
     UNION ALL SELECT 'login trigger', evtname::pg_catalog.text FROM pg_catalog.pg_event_trigger \
         WHERE evtevent OPERATOR(pg_catalog.=) 'login' AND evtenabled OPERATOR(pg_catalog.<>) 'D'";
/// The number of the next transaction that writes.
pub(super) const POSITION: &str = "SELECT pg_catalog.txid_snapshot_xmax(pg_catalog.txid_current_snapshot())";
const PREPARED: &str = "SELECT p.gid, d.datname FROM pg_catalog.pg_prepared_xact() AS p \
     LEFT JOIN pg_catalog.pg_database AS d ON d.oid OPERATOR(pg_catalog.=) p.dbid";

/// Keeps the server from vacuuming by itself: that runs functions of indexes, which can write. Where it may not be told so,
/// what writes is seen by its position.
pub(super) async fn stop_background(connection: &mut Connection) -> Result<(), DatabaseError> {
    for sql in ["ALTER SYSTEM SET autovacuum = off", "SELECT pg_catalog.pg_reload_conf()"] {
        match connection.execute(sql).await {
            Ok(_) => {}
            Err(DatabaseError::Refused(_) | DatabaseError::LoginRefused(_)) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The sessions and workers that can write.
pub(super) async fn others(connection: &mut Connection) -> Result<Vec<Session>, DatabaseError> {
    let rows = connection.texts(ACTIVITY).await?;
    Ok(rows.iter().filter_map(|row| session(row)).collect())
}

fn session(row: &[Option<String>]) -> Option<Session> {
    let text = |index: usize| row.get(index).and_then(Option::as_deref).filter(|text| !text.is_empty());
    // What we may not look at counts as a session.
    let kind = text(1).unwrap_or("session");
    if OWN.contains(&kind) && text(3).is_none() {
        return None;
    }
    let shown = |index: usize| text(index).unwrap_or("none");
    let kind = format!("{kind} of user {} in database {} called {}", shown(2), shown(3), shown(4));
    Some(Session { number: number(row.first())?, kind })
}

/// Undoes prepared transactions, each in its own database; those that stay.
pub(super) async fn end_prepared(target: &Target, connection: &mut Connection) -> Result<Vec<String>, DatabaseError> {
    for (transaction, database) in prepared(connection).await? {
        let credentials = Credentials { database, ..target.credentials.clone() };
        let there = Target { credentials, ..target.clone() };
        // Whether it worked is seen below.
        if let Ok(mut connection) = there.open(None).await {
            let _ = connection.execute(&format!("ROLLBACK PREPARED {}", literal(&transaction))).await;
        }
    }
    let left = prepared(connection).await?;
    Ok(left.into_iter().map(|(transaction, _)| format!("prepared transaction {transaction}")).collect())
}

fn literal(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

async fn prepared(connection: &mut Connection) -> Result<Vec<(String, Option<String>)>, DatabaseError> {
    let rows = connection.texts(PREPARED).await?;
    Ok(rows
        .into_iter()
        .filter_map(|row| <[_; 2]>::try_from(row).ok())
        .filter_map(|[gid, name]| Some((gid?, name)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: [&str; 5]) -> Vec<Option<String>> {
        cells.into_iter().map(|cell| (!cell.is_empty()).then(|| cell.to_owned())).collect()
    }

    #[test]
    fn a_worker_of_a_database_is_no_process_of_the_server_whatever_it_is_called() {
        assert_eq!(session(&row(["7", "checkpointer", "", "", ""])), None);
        assert_eq!(session(&row(["7", "logical replication launcher", "10", "", ""])), None);
        for kind in ["checkpointer", "client backend", "parallel worker", "autovacuum worker", "pg_cron launcher", ""] {
            assert!(session(&row(["7", kind, "10", "5", ""])).is_some(), "{kind}");
        }
        assert!(session(&row(["7", "walsender", "10", "", "x"])).is_some());
    }
}
