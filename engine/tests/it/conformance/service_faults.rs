//! Faults of databases and other containers, as stock clients see them.

use scenario::evidence::{AuditEvent, Evidence};
use serde_json::{Value as Json, json};

use super::{Sketch, assert_said, counts, suite};
use crate::harness::Harness;

const POSTGRES: &str = "touchstone/postgres:15";
const MARIADB: &str = "touchstone/mariadb:10.11";
const REDIS: &str = "touchstone/redis:7";

/// The tables of the Postgres, each of which has faults of its own.
const POSTGRES_TABLES: &str = "CREATE TABLE orders (id int, state text); INSERT INTO orders VALUES (1, 'a'), (2, 'b');
    CREATE TABLE payments (id int PRIMARY KEY); CREATE TABLE sessions (id int); INSERT INTO sessions VALUES (1);
    CREATE TABLE log (id int); CREATE TABLE staff (id int); INSERT INTO staff VALUES (1);";

suite! {
    postgres_fails_as_it_was_told_and_only_what_reached_it_is_written,
    mysql_fails_as_it_was_told_and_only_what_reached_it_is_written,
    connections_to_redis_are_refused_and_reset;
    also on local:
    postgres_fails_as_it_was_told_and_only_what_reached_it_is_written,
    mysql_fails_as_it_was_told_and_only_what_reached_it_is_written,
    connections_to_redis_are_refused_and_reset,
}

/// A script beside a database that is audited and faulted.
fn sketch(image: &str, script: &str, service: &Json, fixture: &str, faults: &Json) -> Sketch {
    let fixtures = json!([{"type": "sql", "service": "db", "sql": fixture}]);
    let chaos = json!({"service_faults": faults});
    Sketch::acting(script)
        .base(image)
        .with(&format!("services: [{service}]\nfixtures: {fixtures}\naudit: {{db_writes: true}}\nchaos: {chaos}"))
}

/// Lists the writes, as `op table rows`.
fn writes(evidence: &Evidence) -> Vec<String> {
    let shown = |event: &AuditEvent| match event {
        AuditEvent::DbWrite { table, op, rows, .. } => Some(format!("{op} {table} {rows}")),
        _ => None,
    };
    let mut writes: Vec<_> = evidence.audit.iter().flatten().map(|audited| &audited.event).filter_map(shown).collect();
    writes.sort();
    writes
}

/// The changes that were made more than once, and how often.
fn duplicates(evidence: &Evidence) -> Vec<(&str, u64)> {
    let record = evidence.faults.as_ref().expect("faults");
    record.duplicates.iter().map(|twice| (twice.target.as_str(), twice.count)).collect()
}

