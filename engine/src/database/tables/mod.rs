//! Contents of a database's tables at one moment, and changes between two.
//!
//! Small tables are kept row by row. Of larger ones a digest is made by the server, over every row. Of the largest, only
//! what the server counts by itself is known.

mod broken_row;
mod compare;
mod mysql;
mod objects;
mod postgres;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

pub(crate) use broken_row::{break_row, describe};
pub(crate) use compare::{compare, differing_rows};
use objects::Object;
pub(crate) use objects::{ObjectChange, object_changes, replaced};

use super::{
    CONNECT_LIMIT, Connection, Credentials, Database, DatabaseError, Dial, SessionSettings, read_only, within,
};

/// Number of tables that are looked at.
const MOST_TABLES: usize = 500;
/// Time limit for reading all tables.
const LIMIT: Duration = Duration::from_secs(20);
/// A table with at most this many rows is kept row by row.
const MOST_ROWS: u64 = 200;
/// And with at most this many bytes.
const MOST_BYTES: u64 = 256 << 10;
/// Size limit of all rows that are kept together.
const MOST_BYTES_IN_ALL: u64 = 4 << 20;
/// A table that takes more on disk is not read.
const LARGE: u64 = 64 << 20;
/// Number of bytes that the server may send in all.
const MAX_ANSWER_BYTES: u64 = 64 << 20;

/// Contents of the tables at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Tables {
    /// Tables, by name with schema or database.
    pub(crate) tables: BTreeMap<String, Table>,
    /// True when there were more tables, or less time, than it takes to look at all.
    pub(crate) incomplete: bool,
    /// Dependencies of the server's own answers, such as its casts and functions.
    pub(crate) foundations: BTreeSet<String>,
    /// Objects that stand between a query and the tables.
    pub(crate) objects: BTreeSet<Object>,
}

/// Contents of one table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Table {
    /// Number of rows, as far as that is known.
    pub(crate) rows: u64,
    /// Digest that differs when the content does.
    pub(crate) digest: String,
    /// Its rows, as the database writes them, in order; `None` when there are too many.
    pub(crate) content: Option<Vec<String>>,
    /// True when only the server's own counts are known.
    pub(crate) is_estimate: bool,
}

/// A table that is about to be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Listed {
    /// Its name, with its schema or database.
    name: String,
    /// Source that is selected from, in quotes.
    source: String,
    /// The text of one row, as an expression.
    row: String,
    /// Its size on disk.
    size: u64,
    /// Number of rows that the server believes it has.
    estimate: u64,
    /// The server's own counts for it.
    statistics: String,
}

impl Tables {
    /// Reads all tables that are a user's, over a connection of our own.
    pub(crate) async fn take(
        database: Database,
        credentials: &Credentials,
        session: Option<&SessionSettings>,
        dial: Arc<dyn Dial>,
    ) -> Result<Self, DatabaseError> {
        within(LIMIT + CONNECT_LIMIT, async {
            let mut connection = Connection::open(database, credentials, session, &*dial, CONNECT_LIMIT).await?;
            connection.bound(MAX_ANSWER_BYTES, LIMIT);
            for sql in settings(database).into_iter().chain(read_only(database, LIMIT)) {
                connection.execute(&sql).await?;
            }
            look(&mut connection, Instant::now() + LIMIT).await
        })
        .await
    }
}

/// Returns the settings that make our queries mean the same whatever the agent made the server's defaults: functions of
/// the server itself, and fresh statistics.
fn settings(database: Database) -> Vec<String> {
    let settings: &[&str] = match database {
        Database::Postgres => &["SET search_path = pg_catalog, pg_temp", "SET row_security = off"],
        Database::MySql => &[
            "SET SESSION sql_mode = ''",
            "SET SESSION group_concat_max_len = 1000000",
            "/*!80000 SET SESSION information_schema_stats_expiry = 0 */",
        ],
    };
    settings.iter().map(|sql| (*sql).to_owned()).collect()
}

async fn look(connection: &mut Connection, deadline: Instant) -> Result<Tables, DatabaseError> {
    let mut listed = match connection.database() {
        Database::Postgres => postgres::list(connection).await?,
        Database::MySql => mysql::list(connection).await?,
    };
    let foundations = match connection.database() {
        Database::Postgres => postgres::foundations(connection).await?,
        Database::MySql => BTreeSet::new(),
    };
    let objects = match connection.database() {
        Database::Postgres => postgres::objects(connection).await?,
        Database::MySql => mysql::objects(connection).await?,
    };
    let mut found = Tables { incomplete: listed.len() > MOST_TABLES, foundations, objects, ..Tables::default() };
    listed.truncate(MOST_TABLES);
    let mut room = MOST_BYTES_IN_ALL;
    for one in listed {
        let is_late = Instant::now() + LIMIT / 10 > deadline;
        let table =
            if one.size > LARGE || is_late { estimate(&one) } else { read(connection, &one, &mut room).await? };
        found.incomplete |= is_late;
        found.tables.insert(one.name, table);
    }
    Ok(found)
}

fn estimate(listed: &Listed) -> Table {
    let digest = format!("{} {} {}", listed.size, listed.estimate, listed.statistics);
    Table { rows: listed.estimate, digest, content: None, is_estimate: true }
}

/// Reads a table: the server makes the digest, and gives the rows when they are few.
async fn read(connection: &mut Connection, listed: &Listed, room: &mut u64) -> Result<Table, DatabaseError> {
    let digest = match connection.database() {
        Database::Postgres => postgres::DIGEST,
        Database::MySql => mysql::DIGEST,
    };
    let Listed { row, source, .. } = listed;
    let sql = format!(
        "SELECT count(*), coalesce(sum(octet_length(r)), 0), {digest} FROM (SELECT {row} AS r FROM {source}) AS all_rows"
    );
    let answer = connection.texts(&sql).await?.into_iter().next().unwrap_or_default();
    let text = |index: usize| answer.get(index).cloned().flatten().unwrap_or_default();
    let number = |index: usize| text(index).parse::<u64>().unwrap_or(u64::MAX);
    let (rows, bytes) = (number(0), number(1));
    let digest = answer.iter().skip(2).flatten().cloned().collect::<Vec<_>>().join(" ");
    let is_small = rows <= MOST_ROWS && bytes <= MOST_BYTES && bytes <= *room;
    let content = if is_small { Some(content(connection, listed).await?) } else { None };
    if content.is_some() {
        *room -= bytes;
    }
    Ok(Table { rows, digest, content, is_estimate: false })
}

async fn content(connection: &mut Connection, listed: &Listed) -> Result<Vec<String>, DatabaseError> {
    let sql = format!("SELECT {} FROM {}", listed.row, listed.source);
    let mut rows: Vec<_> =
        connection.texts(&sql).await?.into_iter().map(|row| row.into_iter().flatten().collect::<String>()).collect();
    rows.sort();
    Ok(rows)
}
