//! Breaks a row: undoes what was written, writes it twice, or changes one of its columns.

use scenario::certificate::{BrokenRow, RowBreakage};
use scenario::evidence::TableChange;

use super::super::{Connection, Database, DatabaseError, Refusal};
use super::{Listed, mysql, postgres, settings};

/// The columns of a table, in order, with their types.
const COLUMNS: &str = "SELECT column_name, data_type FROM information_schema.columns";
/// The columns of a table's key.
const KEY: &str = "SELECT k.column_name FROM information_schema.table_constraints c \
     JOIN information_schema.key_column_usage k ON k.constraint_name = c.constraint_name \
     AND k.table_schema = c.table_schema AND k.table_name = c.table_name WHERE c.constraint_type = 'PRIMARY KEY'";

/// Adds to a change what its table is made of: columns, and those of the key.
pub(crate) async fn describe(
    connection: &mut Connection,
    table: &str,
    change: &mut TableChange,
) -> Result<(), DatabaseError> {
    let columns = columns(connection, table).await?;
    change.columns = columns.into_iter().map(|(name, _)| name).collect();
    change.key = key(connection, table).await?;
    Ok(())
}

/// Breaks a row.
pub(crate) async fn break_row(connection: &mut Connection, broken: &BrokenRow) -> Result<(), DatabaseError> {
    for sql in settings(connection.database()) {
        connection.execute(&sql).await?;
    }
    let listed = match connection.database() {
        Database::Postgres => postgres::list(connection).await?,
        Database::MySql => mysql::list(connection).await?,
    };
    let listed = listed.into_iter().find(|listed| listed.name == broken.table);
    let listed = listed.ok_or_else(|| refused("the table is gone"))?;
    let columns = columns(connection, &broken.table).await?;
    let key = key(connection, &broken.table).await?;
    let sql =
        Statements { database: connection.database(), listed: &listed, columns: &columns, key: &key }.of(&broken.how)?;
    match connection.execute(&sql).await? {
        0 => Err(refused("the row is not there as it was seen before")),
        _ => Ok(()),
    }
}

async fn columns(connection: &mut Connection, table: &str) -> Result<Vec<(String, String)>, DatabaseError> {
    let sql = format!("{COLUMNS} WHERE {} ORDER BY ordinal_position", is_table(connection.database(), table, ""));
    let pair = |row: Vec<Option<String>>| <[String; 2]>::try_from(row.into_iter().flatten().collect::<Vec<_>>()).ok();
    Ok(connection.texts(&sql).await?.into_iter().filter_map(pair).map(|[name, kind]| (name, kind)).collect())
}

async fn key(connection: &mut Connection, table: &str) -> Result<Vec<String>, DatabaseError> {
    let sql = format!("{KEY} AND {} ORDER BY k.ordinal_position", is_table(connection.database(), table, "c."));
    Ok(connection.texts(&sql).await?.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
}

fn is_table(database: Database, table: &str, prefix: &str) -> String {
    let (schema, name) = table.split_once('.').unwrap_or(("", table));
    let literal = |text| literal(database, text);
    format!("{prefix}table_schema = {} AND {prefix}table_name = {}", literal(schema), literal(name))
}

fn literal(database: Database, text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('\'', "\\'");
    match database {
        Database::Postgres => format!("E'{escaped}'"),
        Database::MySql => format!("'{escaped}'"),
    }
}

fn refused(message: &str) -> DatabaseError {
    let refusal = Refusal { code: "P0002".to_owned(), message: message.to_owned(), line: None };
    DatabaseError::Refused(refusal)
}

/// The statements that break rows of one table.
struct Statements<'a> {
    database: Database,
    listed: &'a Listed,
    columns: &'a [(String, String)],
    key: &'a [String],
}