async fn postgres_fails_as_it_was_told_and_only_what_reached_it_is_written(harness: &mut Harness) {
    let script = r#"
        export PGHOST=db PGUSER=app PGPASSWORD=secret PGDATABASE=shop PGCONNECT_TIMEOUT=10
        sql() { psql -qAtX -v VERBOSITY=sqlstate "$@" 2>&1 | tr '\n' ' '; }
        echo "error=$(sql -c "UPDATE orders SET state = 'x' WHERE id = 1")"
        echo "again=$(sql -c "UPDATE orders SET state = 'y' WHERE id = 1" -c "SELECT state FROM orders WHERE id = 1")"
        echo "inside=$(printf "BEGIN;\nUPDATE orders SET state = 'z';\nSELECT 1;\nROLLBACK;\nSELECT 2;\n" | sql)"
        echo "lost=$(sql -c 'INSERT INTO payments VALUES (1)')"
        echo "kept=$(sql -c 'SELECT count(*) FROM payments')"
        echo 'INSERT INTO payments VALUES (2)' > insert.sql
        pgbench --no-vacuum --transactions=1 --protocol=extended --file=insert.sql > bench 2>&1 || echo "bench=$(tr '\n' ' ' < bench)"
        echo "both=$(sql -c 'SELECT count(*) FROM payments')"
        echo "twice=$(sql -c 'INSERT INTO payments VALUES (1)')"
        echo "killed=$(sql -c 'DELETE FROM sessions')"
        echo "reset=$(sql -c 'SELECT * FROM log')"
        echo "refused=$(sql -c 'INSERT INTO staff VALUES (9)')"
        echo "read=$(sql -c 'SELECT count(*) FROM staff')"
        echo 'DELETE FROM staff' > delete.sql
        pgbench --no-vacuum --transactions=1 --protocol=prepared --file=delete.sql > bench 2>&1
        echo "prepared=$(tr '\n' ' ' < bench)"
        sql -c 'INSERT INTO log VALUES (5)' -c 'INSERT INTO log VALUES (5)' -c 'INSERT INTO log VALUES (6)'
    "#;
    let service = json!({
        "name": "db", "image": POSTGRES,
        "env": {"POSTGRES_USER": "app", "POSTGRES_PASSWORD": "secret", "POSTGRES_DB": "shop"},
    });
    let faults = json!([
        {"service": "db", "mode": "error", "sqlstate": "40001", "statement": ["update"], "table": "orders", "on_calls": [1, 3]},
        {"service": "db", "mode": "commit_unknown", "table": "payments"},
        {"service": "db", "mode": "kill_session", "table": "sessions"},
        {"service": "db", "mode": "reset", "statement": ["select"], "table": "log"},
        {"service": "*", "mode": "read_only", "table": "staff"},
        {"service": "db", "mode": "slow", "delay_ms": 1, "statement": ["begin"]},
    ]);
    let (_, evidence) = sketch(POSTGRES, script, &service, POSTGRES_TABLES, &faults).run(harness).await;
    assert_said(
        &evidence,
        &[
            ("error", "40001"),
            ("again", "y"),
            ("inside", "ERROR:  40001 ERROR:  25P02 2"),
            ("lost", "server closed the connection unexpectedly"),
            ("kept", "1"),
            ("bench", "aborted"),
            ("both", "2"),
            // A commit that the database refuses is no fault.
            ("twice", "23505"),
            ("killed", "57P01"),
            ("reset", "server closed the connection unexpectedly"),
            ("refused", "25006"),
            ("read", "1"),
            ("prepared", "read-only"),
        ],
    );
    let expected = ["insert log 3", "insert payments 2", "update orders 1"];
    assert_eq!(writes(&evidence), expected, "{evidence:#?}");
    assert_eq!(duplicates(&evidence), [("db:row of public.log", 2)]);
    let expected = ["error 3/2", "commit_unknown 3/2", "kill_session 1/1", "reset 1/1", "read_only 2/2", "slow 1/1"];
    assert_eq!(counts(&evidence), expected, "{:#?}", evidence.faults);
    assert!(evidence.offences.is_empty(), "{:#?}", evidence.offences);
}

