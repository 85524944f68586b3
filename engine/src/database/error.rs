//! Errors between us and a database, in kinds that tell who is at fault.

use std::fmt;
use std::io;
use std::time::Duration;

use sqlx::mysql::MySqlDatabaseError;
use sqlx::postgres::{PgDatabaseError, PgErrorPosition};

/// Error of a database. A database that was healthy at the baseline and gives one of these afterwards was broken by the
/// agent, unless [`DatabaseError::is_ours`].
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// No server listens, the connection was lost, or the server is starting or stopping.
    #[error("the database cannot be reached: {reason}")]
    Unreachable {
        /// The reason in the words of the system or the server.
        reason: String,
    },
    /// The server knows no such user or password.
    #[error("the database refused the login: {0}")]
    LoginRefused(Refusal),
    /// The server refused what was asked.
    #[error("the database refused: {0}")]
    Refused(Refusal),
    /// No answer came in time.
    #[error("the database gave no answer within {} s", limit.as_secs_f64())]
    TimedOut {
        /// The time that it had.
        limit: Duration,
    },
    /// Another session holds a lock and does not release it.
    #[error("the database is locked by another session: {0}")]
    Locked(Refusal),
    /// The answer is larger than is read.
    #[error("the database's answer is larger than {limit_bytes} bytes")]
    TooLarge {
        /// Limit that the answer exceeded.
        limit_bytes: u64,
    },
    /// The server said something that is not the database's protocol, or not a part of it that is understood.
    #[error("the database's answer cannot be read: {reason}")]
    Unreadable {
        /// Description of the error.
        reason: String,
    },
    /// The relay to the sandbox cannot be opened: nothing that an agent could do.
    #[error("cannot open a relay to the sandbox")]
    Relay(#[source] io::Error),
}

impl DatabaseError {
    /// Returns true if the cause is on our side of the sandbox, and so never the agent's doing.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        matches!(self, Self::Relay(_))
    }
}

/// Refusal by the server itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The server's code: five letters of SQLSTATE for Postgres, a number for MySQL and MariaDB.
    pub code: String,
    /// The server's message.
    pub message: String,
    /// Line of the statement that it is about, from 1.
    pub line: Option<usize>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.message, self.code)
    }
}

/// Turns what the client library says about `sql` into one of our kinds.
pub(super) fn classify(error: sqlx::Error, sql: &str, limit: Duration) -> DatabaseError {
    match error {
        sqlx::Error::Database(error) => match error.try_downcast::<PgDatabaseError>() {
            Ok(error) => classify_postgres(&error, sql, limit),
            Err(error) => match error.try_downcast::<MySqlDatabaseError>() {
                Ok(error) => classify_mysql(&error, limit),
                Err(error) => DatabaseError::Unreadable { reason: error.to_string() },
            },
        },
        sqlx::Error::Io(error) => DatabaseError::Unreachable { reason: error.to_string() },
        sqlx::Error::Tls(error) => DatabaseError::Unreachable { reason: error.to_string() },
        sqlx::Error::Protocol(reason) if reason.contains("Copy") => DatabaseError::Refused(Refusal {
            code: "0A000".to_owned(),
            message: "COPY from stdin or to stdout is not supported".to_owned(),
            line: None,
        }),
        other => DatabaseError::Unreadable { reason: other.to_string() },
    }
}

fn classify_postgres(error: &PgDatabaseError, sql: &str, limit: Duration) -> DatabaseError {
    let line = match error.position() {
        Some(PgErrorPosition::Original(position)) => Some(line_of_character(sql, position)),
        _ => None,
    };
    let refusal = Refusal { code: error.code().to_owned(), message: error.message().to_owned(), line };
    match error.code() {
        "57P01" | "57P02" | "57P03" => DatabaseError::Unreachable { reason: refusal.to_string() },
        "57014" if error.message().contains("statement timeout") => DatabaseError::TimedOut { limit },
        "55P03" => DatabaseError::Locked(refusal),
        code if code.starts_with("28") => DatabaseError::LoginRefused(refusal),
        code if code.starts_with("08") => DatabaseError::Unreachable { reason: refusal.to_string() },
        _ => DatabaseError::Refused(refusal),
    }
}

/// MySQL's and MariaDB's numbers: access denied (1044, 1045, 1698), unknown host (1130), unknown way to log in (1251),
/// shutting down (1053), out of time (3024 and MariaDB's 1969), waited too long for a lock (1205).
fn classify_mysql(error: &MySqlDatabaseError, limit: Duration) -> DatabaseError {
    let line = line_of_message(error.message());
    let refusal = Refusal { code: error.number().to_string(), message: error.message().to_owned(), line };
    match error.number() {
        1044 | 1045 | 1130 | 1251 | 1698 => DatabaseError::LoginRefused(refusal),
        1053 => DatabaseError::Unreachable { reason: refusal.to_string() },
        1969 | 3024 => DatabaseError::TimedOut { limit },
        1205 => DatabaseError::Locked(refusal),
        _ => DatabaseError::Refused(refusal),
    }
}

/// The line of the character at `position`, both from 1.
fn line_of_character(sql: &str, position: usize) -> usize {
    1 + sql.chars().take(position.saturating_sub(1)).filter(|character| *character == '\n').count()
}

/// The line in `… near 'x' at line 3`.
fn line_of_message(message: &str) -> Option<usize> {
    message.rsplit_once("at line ")?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_position_and_in_messages() {
        assert_eq!(line_of_character("SELECT\nä,\nx", 1), 1);
        assert_eq!(line_of_character("SELECT\nä,\nx", 8), 2);
        assert_eq!(line_of_character("SELECT\nä,\nx", 11), 3);
        assert_eq!(line_of_message("You have an error … near 'x' at line 3"), Some(3));
        assert_eq!(line_of_message("Table 'a' doesn't exist"), None);
    }
}
