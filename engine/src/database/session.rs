//! The settings that a session had before the agent started, and has again whatever the agent made the defaults.
//!
//! A role, a database or the server can be told what a new session begins with: where names are looked for, how texts are
//! read, how many rows are shown. Questions of checks mean what they meant when the spec was prepared.

use std::collections::BTreeMap;

use super::{Connection, Database, DatabaseError, Refusal, hexadecimal};

/// Every setting that a session can change, as a Postgres session begins with it. Those of a transaction follow their
/// defaults.
const POSTGRES: &str = "SELECT name, pg_catalog.current_setting(name, true) FROM pg_catalog.pg_settings \
     WHERE context::pg_catalog.text IN ('user', 'superuser') AND name::pg_catalog.text NOT LIKE 'transaction\\_%'";
/// Every variable of a MySQL or MariaDB session, and the server's own.
const MYSQL: &str = "SHOW SESSION VARIABLES";

/// Variables of MySQL and MariaDB that differ between any two sessions.
const VOLATILE: [&str; 16] = [
    "error_count",
    "external_user",
    "gtid_next",
    "identity",
    "in_transaction",
    "insert_id",
    "last_gtid",
    "last_insert_id",
    "original_commit_timestamp",
    "proxy_user",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "statement_id",
    "timestamp",
    "warning_count",
];
/// Variable with the statements that the server runs in each new session of an ordinary user. They cannot be undone
/// there.
const INIT_CONNECT: &str = "init_connect";
/// MySQL and MariaDB refuse with these to set what is not a session's: a variable of the server, or one that is only read.
const NOT_OF_A_SESSION: [&str; 4] = ["1193", "1229", "1238", "1621"];
/// And with this a number in quotes, or a text without.
const WRONG_TYPE: &str = "1232";

/// Libraries that Postgres loads into a session before anything can be asked in it.
const PRELOADED: [&str; 2] = ["session_preload_libraries", "local_preload_libraries"];

/// The settings of one user's sessions at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SessionSettings {
    values: BTreeMap<String, String>,
    /// The database that a session of MySQL begins in.
    home: Option<String>,
}

impl SessionSettings {
    /// Reads those of a session that has just begun.
    pub(crate) async fn read(connection: &mut Connection) -> Result<Self, DatabaseError> {
        let (sql, is_mysql) = match connection.database() {
            Database::Postgres => (POSTGRES, false),
            Database::MySql => (MYSQL, true),
        };
        let rows = connection.texts(sql).await?;
        let pair = |row: Vec<Option<String>>| <[Option<String>; 2]>::try_from(row).ok();
        let values = rows.into_iter().filter_map(pair).filter_map(|[name, value]| Some((name?, value?)));
        let is_volatile = |name: &str| is_mysql && VOLATILE.contains(&name);
        let values = values.filter(|(name, _)| !is_volatile(name)).collect();
        let home = if is_mysql { connection.texts("SELECT database()").await? } else { Vec::new() };
        Ok(Self { values, home: home.into_iter().flatten().next().flatten() })
    }

    /// Returns the settings that a Postgres session must be opened with, because it is too late afterwards.
    pub(super) fn startup(&self) -> impl Iterator<Item = (&str, &str)> {
        let is_superuser = self.values.contains_key(PRELOADED[0]);
        let names = PRELOADED.into_iter().filter(move |_| is_superuser);
        names.filter_map(|name| Some((name, self.values.get(name)?.as_str())))
    }

    /// Applies the settings that are kept here to a session that has just begun.
    pub(super) async fn apply(&self, connection: &mut Connection) -> Result<(), DatabaseError> {
        match connection.database() {
            Database::Postgres => self.apply_to_postgres(connection).await,
            Database::MySql => self.apply_to_mysql(connection).await,
        }
    }

    async fn apply_to_postgres(&self, connection: &mut Connection) -> Result<(), DatabaseError> {
        if self.values.is_empty() {
            return Ok(());
        }
        // Another role may not even see what is set.
        connection.execute("SET ROLE NONE").await?;
        let literal = |text: &str| format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
        let rows: Vec<_> =
            self.values.iter().map(|(name, value)| format!("({}, {})", literal(name), literal(value))).collect();
        let sql = format!(
            "SELECT pg_catalog.set_config(b.name, b.value, false) FROM (VALUES {}) AS b (name, value) \
             WHERE pg_catalog.current_setting(b.name, true) OPERATOR(pg_catalog.<>) b.value",
            rows.join(", ")
        );
        connection.execute(&sql).await.map(|_| ())
    }

    async fn apply_to_mysql(&self, connection: &mut Connection) -> Result<(), DatabaseError> {
        // Otherwise the list may end after its first line.
        connection.execute("SET SESSION sql_select_limit = 18446744073709551615").await?;
        let now = Self::read(connection).await?;
        let differs = |(name, value): &(&String, &String)| now.values.get(*name) != Some(*value);
        for (name, value) in self.values.iter().filter(differs) {
            if name == INIT_CONNECT {
                return Err(changed(name));
            }
            set(connection, name, value).await?;
        }
        if now.home != self.home {
            let Some(home) = &self.home else { return Err(changed("the database of a session")) };
            connection.execute(&format!("USE `{}`", home.replace('`', "``"))).await?;
        }
        Ok(())
    }
}

fn changed(what: &str) -> DatabaseError {
    let message = format!("{what} is not what it was before the agent started");
    DatabaseError::Refused(Refusal { code: "HY000".to_owned(), message, line: None })
}

/// Sets a variable of a session of MySQL or MariaDB; one that is not the session's is left.
async fn set(connection: &mut Connection, name: &str, value: &str) -> Result<(), DatabaseError> {
    // Backslashes mean themselves or not as the mode says, which may be what is set here.
    let quoted = match value {
        "" => "''".to_owned(),
        _ => format!("CONVERT({} USING utf8mb4)", hexadecimal(value.as_bytes())),
    };
    let is_number = value.parse::<f64>().is_ok_and(f64::is_finite);
    let forms = if is_number { [value.to_owned(), quoted] } else { [quoted, value.to_owned()] };
    for form in forms {
        match connection.execute(&format!("SET SESSION `{name}` = {form}")).await {
            Err(DatabaseError::Refused(refusal)) if refusal.code == WRONG_TYPE => {}
            Err(DatabaseError::Refused(refusal)) if NOT_OF_A_SESSION.contains(&refusal.code.as_str()) => return Ok(()),
            other => return other.map(|_| ()),
        }
    }
    Err(changed(name))
}
