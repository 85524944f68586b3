//! Tests of reading statements.

use super::super::super::Database;
use super::{Dialect, Effect, Script, Target};

fn read(dialect: Dialect, sql: &str) -> Vec<String> {
    let show = |target: &Target| {
        let schema = target.schema.as_ref().map(|schema| format!("{schema}.")).unwrap_or_default();
        let inner = if target.is_main { "" } else { " (inner)" };
        let temporary = if target.temporary { " (temporary)" } else { "" };
        format!("{} {schema}{}{inner}{temporary}", target.operation, target.table)
    };
    let statements = Script::read(dialect, sql.as_bytes()).statements;
    let of = |statement: &super::Statement| {
        let mut parts: Vec<_> = statement.targets.iter().map(show).collect();
        match &statement.effect {
            Effect::None => {}
            Effect::Prepare(name, inner) => {
                parts
                    .push(format!("prepare {name}: {}", inner.targets.iter().map(show).collect::<Vec<_>>().join(", ")));
            }
            other => parts.push(format!("{other:?}")),
        }
        parts.join(", ")
    };
    statements.iter().map(|statement| of(statement)).collect()
}

#[track_caller]
fn check(database: Database, cases: &[(&str, &str)]) {
    let dialect = match database {
        Database::Postgres => Dialect::postgres(),
        Database::MySql => Dialect::mysql(90_100, false),
    };
    for (sql, expected) in cases {
        assert_eq!(read(dialect, sql).join(" | "), *expected, "{sql}");
    }
}

#[test]
fn the_tables_that_postgres_writes_are_found() {
    check(
        Database::Postgres,
        &[
            ("INSERT INTO orders VALUES (1)", "insert orders"),
            ("insert into \"My Orders\" (a) select 1", "insert My Orders"),
            ("INSERT INTO t (update, delete) VALUES (1, 2) ON CONFLICT (id) DO UPDATE SET a = 1", "insert t"),
            ("UPDATE ONLY Shop.Orders AS o SET a = 1 FROM b WHERE o.id = b.id", "update shop.orders"),
            ("UPDATE a SET (x, y) = (1, 2)", "update a"),
            ("DELETE FROM a USING b WHERE a.id = b.id", "delete a"),
            ("SELECT * FROM a FOR UPDATE", ""),
            (
                "MERGE INTO a USING b ON true WHEN MATCHED THEN UPDATE SET x = 1 WHEN NOT MATCHED THEN INSERT VALUES (1)",
                "merge a",
            ),
            ("TRUNCATE TABLE ONLY a *, b.c CASCADE", "truncate a, truncate b.c"),
            ("COPY a (x, y) FROM STDIN", "copy a"),
            ("COPY a TO STDOUT", ""),
            ("COPY (SELECT 1) TO STDOUT", ""),
            ("COPY (DELETE FROM a RETURNING *) TO STDOUT", "delete a (inner)"),
            (
                "WITH d AS (DELETE FROM a RETURNING *), e AS MATERIALIZED (SELECT 1) INSERT INTO b SELECT * FROM d",
                "insert b, delete a (inner)",
            ),
            ("WITH d AS (UPDATE a SET x = 1 RETURNING *) SELECT count(*) FROM d", "update a (inner)"),
            ("SELECT * INTO TEMP x FROM a", "create x (temporary)"),
            ("SELECT * INTO x FROM a", "create x"),
            ("CREATE TABLE IF NOT EXISTS s.x AS SELECT 1", "create s.x"),
            ("CREATE TEMPORARY TABLE x (a int) ON COMMIT DROP", "create x (temporary)"),
            ("DROP TABLE IF EXISTS a, b CASCADE", "drop a, drop b"),
            ("DROP SCHEMA s CASCADE", "drop s.*"),
            ("ALTER TABLE IF EXISTS ONLY a DROP COLUMN b", "alter a"),
            ("CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ DELETE FROM a; $$", ""),
            ("CREATE RULE r AS ON INSERT TO a DO INSTEAD (INSERT INTO b VALUES (1); DELETE FROM c)", ""),
            ("DO $$ BEGIN DELETE FROM a; END $$", ""),
            ("CALL p(); SELECT f()", "Call | "),
            ("EXPLAIN DELETE FROM a", ""),
            ("EXPLAIN (ANALYZE, COSTS off) DELETE FROM a", "delete a (inner), Explained"),
            ("EXPLAIN ANALYZE UPDATE a SET x = 1", "update a (inner), Explained"),
            ("EXPLAIN ANALYZE WITH y AS (SELECT 1) UPDATE a SET x = 1", "update a (inner), Explained"),
            ("EXPLAIN ANALYZE EXECUTE p", "ExplainedExecute(\"p\")"),
            ("WITH x AS (WITH y AS (SELECT 1) UPDATE a SET x = 1 RETURNING 1) SELECT 1", "update a (inner)"),
            ("COPY (WITH y AS (SELECT 1) UPDATE a SET x = 1 RETURNING 1) TO STDOUT", "update a (inner)"),
            ("WITH y AS (SELECT 1) SEARCH DEPTH FIRST BY a SET b DELETE FROM a", "delete a"),
            ("DEALLOCATE PREPARE P; DEALLOCATE ALL", "Deallocate(\"p\") | DeallocateAll"),
            ("FETCH ALL FROM p; MOVE 1 IN \"P\"", "Fetch(\"p\") | Fetch(\"P\")"),
        ],
    );
}