impl Statements<'_> {
    fn of(&self, how: &RowBreakage) -> Result<String, DatabaseError> {
        let nothing = || refused("there is nothing to undo");
        Ok(match how {
            RowBreakage::Undo { added: Some(added), removed: None } => self.delete(added),
            RowBreakage::Undo { added: None, removed } => self.insert(removed.as_deref().ok_or_else(nothing)?),
            RowBreakage::Undo { added: Some(added), removed: Some(removed) } => self.replace(added, removed),
            RowBreakage::Duplicate { row } => self.duplicate(row),
            RowBreakage::Alter { row, column } => self.alter(row, column),
        })
    }

    /// The table to write to, in quotes.
    fn table(&self) -> &str {
        let source = self.listed.source.as_str();
        let source = source.strip_prefix("ONLY ").unwrap_or(source);
        source.strip_suffix(" AS t").unwrap_or(source)
    }

    fn quoted(&self, name: &str) -> String {
        match self.database {
            Database::Postgres => format!("\"{}\"", name.replace('"', "\"\"")),
            Database::MySql => format!("`{}`", name.replace('`', "``")),
        }
    }

    fn is_row(&self, row: &str) -> String {
        format!("{} = {}", self.listed.row, literal(self.database, row))
    }

    /// The condition, and what bounds it, by which one row with this text is found.
    fn one(&self, row: &str) -> String {
        let (source, is_row) = (&self.listed.source, self.is_row(row));
        match self.database {
            Database::Postgres => format!("t.ctid = (SELECT t.ctid FROM {source} WHERE {is_row} LIMIT 1)"),
            Database::MySql => format!("{is_row} LIMIT 1"),
        }
    }

    fn delete(&self, row: &str) -> String {
        format!("DELETE FROM {} WHERE {}", self.listed.source, self.one(row))
    }

    fn insert(&self, row: &str) -> String {
        let table = self.table();
        match self.database {
            Database::Postgres => {
                format!(
                    "INSERT INTO {table} OVERRIDING SYSTEM VALUE SELECT ({}::{table}).*",
                    literal(self.database, row)
                )
            }
            // The row was written with `quote`.
            Database::MySql => format!("INSERT INTO {table} VALUES ({row})"),
        }
    }

    /// Gives a row the values that it had before, in place, so that nothing that hangs on it goes.
    fn replace(&self, added: &str, removed: &str) -> String {
        let names: Vec<_> = self.columns.iter().map(|(name, _)| self.quoted(name)).collect();
        match self.database {
            Database::Postgres => {
                let before = format!("SELECT ({}::{}).*", literal(self.database, removed), self.table());
                let (source, list) = (&self.listed.source, names.join(", "));
                format!("UPDATE {source} SET ({list}) = ROW(b.*) FROM ({before}) AS b WHERE {}", self.one(added))
            }
            Database::MySql => {
                let same: Vec<_> = names.iter().map(|name| format!("{name} = VALUES({name})")).collect();
                format!("{} ON DUPLICATE KEY UPDATE {}", self.insert(removed), same.join(", "))
            }
        }
    }

    /// Writes a row once more: with the next number where its key is a number.
    fn duplicate(&self, row: &str) -> String {
        let (table, source) = (self.table(), &self.listed.source);
        let next = |column: &String| format!("(SELECT max(k.{0}) + 1 FROM {table} AS k)", self.quoted(column));
        let value = |(name, kind): &(String, String)| match self.key {
            [only] if only == name && is_number(kind) => next(name),
            _ => self.quoted(name),
        };
        let values: Vec<_> = self.columns.iter().map(value).collect();
        let names: Vec<_> = self.columns.iter().map(|(name, _)| self.quoted(name)).collect();
        let overriding = if self.database == Database::Postgres { "OVERRIDING SYSTEM VALUE " } else { "" };
        let (names, values) = (names.join(", "), values.join(", "));
        format!(
            "INSERT INTO {table} ({names}) {overriding}SELECT {values} FROM {source} WHERE {} LIMIT 1",
            self.is_row(row)
        )
    }

    fn alter(&self, row: &str, column: &str) -> String {
        let kind = self.columns.iter().find(|(name, _)| name == column).map_or("", |(_, kind)| kind.as_str());
        let name = self.quoted(column);
        format!("UPDATE {} SET {name} = {} WHERE {}", self.listed.source, self.other(&name, kind), self.one(row))
    }

    /// Another value of the same type.
    fn other(&self, column: &str, kind: &str) -> String {
        let is_postgres = self.database == Database::Postgres;
        match kind.to_lowercase().as_str() {
            "boolean" => format!("NOT coalesce({column}, false)"),
            "tinyint" => format!("CASE WHEN {column} = 0 THEN 1 ELSE 0 END"),
            kind if is_number(kind) => format!("coalesce({column}, 0) + 1"),
            kind if kind.contains("char") || kind.ends_with("text") => match is_postgres {
                true => format!("coalesce({column}, '') || 'x'"),
                false => format!("concat(coalesce({column}, ''), 'x')"),
            },
            kind if kind == "date" || kind.starts_with("timestamp") || kind == "datetime" => match is_postgres {
                true => format!("coalesce({column}, now()) + interval '1 day'"),
                false => format!("coalesce({column}, now()) + interval 1 day"),
            },
            "json" | "jsonb" => "'{\"broken\": true}'".to_owned(),
            "uuid" => "gen_random_uuid()".to_owned(),
            _ => "NULL".to_owned(),
        }
    }
}

fn is_number(kind: &str) -> bool {
    let kind = kind.to_lowercase();
    kind.contains("int") && kind != "interval"
        || matches!(kind.as_str(), "numeric" | "decimal" | "real" | "float" | "double" | "double precision")
}
