//! SQL checks and fixtures against real servers. One test a server, because starting one is what takes the time.

use std::time::Duration;

use engine::database::{Client, Credentials, Database, DatabaseError, QUERY_LIMIT, Readiness, ready};
use engine::fixtures::sql;
use scenario::evidence::{Datum, SqlAnswer};
use scenario::number::Number;
use serde_json::json;

use crate::servers::{Container, Kind, MARIADB, MYSQL, POSTGRES, START_LIMIT, Server};

fn text(text: &str) -> SqlAnswer {
    SqlAnswer::Value(Datum::Text(text.to_owned()))
}

fn number(text: &str) -> SqlAnswer {
    SqlAnswer::Value(Datum::Number(Number::parse(text).expect("an answer")))
}

fn bool(value: bool) -> SqlAnswer {
    SqlAnswer::Value(Datum::Bool(value))
}

fn null() -> SqlAnswer {
    SqlAnswer::Value(Datum::Null)
}

fn value(json: serde_json::Value) -> SqlAnswer {
    SqlAnswer::Value(Datum::Json(json))
}

async fn ask(client: &mut Client, sql: &str) -> SqlAnswer {
    client.query_first(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

/// Asks every question and compares, numbers also by how they are written.
async fn check_answers(client: &mut Client, questions: Vec<(&str, SqlAnswer)>) {
    for (sql, expected) in questions {
        let found = ask(client, sql).await;
        assert_eq!(found, expected, "{sql}");
        if let (SqlAnswer::Value(found), SqlAnswer::Value(expected)) = (found, expected) {
            assert_eq!(found.text(), expected.text(), "{sql}");
        }
    }
}

async fn check_refused(client: &mut Client, sql: &str, part: &str) {
    match ask(client, sql).await {
        SqlAnswer::Refused(message) => assert!(message.contains(part), "{sql}: {message}"),
        other => panic!("{sql}: {other:?}"),
    }
}

async fn run(client: &mut Client, script: &str) {
    sql::run(client, "fixtures[0].sql", script).await.unwrap_or_else(|error| panic!("{error}"));
}

async fn check_script_fails(client: &mut Client, script: &str, expected: &str) {
    let error = sql::run(client, "fixtures[1].sql", script).await.expect_err("a refusal").to_string();
    assert!(error.starts_with(expected), "expected {expected}\nfound    {error}");
}

/// Checks that hold for every server.
async fn check_common(kind: Kind, server: &Server) {
    let mut client = server.client().await;
    client.ping().await.expect("an answer");
    client.ping().await.expect("an answer");
    run(
        &mut client,
        "CREATE TABLE t (id int PRIMARY KEY, name varchar(20));\nINSERT INTO t VALUES (1, 'a;b'), (2, NULL);",
    )
    .await;
    check_answers(
        &mut client,
        vec![
            ("SELECT count(*) FROM t", number("2")),
            ("SELECT name FROM t ORDER BY id", text("a;b")),
            ("SELECT name FROM t ORDER BY id DESC", null()),
            ("SELECT id FROM t WHERE id > 2", SqlAnswer::NoRow),
            ("SELECT id FROM t WHERE id > 2; SELECT 7", number("7")),
            ("SELECT 'ü€'", text("ü€")),
            ("SELECT ''", text("")),
        ],
    )
    .await;
    check_read_only(&mut client).await;
    check_bounds(kind.database, &mut client).await;
    check_locks(kind.database, server).await;
    check_time(kind.database, &mut client).await;
    check_logins(server).await;
    check_scripts(kind.database, &mut client).await;
    check_broken(server, client).await;
}

async fn check_read_only(client: &mut Client) {
    for sql in [
        "DELETE FROM t",
        "COMMIT; DELETE FROM t",
        "ROLLBACK; INSERT INTO t VALUES (3, 'x')",
        "COMMIT; DROP TABLE t",
        "CREATE TABLE u (id int)",
    ] {
        match ask(client, sql).await {
            SqlAnswer::Refused(message) => assert!(message.to_lowercase().contains("read"), "{sql}: {message}"),
            other => panic!("{sql}: {other:?}"),
        }
    }
    assert_eq!(ask(client, "SELECT count(*) FROM t").await, number("2"));
}

async fn check_bounds(database: Database, client: &mut Client) {
    let long = |count: usize| format!("SELECT repeat('x', {count})");
    assert_eq!(ask(client, &long(1 << 20)).await, text(&"x".repeat(1 << 20)));
    for count in [(1 << 20) + 1, 12 << 20] {
        let error = client.query_first(&long(count)).await.expect_err("a refusal");
        assert!(matches!(error, DatabaseError::TooLarge { limit_bytes: 1_048_576 }), "{error}");
    }
    if database == Database::Postgres {
        let error = client.query_first(&long(200 << 20)).await.expect_err("a refusal");
        assert!(matches!(error, DatabaseError::TooLarge { limit_bytes: 16_777_216 }), "{error}");
        assert_eq!(ask(client, "SELECT generate_series(1, 100000000)").await, number("1"));
    }
}

async fn check_locks(database: Database, server: &Server) {
    // The session stays open, as that of a client that forgot to commit.
    let mut blocker = server.client().await;
    let script = match database {
        Database::Postgres => "CREATE TABLE locked (id int); BEGIN; LOCK TABLE locked; SELECT pg_sleep(60)",
        Database::MySql => "CREATE TABLE locked (id int); LOCK TABLES locked WRITE; SELECT SLEEP(60)",
    };
    let hold = tokio::spawn(async move { blocker.execute_script(script, Duration::from_secs(60)).await });
    let mut client = server.client().await;
    let start = tokio::time::Instant::now();
    let error = loop {
        // Until the lock is held the query is answered or refused.
        match client.query_first("SELECT count(*) FROM locked").await {
            Ok(_) => assert!(start.elapsed() < QUERY_LIMIT),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, DatabaseError::Locked(_)), "{error}");
    assert!(start.elapsed() < Duration::from_secs(20));
    hold.abort();
}

async fn check_time(database: Database, client: &mut Client) {
    let slow = match database {
        Database::Postgres => "SELECT count(*) FROM generate_series(1, 100000000000) AS n",
        Database::MySql => {
            "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
             SELECT count(*) FROM n AS a, n AS b, n AS c, n AS d"
        }
    };
    let limit = Duration::from_millis(500);
    let error = client.query_first_within(slow, limit).await.expect_err("a refusal");
    assert!(matches!(error, DatabaseError::TimedOut { .. }), "{error}");
    // The server itself gives up too, and does not go on for nobody.
    let running = match database {
        Database::Postgres => {
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%000000000%' AND pid <> pg_backend_pid()"
        }
        Database::MySql => "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'WITH RECURSIVE%'",
    };
    let start = tokio::time::Instant::now();
    while ask(client, running).await != number("0") {
        assert!(start.elapsed() < Duration::from_secs(10), "the query is still running");
    }
}

async fn check_logins(server: &Server) {
    let right = server.credentials();
    let wrong = Credentials { password: Some("wrong".to_owned()), ..right.clone() };
    let error = server.client_as(wrong).await.expect_err("a refusal");
    assert!(matches!(error, DatabaseError::LoginRefused(_)), "{error}");
    let missing = Credentials { database: Some("nowhere".to_owned()), ..right };
    let error = server.client_as(missing).await.expect_err("a refusal");
    assert!(matches!(error, DatabaseError::Refused(_)), "{error}");
}

async fn check_scripts(database: Database, client: &mut Client) {
    let (missing, syntax) = match database {
        Database::Postgres => ("relation \"x\" does not exist (42P01)", "syntax error at or near \"ONE\""),
        Database::MySql => ("Table 'shop.x' doesn't exist (1146)", "You have an error in your SQL syntax"),
    };
    // Postgres knows the line inside the statement, MySQL only that of the statement.
    let line = if database == Database::Postgres { 4 } else { 2 };
    let script = "-- first\n SELECT *\n\nFROM x;\n";
    check_script_fails(client, script, &format!("fixtures[1].sql line {line}, in `SELECT *`: {missing}")).await;
    let script = "SELECT 1;\n\nSELECT\n 'ü' ONE TWO THREE;";
    check_script_fails(
        client,
        script,
        &format!("fixtures[1].sql line 4, in `SELECT`: {}", syntax.replace("ONE", "TWO")),
    )
    .await;
    check_script_fails(client, "\n\\connect other\n", "fixtures[1].sql line 2: `\\connect other` is an").await;
    run(client, "BEGIN;\nINSERT INTO t VALUES (9, 'nine');\nCOMMIT;\nUPDATE t SET name = 'NINE' WHERE id = 9;").await;
    assert_eq!(ask(client, "SELECT name FROM t WHERE id = 9").await, text("NINE"));
    run(client, "BEGIN; DELETE FROM t; ROLLBACK; -- done").await;
    assert_eq!(ask(client, "SELECT count(*) FROM t").await, number("3"));
}

/// A server that dies is unreachable at once, for an open connection and for a new one.
async fn check_broken(server: &Server, mut client: Client) {
    client.ping().await.expect("an answer");
    server.kill();
    for _ in 0..2 {
        let error = client.ping().await.expect_err("a refusal");
        assert!(matches!(error, DatabaseError::Unreachable { .. }), "{error}");
        assert!(!error.is_ours());
    }
}

#[tokio::test]
async fn redis_is_pinged_until_it_answers() {
    let container = Container::run("touchstone/redis:7", 6379, &[]);
    for readiness in [Readiness::Redis { port: 6379 }, Readiness::Tcp { port: 6379 }] {
        ready(&readiness, &container.dial(), START_LIMIT).await.expect("redis comes up");
    }
}

#[tokio::test]
async fn postgres_is_asked_and_seeded() {
    let server = Server::start(POSTGRES).await;
    let mut client = server.client().await;
    run(
        &mut client,
        "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN small AS int; CREATE TYPE pair AS (a int, b text)",
    )
    .await;
    check_answers(&mut client, postgres_types()).await;
    // What the agent makes the role's defaults does not change how values are printed.
    run(&mut client, "ALTER ROLE app SET bytea_output = 'escape'; ALTER ROLE app SET IntervalStyle = 'iso_8601'; ALTER ROLE app SET DateStyle = 'German'; ALTER ROLE app SET TimeZone = 'Asia/Tokyo'; ALTER ROLE app SET default_transaction_read_only = off; ALTER ROLE app SET extra_float_digits = -15").await;
    let printed = ["bytea", "interval", "date", "time", "float8"];
    let again = postgres_types().into_iter().filter(|(sql, _)| printed.iter().any(|word| sql.contains(word)));
    check_answers(&mut client, again.collect()).await;
    check_refused(&mut client, "SELECT * FROM nowhere", "relation \"nowhere\" does not exist (42P01)").await;
    check_refused(&mut client, "SELECT 1/0", "division by zero (22012)").await;
    check_refused(&mut client, "COPY (SELECT 1) TO STDOUT", "COPY").await;
    check_refused(&mut client, "CREATE TABLE x AS SELECT 1", "read-only transaction (25006)").await;
    run(&mut client, POSTGRES_SCRIPT).await;
    check_answers(
        &mut client,
        vec![("SELECT twice(2) + thrice(2)", number("10")), ("SELECT count(*) FROM \"s;s\"", number("1"))],
    )
    .await;
    check_script_fails(
        &mut client,
        "SELECT 1;\nCOPY t FROM stdin;\n1\n\\.\n",
        "fixtures[1].sql line 2: `COPY … FROM stdin`",
    )
    .await;
    check_common(POSTGRES, &server).await;
}

const POSTGRES_SCRIPT: &str = "\
CREATE FUNCTION twice(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN n * 2; END; $$;
CREATE FUNCTION thrice(n int) RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT n; SELECT n * 3; END;
CREATE TABLE \"s;s\" (a int); /* ; /* ; */ */
INSERT INTO \"s;s\" VALUES (1); VACUUM \"s;s\";
";

fn postgres_types() -> Vec<(&'static str, SqlAnswer)> {
    vec![
        ("SELECT true", bool(true)),
        ("SELECT false", bool(false)),
        ("SELECT NULL::bool", null()),
        ("SELECT NULL", null()),
        ("SELECT 1::smallint", number("1")),
        ("SELECT -2147483648", number("-2147483648")),
        ("SELECT 9223372036854775807", number("9223372036854775807")),
        ("SELECT 7::small", number("7")),
        ("SELECT 4000000000::oid", number("4000000000")),
        ("SELECT 12345678901234567890.1200", number("12345678901234567890.1200")),
        ("SELECT 0.1::float8", number("0.1")),
        ("SELECT 1e300::float8", number("1e+300")),
        ("SELECT 1.5::real", number("1.5")),
        ("SELECT 'NaN'::numeric", text("NaN")),
        ("SELECT '-Infinity'::float8", text("-Infinity")),
        ("SELECT '$1,234.50'::money", text("$1,234.50")),
        ("SELECT '{\"b\": [1, 2.50], \"a\": null}'::json", value(json!({"b": [1, 2.5], "a": null}))),
        ("SELECT '[true]'::jsonb", value(json!([true]))),
        ("SELECT '\"x\"'::jsonb", text("x")),
        ("SELECT '12345678901234567890.5'::jsonb", number("12345678901234567890.5")),
        ("SELECT 'null'::jsonb", null()),
        ("SELECT 'true'::jsonb", bool(true)),
        ("SELECT 'x'::text", text("x")),
        ("SELECT 'x'::varchar(3)", text("x")),
        ("SELECT 'x'::char(3)", text("x  ")),
        ("SELECT 'x'::\"char\"", text("x")),
        ("SELECT 'x'::name", text("x")),
        ("SELECT 'ok'::mood", text("ok")),
        ("SELECT ARRAY['x', 'y z', NULL]", text("{x,\"y z\",NULL}")),
        ("SELECT ARRAY[[1, 2], [3, 4]]", text("{{1,2},{3,4}}")),
        ("SELECT ARRAY['ok'::mood]", text("{ok}")),
        ("SELECT ROW(1, 'a b')::pair", text("(1,\"a b\")")),
        ("SELECT ROW(1, true)", text("(1,t)")),
        ("SELECT '\\x00ff'::bytea", text("\\x00ff")),
        ("SELECT 'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid", text("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
        ("SELECT date '2026-01-31'", text("2026-01-31")),
        ("SELECT time '12:00:01.5'", text("12:00:01.5")),
        ("SELECT timetz '12:00:00+02'", text("12:00:00+02")),
        ("SELECT timestamp '2026-01-31 12:00:00'", text("2026-01-31 12:00:00")),
        ("SELECT timestamptz '2026-01-31 12:00:00+02'", text("2026-01-31 10:00:00+00")),
        ("SELECT interval '1 year 2 days 3 hours'", text("1 year 2 days 03:00:00")),
        ("SELECT inet '1.2.3.4'", text("1.2.3.4")),
        ("SELECT cidr '10.0.0.0/8'", text("10.0.0.0/8")),
        ("SELECT macaddr '08:00:2b:01:02:03'", text("08:00:2b:01:02:03")),
        ("SELECT B'101'", text("101")),
        ("SELECT point(1, 2)", text("(1,2)")),
        ("SELECT int4range(1, 5)", text("[1,5)")),
        ("SELECT to_tsvector('simple', 'a b')", text("'a':1 'b':2")),
        ("SELECT xmlparse(content '<a/>')", text("<a/>")),
        ("SELECT 'pg_class'::regclass", text("pg_class")),
        ("SHOW server_encoding", text("UTF8")),
        ("EXPLAIN SELECT 1", text("Result  (cost=0.00..0.01 rows=1 width=4)")),
        ("SELECT 1 WHERE false", SqlAnswer::NoRow),
        ("", SqlAnswer::NoRow),
    ]
}

#[tokio::test]
async fn mariadb_is_asked_and_seeded() {
    let server = Server::start(MARIADB).await;
    let mut client = server.client().await;
    check_answers(&mut client, mysql_types(&mut server.client().await, false).await).await;
    check_refused(&mut client, "SELECT * FROM nowhere", "Table 'shop.nowhere' doesn't exist (1146)").await;
    check_mysql_scripts(&mut client).await;
    check_common(MARIADB, &server).await;
}

#[tokio::test]
async fn mysql_is_asked_and_seeded() {
    let server = Server::start(MYSQL).await;
    let mut client = server.client().await;
    check_answers(&mut client, mysql_types(&mut server.client().await, true).await).await;
    check_refused(&mut client, "SELECT * FROM nowhere", "Table 'shop.nowhere' doesn't exist (1146)").await;
    check_mysql_scripts(&mut client).await;
    // The declared user logs in with a password that the server has not seen yet, so that all of it is sent.
    let app = Credentials { user: "app".to_owned(), password: Some("app's own".to_owned()), ..server.credentials() };
    let mut app = server.client_as(app).await.expect("an answer");
    check_refused(&mut app, "SELECT * FROM mysql.user", "denied").await;
    assert_eq!(ask(&mut app, "SELECT 1").await, number("1"));
    check_common(MYSQL, &server).await;
}

async fn check_mysql_scripts(client: &mut Client) {
    run(client, MYSQL_SCRIPT).await;
    check_answers(client, vec![("SELECT twice(2)", number("4")), ("SELECT count(*) FROM `s;s`", number("3"))]).await;
    let script = "SELECT 1;\nCREATE PROCEDURE p()\nBEGIN\n  SELECT 1;\n  SELECT 2;\nEND;";
    check_script_fails(client, script, "fixtures[1].sql line 4, in `CREATE PROCEDURE p()`: You have an error").await;
    let error = sql::run(client, "a.sql", script).await.expect_err("a refusal").to_string();
    assert!(error.contains("; write DELIMITER around"), "{error}");
    check_script_fails(client, "SOURCE x.sql", "fixtures[1].sql line 1: `SOURCE x.sql` reads a file").await;
}

const MYSQL_SCRIPT: &str = "\
# A comment;
CREATE TABLE `s;s` (a int, b varchar(20)); -- another;
INSERT INTO `s;s` VALUES (1, 'it\\'s;'), (2, \"two;\");
/*!40101 SET @x = 1 */;
DELIMITER $$
CREATE FUNCTION twice(n int) RETURNS int DETERMINISTIC BEGIN DECLARE m int; SET m = n * 2; RETURN m; END$$
CREATE TRIGGER nothing BEFORE INSERT ON `s;s` FOR EACH ROW BEGIN SET NEW.a = NEW.a; END$$
DELIMITER ;
INSERT INTO `s;s` VALUES (3, 'three');
";

/// Questions about every type. `genuine` is MySQL, where JSON is a type of its own.
async fn mysql_types(client: &mut Client, genuine: bool) -> Vec<(&'static str, SqlAnswer)> {
    run(
        client,
        "CREATE TABLE types (b boolean, t tinyint unsigned, i int zerofill, u bigint unsigned, bits bit(12), flag bit(1), \
         f float, e enum('x', 'y'), s set('a', 'b'), fixed binary(4), bytes varbinary(9), image blob, ts timestamp, \
         y year, j json, bin varchar(9) COLLATE utf8mb4_bin, c char(4), lt longtext, d3 datetime(3)); \
         INSERT INTO types VALUES (true, 255, 7, 18446744073709551615, b'101000000001', b'1', \
         1.5, 'y', 'a,b', 'ab', 0xff00, 'blob', '2026-01-31 12:00:00', \
         2026, '{\"a\": [1, 2.5]}', 'é', 'x', 'long', '2026-01-31 12:00:00.123')",
    )
    .await;
    let json = if genuine { value(json!({"a": [1, 2.5]})) } else { text("{\"a\": [1, 2.5]}") };
    vec![
        ("SELECT true", number("1")),
        ("SELECT b FROM types", number("1")),
        ("SELECT t FROM types", number("255")),
        ("SELECT i FROM types", number("0000000007")),
        ("SELECT u FROM types", number("18446744073709551615")),
        ("SELECT bits FROM types", number("2561")),
        ("SELECT flag FROM types", number("1")),
        ("SELECT f FROM types", number("1.5")),
        ("SELECT 1e300", number("1e300")),
        ("SELECT 12.3400", number("12.3400")),
        ("SELECT -9223372036854775808", number("-9223372036854775808")),
        ("SELECT e FROM types", text("y")),
        ("SELECT s FROM types", text("a,b")),
        ("SELECT fixed FROM types", text("ab\0\0")),
        ("SELECT bytes FROM types", text("0xff00")),
        ("SELECT image FROM types", text("blob")),
        ("SELECT ts FROM types", text("2026-01-31 12:00:00")),
        ("SELECT d3 FROM types", text("2026-01-31 12:00:00.123")),
        ("SELECT y FROM types", number("2026")),
        ("SELECT j FROM types", json),
        ("SELECT bin FROM types", text("é")),
        ("SELECT c FROM types", text("x")),
        ("SELECT lt FROM types", text("long")),
        ("SELECT CAST('838:59:59' AS time)", text("838:59:59")),
        ("SELECT CAST('2026-01-31' AS date)", text("2026-01-31")),
        ("SELECT ST_GeomFromText('POINT(1 2)') IS NULL", number("0")),
        ("SELECT NULL", null()),
        ("SELECT 1 FROM types WHERE false", SqlAnswer::NoRow),
        // `||` is what the server's own settings say: a logical or.
        ("SELECT 0 || 1", number("1")),
        ("SHOW TABLES LIKE 'types'", text("types")),
        ("SET @a = 5; SELECT @a", number("5")),
    ]
}