#[test]
fn the_tables_that_mysql_writes_are_found() {
    check(
        Database::MySql,
        &[
            ("INSERT IGNORE INTO `My Orders` VALUES (1)", "insert My Orders"),
            ("insert low_priority t set a = 1", "insert t"),
            ("REPLACE INTO shop.t VALUES (1)", "replace shop.t"),
            ("UPDATE a JOIN b ON a.id = b.id SET b.x = a.x WHERE a.id = 1", "update b"),
            ("UPDATE a AS one, b two SET one.x = 1, two.y = 2", "update a, update b"),
            ("UPDATE a, b SET x = 1", "update a, update b"),
            ("UPDATE shop.a SET a.x = 1", "update shop.a"),
            ("DELETE x, b FROM a AS x JOIN b ON x.id = b.id", "delete a, delete b"),
            ("DELETE FROM x USING a AS x JOIN b WHERE x.id = b.id", "delete a"),
            ("DELETE QUICK FROM a LIMIT 1", "delete a"),
            ("LOAD DATA LOCAL INFILE 'x' REPLACE INTO TABLE shop.t FIELDS TERMINATED BY ','", "load shop.t"),
            ("SELECT 1 INTO @x; SELECT a INTO OUTFILE '/x' FROM t", " | "),
            ("CREATE OR REPLACE TABLE t (a int)", "create t"),
            ("RENAME TABLE a TO b, c TO d", "alter a, alter b, alter c, alter d"),
            ("/*!50000 INSERT */ INTO /*!99999 x */ t VALUES (1)", "insert t"),
            ("SELECT INSERT('a', 1, 1, 'b'), (INSERT('a', 1, 1, 'b'))", ""),
            ("SET STATEMENT max_statement_time=1 FOR DELETE FROM a", "delete a"),
            ("ANALYZE FORMAT=JSON UPDATE a SET x = 1", "update a (inner), Explained"),
            ("DROP TEMPORARY TABLE x", "drop x"),
            ("TRUNCATE a", "truncate a"),
            ("UPDATE (a JOIN b ON (1 = 1)) SET a.x = 1", "update a"),
            ("UPDATE ((a), (SELECT 1) AS c) SET x = 1", "update a"),
            ("PREPARE P FROM 'SELECT 1'; PREPARE p FROM @text", "prepare p:  | Deallocate(\"p\")"),
        ],
    );
}

#[test]
fn statements_are_told_apart_and_ends_of_transactions_are_seen() {
    check(
        Database::Postgres,
        &[
            (";; BEGIN; INSERT INTO a VALUES (';'); COMMIT ;", "Begin | insert a | Commit"),
            ("ROLLBACK; ABORT; ROLLBACK WORK TO SAVEPOINT x", "Rollback | Rollback | RollbackTo"),
            ("START TRANSACTION; END; ROLLBACK PREPARED 'x'; COMMIT PREPARED 'x'", "Begin | Commit |  | "),
            (
                "PREPARE p (int) AS WITH x AS (DELETE FROM b RETURNING 1) UPDATE a SET x = $1; EXECUTE P(1)",
                "prepare p: update a, delete b (inner) | Execute(\"p\")",
            ),
            ("CREATE FUNCTION f() RETURNS void BEGIN ATOMIC DELETE FROM a; DELETE FROM b; END; DELETE FROM c", ""),
        ],
    );
    check(
        Database::MySql,
        &[
            (
                "USE other; PREPARE p FROM 'DELETE FROM a'; EXECUTE p",
                "Use(\"other\") | prepare p: delete a | Execute(\"p\")",
            ),
            ("SELECT 1; CREATE PROCEDURE p() BEGIN DELETE FROM a; DELETE FROM b; END; DELETE FROM c", " | "),
        ],
    );
}

#[test]
fn a_very_long_or_deep_statement_is_read_by_its_beginning() {
    let deep = format!("INSERT INTO a SELECT {}1{}", "(".repeat(200_000), ")".repeat(200_000));
    check(Database::Postgres, &[(deep.as_str(), "insert a")]);
    let long = format!("SELECT 1{}; DELETE FROM b", "+1".repeat(200_000));
    check(Database::Postgres, &[(long.as_str(), " | delete b")]);
    let hidden = format!("WITH a AS (SELECT 1{}), b AS (DELETE FROM c RETURNING 1) SELECT 1", ", 1".repeat(10_000));
    check(Database::Postgres, &[(hidden.as_str(), "delete c (inner)")]);
}

#[test]
fn the_tables_of_one_statement_are_bounded() {
    for sql in [format!("TRUNCATE a{}", ", a".repeat(1500)), format!("RENAME TABLE a TO b{}", ", a TO b".repeat(900))] {
        let statements = Script::read(Dialect::mysql(90_100, false), sql.as_bytes()).statements;
        assert_eq!(statements[0].targets.len(), 100);
    }
}

proptest::proptest! {
    #[test]
    fn any_words_are_read(words in "(insert|into|update|set|delete|from|with|as|\\(|\\)|;|,|a|b\\.c|prepare|explain|analyze|join|'x'| |\\.|\\*){0,40}", postgres: bool) {
        let dialect = if postgres { Dialect::postgres() } else { Dialect::mysql(90_100, true) };
        Script::read(dialect, words.as_bytes());
    }
}
