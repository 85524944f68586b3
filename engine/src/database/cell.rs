//! A cell of a row: the server's own text, and the name of its type.

use scenario::evidence::Datum;
use scenario::hex;
use scenario::number::Number;
use sqlx::mysql::MySqlRow;
use sqlx::postgres::PgRow;
use sqlx::{Column, Row, TypeInfo, ValueRef};

use super::Database;

/// A cell of a row. In the text protocol a value is what the server prints, whatever its type is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    /// Kind of the value.
    pub(crate) kind: Kind,
    /// The value as the server printed it; `None` for NULL.
    pub(crate) bytes: Option<Vec<u8>>,
}

/// Kind of a database type, as far as we distinguish them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Postgres's `boolean`. MySQL has none: its BOOLEAN is a number.
    Bool,
    /// A whole number.
    Integer,
    /// Any other number.
    Number,
    /// MySQL's BIT, which is sent as bytes.
    Bits,
    /// JSON.
    Json,
    /// Any other type.
    Text,
}

impl Kind {
    /// The kind of a type by the client library's name for it.
    fn of(database: Database, type_name: &str) -> Self {
        match (database, type_name) {
            (Database::Postgres, "BOOL") => Self::Bool,
            (Database::Postgres, "INT2" | "INT4" | "INT8" | "OID") => Self::Integer,
            (Database::Postgres, "FLOAT4" | "FLOAT8" | "NUMERIC") => Self::Number,
            (_, "JSON" | "JSONB") => Self::Json,
            (Database::MySql, "BOOLEAN" | "YEAR") => Self::Integer,
            (Database::MySql, "FLOAT" | "DOUBLE" | "DECIMAL") => Self::Number,
            (Database::MySql, "BIT") => Self::Bits,
            (Database::MySql, name) if name.trim_end_matches(" UNSIGNED").ends_with("INT") => Self::Integer,
            _ => Self::Text,
        }
    }
}

impl Cell {
    /// The value for evidence: a number, boolean or JSON where it is one, else the server's text. Bytes that are no
    /// text become `0x…`.
    pub(crate) fn datum(&self) -> Datum {
        let Some(bytes) = &self.bytes else { return Datum::Null };
        if self.kind == Kind::Bits {
            return bits(bytes);
        }
        let Ok(text) = std::str::from_utf8(bytes) else { return Datum::Text(hexadecimal(bytes)) };
        let number = || Number::parse(text).map(Datum::Number);
        match (self.kind, text) {
            (Kind::Bool, "t") => Datum::Bool(true),
            (Kind::Bool, "f") => Datum::Bool(false),
            (Kind::Integer | Kind::Number, _) => number().unwrap_or_else(|| Datum::Text(text.to_owned())),
            // A lone number is read without JSON's rounding.
            (Kind::Json, _) => number().unwrap_or_else(|| json(text)),
            _ => Datum::Text(text.to_owned()),
        }
    }

    /// The server's text; `0x…` for what is no text, nothing for NULL.
    pub(crate) fn text(&self) -> Option<String> {
        self.bytes.as_ref().map(|bytes| String::from_utf8(bytes.clone()).unwrap_or_else(|_| hexadecimal(bytes)))
    }
}

fn json(text: &str) -> Datum {
    // What a server calls JSON and our reader does not, such as a number out of its range, stays text.
    serde_json::from_str(text).map_or_else(|_| Datum::Text(text.to_owned()), |value| Datum::from_json(&value))
}

/// The bits as the unsigned number that MySQL takes them for.
fn bits(bytes: &[u8]) -> Datum {
    let number = bytes.iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)).to_string();
    Number::parse(&number).map_or(Datum::Text(number), Datum::Number)
}

/// `0x` and two digits for each byte.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    format!("0x{}", hex(bytes))
}

/// The cells of a row of Postgres.
pub(super) fn postgres_cells(row: &PgRow) -> Result<Vec<Cell>, sqlx::Error> {
    let cell = |column: &sqlx::postgres::PgColumn| {
        let value = row.try_get_raw(column.ordinal())?;
        let bytes = match value.is_null() {
            true => None,
            false => Some(value.as_bytes().map_err(sqlx::Error::Decode)?.to_vec()),
        };
        Ok(Cell { kind: Kind::of(Database::Postgres, column.type_info().name()), bytes })
    };
    row.columns().iter().map(cell).collect()
}

/// The cells of a row of MySQL or MariaDB.
pub(super) fn mysql_cells(row: &MySqlRow) -> Result<Vec<Cell>, sqlx::Error> {
    let cell = |column: &sqlx::mysql::MySqlColumn| {
        let bytes: Option<&[u8]> = row.try_get_unchecked(column.ordinal())?;
        Ok(Cell { kind: Kind::of(Database::MySql, column.type_info().name()), bytes: bytes.map(<[u8]>::to_vec) })
    };
    row.columns().iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_digits_and_unreadable_json_stays_text() {
        let check = |text: &str, expected: Datum| {
            assert_eq!(Cell { kind: Kind::Json, bytes: Some(text.into()) }.datum(), expected);
        };
        check("123456789012345678901.5", Datum::Number(Number::parse("123456789012345678901.5").unwrap()));
        check("null", Datum::Null);
        check("\"a\"", Datum::Text("a".to_owned()));
        check("[1]", Datum::Json(serde_json::json!([1])));
        check(&"[".repeat(1000), Datum::Text("[".repeat(1000)));
    }
}
