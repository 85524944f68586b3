//! The call that statements are to the fault engine.

use std::sync::Arc;

use scenario::spec::sections::StatementKind;
use scenario::spec::{StatementCall, StatementPart};

use super::super::super::Database;
use super::super::sql::{Effect, Statement};

/// The state of a session before statements.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Standing {
    pub(in super::super) database: Database,
    /// True when a transaction is open.
    pub(in super::super) in_transaction: bool,
    /// True when a write outside of a transaction is committed by itself.
    pub(in super::super) commits_alone: bool,
}

/// The call of statements that are sent at once; `None` when there are none. `written` are the tables that the open transaction
/// wrote to.
pub(in super::super) fn call_of(
    statements: &[Arc<Statement>],
    standing: Standing,
    written: impl Fn() -> Vec<String>,
) -> Option<StatementCall> {
    let part = |statement: &Arc<Statement>| {
        let kind = statement.kind();
        let tables = if kind == StatementKind::Commit { written() } else { statement.tables() };
        StatementPart { kind, tables }
    };
    let parts: Vec<_> = statements.iter().map(part).collect();
    (!parts.is_empty()).then(|| StatementCall { parts, commits: commits(statements, standing) })
}

/// Returns true if statements commit something. Postgres takes all of one message for one transaction, unless they say
/// otherwise.
fn commits(statements: &[Arc<Statement>], standing: Standing) -> bool {
    let Standing { database, in_transaction: mut is_open, commits_alone } = standing;
    let is_mysql = database == Database::MySql;
    let (mut has_committed, mut has_written) = (false, false);
    for statement in statements {
        match statement.effect {
            Effect::Begin => is_open = true,
            Effect::Commit => {
                has_committed |= is_open || has_written;
                (is_open, has_written) = (false, false);
            }
            Effect::Rollback => (is_open, has_written) = (false, false),
            _ if !statement.kind().is_write() => {}
            _ if is_mysql && statement.commits => (has_committed, is_open) = (true, false),
            _ if is_open => {}
            _ if !commits_alone => is_open = true,
            _ if is_mysql => has_committed = true,
            _ => has_written = true,
        }
    }
    has_committed || (has_written && !is_open)
}

#[cfg(test)]
mod tests {
    use super::super::super::super::Database;
    use super::super::super::sql::{Dialect, Script};
    use super::{Standing, commits};

    fn check(database: Database, in_transaction: bool, commits_alone: bool, sql: &str) -> bool {
        let dialect = match database {
            Database::Postgres => Dialect::postgres(),
            Database::MySql => Dialect::mysql(0, false),
        };
        let statements: Vec<_> = Script::read(dialect, sql.as_bytes()).statements.into();
        commits(&statements, Standing { database, in_transaction, commits_alone })
    }

    #[test]
    fn a_commit_and_a_write_outside_of_a_transaction_commit() {
        for database in [Database::Postgres, Database::MySql] {
            let check = |in_transaction, sql| check(database, in_transaction, true, sql);
            assert!(check(true, "COMMIT") && check(false, "UPDATE a SET x = 1"));
            assert!(check(false, "BEGIN; INSERT INTO a VALUES (1); COMMIT"));
            assert!(!check(false, "COMMIT") && !check(true, "UPDATE a SET x = 1") && !check(false, "SELECT 1"));
            assert!(!check(false, "BEGIN; DELETE FROM a") && !check(true, "ROLLBACK"));
        }
        assert!(!check(Database::MySql, false, false, "UPDATE a SET x = 1"), "without autocommit");
        assert!(
            check(Database::MySql, true, false, "DROP TABLE a")
                && !check(Database::Postgres, true, true, "DROP TABLE a")
        );
    }
}
