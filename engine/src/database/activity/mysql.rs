//! Sessions, events and waiting transactions of MySQL and MariaDB.

use std::collections::BTreeSet;

use super::{Session, number};
use crate::database::{Connection, DatabaseError};

const THREADS: &str = "SELECT id, user, db, command FROM information_schema.processlist WHERE id <> connection_id()";
/// Events that fire by themselves, as long as the scheduler runs.
const EVENTS: &str = "SELECT 'event', concat(event_schema, '.', event_name), definer, sha2(event_definition, 256) \
     FROM information_schema.events WHERE status NOT LIKE '%DISABLED%'";
/// Functions of native code, which can do anything at any time.
const NATIVE: &str = "SELECT 'native function', name, dl FROM mysql.func";
/// Query for the event scheduler's state.
const SCHEDULER: &str = "SELECT @@GLOBAL.event_scheduler";
/// Transactions that wait for somebody to commit them, as MariaDB and as MySQL write them.
const PREPARED: [&str; 2] = ["XA RECOVER FORMAT='SQL'", "XA RECOVER CONVERT XID"];

/// Stops events. Where that is refused, those that the agent made are told as standing.
pub(super) async fn stop_background(connection: &mut Connection) -> Result<(), DatabaseError> {
    refusable(connection.execute("SET GLOBAL event_scheduler = OFF").await.map(|_| ()))
}

/// Turns a refusal into an empty answer. An ordinary user may not ask everything, and the caller decides what the lack
/// of an answer means.
fn refusable<T: Default>(answer: Result<T, DatabaseError>) -> Result<T, DatabaseError> {
    match answer {
        Err(DatabaseError::Refused(_) | DatabaseError::LoginRefused(_)) => Ok(T::default()),
        other => other,
    }
}

/// The threads of the server itself. Only before the agent starts can they be told by their names: a user can have any.
pub(super) async fn threads(connection: &mut Connection) -> Result<BTreeSet<u64>, DatabaseError> {
    let rows = connection.texts(THREADS).await?;
    let is_own = |row: &&Vec<Option<String>>| {
        let text = |index: usize| row.get(index).and_then(Option::as_deref).unwrap_or_default();
        ["system user", "event_scheduler"].contains(&text(1)) || text(3) == "Daemon"
    };
    Ok(rows.iter().filter(is_own).filter_map(|row| number(row.first())).collect())
}

/// The sessions that can write.
pub(super) async fn others(
    connection: &mut Connection,
    threads: &BTreeSet<u64>,
) -> Result<Vec<Session>, DatabaseError> {
    let rows = connection.texts(THREADS).await?;
    let sessions = rows.iter().filter_map(|row| session(row));
    Ok(sessions.filter(|session| !threads.contains(&session.number)).collect())
}

fn session(row: &[Option<String>]) -> Option<Session> {
    let shown = |index: usize| row.get(index).and_then(Option::as_deref).unwrap_or("none");
    Some(Session { number: number(row.first())?, kind: format!("session of {} in {}", shown(1), shown(2)) })
}

/// Lists objects that run by themselves.
pub(super) async fn standing(connection: &mut Connection) -> Result<Vec<Vec<Option<String>>>, DatabaseError> {
    let scheduler = connection.texts(SCHEDULER).await?.into_iter().flatten().next().flatten().unwrap_or_default();
    let fires = !matches!(scheduler.to_uppercase().as_str(), "OFF" | "0" | "DISABLED");
    let mut rows = if fires { connection.texts(EVENTS).await? } else { Vec::new() };
    rows.extend(refusable(connection.texts(NATIVE).await)?);
    Ok(rows)
}

/// Undoes prepared transactions; those that stay. Who may not see them could not commit them either.
pub(super) async fn end_prepared(connection: &mut Connection) -> Result<Vec<String>, DatabaseError> {
    for transaction in prepared(connection).await? {
        // Whether it worked is seen below.
        let _ = connection.execute(&format!("XA ROLLBACK {transaction}")).await;
    }
    let left = prepared(connection).await?;
    Ok(left.into_iter().map(|transaction| format!("prepared transaction {transaction}")).collect())
}

/// The names of prepared transactions, as SQL.
async fn prepared(connection: &mut Connection) -> Result<Vec<String>, DatabaseError> {
    let [mariadb, mysql] = PREPARED;
    let rows = match connection.texts(mariadb).await {
        Ok(rows) => rows,
        Err(DatabaseError::Refused(_) | DatabaseError::LoginRefused(_)) => refusable(connection.texts(mysql).await)?,
        Err(error) => return Err(error),
    };
    Ok(rows.iter().map(|row| transaction(row).unwrap_or_else(|| "of an unknown name".to_owned())).collect())
}

/// A row has the format, two lengths and the data: SQL already, or `0x` and both parts in one.
fn transaction(row: &[Option<String>]) -> Option<String> {
    let [format, first, _, data] = row else { return None };
    let data = data.as_ref()?;
    let Some(digits) = data.strip_prefix("0x") else { return Some(data.clone()) };
    let (one, other) = digits.split_at_checked(2 * first.as_ref()?.parse::<usize>().ok()?)?;
    Some(format!("X'{one}', X'{other}', {}", format.as_ref()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prepared_transactions_are_named_as_sql() {
        let row = |cells: [&str; 4]| cells.map(|cell| Some(cell.to_owned()));
        assert_eq!(transaction(&row(["1", "1", "1", "0x6162"])).unwrap(), "X'61', X'62', 1");
        assert_eq!(transaction(&row(["1", "1", "0", "'a'"])).unwrap(), "'a'");
        assert_eq!(transaction(&row(["1", "9", "0", "0x61"])), None);
    }
}