async fn mysql_fails_as_it_was_told_and_only_what_reached_it_is_written(harness: &mut Harness) {
    let script = r#"
        export MYSQL_PWD=secret
        sql() { mariadb -h db -u root -N --force shop "$@" 2>&1 | tr '\n' ' '; }
        # After an error, the client leaves out the rest of the line.
        lines() { printf '%s\n' "$@" | sql; }
        echo "error=$(lines 'START TRANSACTION;' 'INSERT INTO orders VALUES (2);' 'UPDATE orders SET id = 3;' 'COMMIT;')"
        echo "undone=$(sql -e 'SELECT count(*) FROM orders')"
        echo "lost=$(sql -e 'SET autocommit = 0; INSERT INTO payments VALUES (1); COMMIT')"
        echo "kept=$(sql -e 'SELECT count(*) FROM payments')"
        echo "twice=$(sql -e 'INSERT INTO payments VALUES (1)')"
        echo "killed=$(sql -e 'DELETE FROM sessions')"
        echo "reset=$(sql -e 'SELECT * FROM log')"
        echo "refused=$(sql -e 'INSERT INTO staff VALUES (9)')"
        echo "read=$(sql -e 'SELECT count(*) FROM staff')"
        echo "prepared=$(lines "PREPARE p FROM 'INSERT INTO staff VALUES (?)'; SET @id = 7;" 'EXECUTE p USING @id;' 'SELECT 8;')"
        sql -e "INSERT INTO notes (text) VALUES ('paid'); INSERT INTO notes (text) VALUES ('paid'); INSERT INTO notes (text) VALUES ('open')"
    "#;
    let service = json!({
        "name": "db", "image": MARIADB, "wait_timeout": "120s",
        "env": {"MARIADB_ROOT_PASSWORD": "secret", "MARIADB_DATABASE": "shop"},
    });
    let fixture = "CREATE TABLE orders (id int); INSERT INTO orders VALUES (1);
        CREATE TABLE notes (id int AUTO_INCREMENT PRIMARY KEY, text varchar(9)); CREATE TABLE payments (id int PRIMARY KEY); CREATE TABLE sessions (id int); INSERT INTO sessions VALUES (1);
        CREATE TABLE log (id int); CREATE TABLE staff (id int); INSERT INTO staff VALUES (1);";
    let faults = json!([
        {"service": "db", "mode": "error", "sqlstate": "40001", "statement": ["update"], "table": "orders", "on_calls": [1]},
        {"service": "db", "mode": "commit_unknown", "table": "payments"},
        {"service": "db", "mode": "kill_session", "table": "sessions"},
        {"service": "db", "mode": "reset", "statement": ["select"], "table": "log"},
        {"service": "db", "mode": "read_only", "table": "staff"},
    ]);
    let (_, evidence) = sketch(MARIADB, script, &service, fixture, &faults).run(harness).await;
    assert_said(
        &evidence,
        &[
            ("error", "ERROR 1213 (40001)"),
            ("undone", "1"),
            ("lost", "ERROR 2013"),
            ("kept", "1"),
            ("twice", "ERROR 1062"),
            ("killed", "ERROR 1053"),
            ("reset", "ERROR 20"),
            ("refused", "ERROR 1290"),
            ("read", "1"),
            ("prepared", "ERROR 1290"),
            ("prepared", " 8 "),
        ],
    );
    assert_eq!(writes(&evidence), ["insert notes 3", "insert payments 1"], "{evidence:#?}");
    assert_eq!(duplicates(&evidence), [("db:row of shop.notes", 2)], "{:#?}", evidence.databases);
    let expected = ["error 1/1", "commit_unknown 2/1", "kill_session 1/1", "reset 1/1", "read_only 2/2"];
    assert_eq!(counts(&evidence), expected, "{:#?}", evidence.faults);
    assert!(evidence.offences.is_empty(), "{:#?}", evidence.offences);
}

async fn connections_to_redis_are_refused_and_reset(harness: &mut Harness) {
    let script = r#"
        ping() { exec 3<> /dev/tcp/cache/6379 && printf 'PING\r\n' >&3 && read -r answer <&3 && echo "$1=${answer%?}" || echo "$1=broken"; exec 3>&-; }
        trap '' PIPE
        ping one; ping two; ping three
        echo "client=$(redis-cli -h cache PING 2>&1 | tr '\n' ' ')"
    "#;
    let service = json!({"name": "cache", "image": REDIS, "ports": [6379]});
    let faults = json!([
        {"service": "cache", "mode": "refuse", "on_calls": [1]},
        {"service": "cache", "mode": "reset", "on_calls": [2]},
        {"service": "cache", "mode": "slow", "delay_ms": 1, "on_calls": [4]},
    ]);
    let chaos = json!({"service_faults": faults});
    let sketch = Sketch::acting(script).base(REDIS).with(&format!("services: [{service}]\nchaos: {chaos}"));
    let (_, evidence) = sketch.run(harness).await;
    let expected = [("one", "broken"), ("two", "broken"), ("three", "+PONG"), ("client", "PONG")];
    assert_said(&evidence, &expected);
    assert_eq!(counts(&evidence), ["refuse 4/1", "reset 4/1", "slow 4/1"]);
    let targets: Vec<_> = evidence.faults.iter().flat_map(|record| &record.firings).map(|one| &one.target).collect();
    assert_eq!(targets, ["cache:connect"; 3]);
}
