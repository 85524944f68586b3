//! The tables that a statement reads.

use super::super::super::Database;
use super::lexer::Token;
use super::targets::{Cursor, MOST_TABLES};

/// Words after which a name is a table.
const BEFORE_TABLE: [&str; 3] = ["from", "join", "straight_join"];
/// Words that can stand between them and the name.
const BETWEEN: [&str; 2] = ["only", "lateral"];
/// Words that end a list of tables.
const AFTER_TABLES: [&str; 9] = ["where", "group", "order", "limit", "having", "union", "returning", "window", "set"];

/// The names after `FROM` and `JOIN`, at any depth. A name that is none of a table (`extract(year FROM at)`) is taken for one.
pub(super) fn tables(tokens: &[Token<'_>], database: Database) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_expected = false;
    // Whether a comma at this depth is between two tables.
    let mut lists = vec![false];
    let mut cursor = Cursor::new(tokens, database);
    while let Some(token) = cursor.peek().filter(|_| found.len() < MOST_TABLES) {
        if is_expected && !cursor.is_any(&BETWEEN) {
            is_expected = false;
            if let Some(name) = name(&mut cursor) {
                found.push(name);
                continue;
            }
        }
        match token {
            Token::Sign(b'(') => lists.push(false),
            Token::Sign(b')') if lists.len() > 1 => drop(lists.pop()),
            Token::Sign(b',') => is_expected = lists.last() == Some(&true),
            _ if token.is_any(&BEFORE_TABLE) => {
                is_expected = true;
                lists.last_mut().into_iter().for_each(|list| *list = true);
            }
            _ if token.is_any(&AFTER_TABLES) => lists.last_mut().into_iter().for_each(|list| *list = false),
            _ => {}
        }
        cursor.skip(1);
    }
    found
}

/// `[schema .] table`; nothing, and no step, when there is no name.
fn name(cursor: &mut Cursor<'_>) -> Option<String> {
    let mut name = cursor.name()?;
    while cursor.is_sign(b'.') {
        cursor.skip(1);
        // The last two parts tell a table.
        let schema = name.rsplit('.').next().unwrap_or_default().to_owned();
        name = format!("{schema}.{}", cursor.name()?);
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::super::{Dialect, Script};

    fn check(dialect: Dialect, sql: &str, expected: &str) {
        let dialect = Dialect { wants_reads: true, ..dialect };
        let statements = Script::read(dialect, sql.as_bytes()).statements;
        let shown: Vec<_> =
            statements.iter().map(|one| format!("{}: {}", one.kind(), one.tables().join(" "))).collect();
        assert_eq!(shown.join("; "), expected, "{sql} ({:?})", dialect.database);
    }

    #[test]
    fn statements_have_a_kind_and_the_tables_that_they_name() {
        for (sql, expected) in [
            ("SELECT * FROM orders", "select: orders"),
            (
                "SELECT a, b FROM shop.Orders o, staff AS s WHERE x IN (SELECT id FROM log), c",
                "select: shop.orders staff log",
            ),
            ("SELECT (SELECT max(id) FROM a), b FROM c JOIN d ON true LEFT JOIN LATERAL (SELECT 1) x", "select: a c d"),
            ("(SELECT 1 FROM a) UNION SELECT 2 FROM \"B\"", "select: a B"),
            ("TABLE a; VALUES (1); SHOW x; SET y = 1", "select: ; select: ; select: ; other: "),
            ("INSERT INTO a SELECT * FROM b", "insert: a b"),
            ("COPY a FROM STDIN; COPY a TO STDOUT", "insert: a stdin; select: "),
            ("WITH x AS (DELETE FROM a RETURNING *) SELECT * FROM x", "delete: a a x"),
            ("MERGE INTO a USING b ON true WHEN MATCHED THEN DELETE", "update: a"),
            ("SELECT * INTO b FROM a; TRUNCATE c; GRANT ALL ON d TO e", "ddl: b a; ddl: c; ddl: "),
            ("BEGIN; COMMIT; END; ROLLBACK; ROLLBACK TO x", "begin: ; commit: ; commit: ; rollback: ; rollback: "),
            ("EXPLAIN DELETE FROM a; CALL p()", "other: a; other: "),
        ] {
            check(Dialect::postgres(), sql, expected);
        }
        for (sql, expected) in [
            ("REPLACE INTO a VALUES (1); LOAD DATA INFILE 'x' INTO TABLE b", "insert: a; insert: b"),
            ("SELECT * FROM `My Orders` STRAIGHT_JOIN b FOR UPDATE", "select: My Orders b"),
            ("START TRANSACTION; RENAME TABLE a TO b", "begin: ; ddl: a b"),
        ] {
            check(Dialect::mysql(90_100, false), sql, expected);
        }
    }

    #[test]
    fn tables_are_read_only_where_they_are_wanted() {
        let statements = Script::read(Dialect::postgres(), b"SELECT * FROM orders").statements;
        assert!(statements[0].tables().is_empty());
    }
}
