//! Tests that the agent's writes to real databases are seen, however it makes them.

use scenario::evidence::{AuditEvent, Evidence};
use scenario::result::{RowStatus, ScenarioResult};
use serde_json::{Value as Json, json};

use crate::harness::Harness;
use crate::servers::{Kind, MARIADB, MYSQL, POSTGRES};

/// A spec whose agent runs a script beside a database, with what is written recorded.
fn spec(kind: &Kind, fixture: &str, script: &str, more: &Json) -> String {
    let environment: serde_json::Map<_, _> =
        kind.environment.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let mut spec = json!({
        "version": 1,
        "id": "db-writes",
        "base": kind.image,
        "task": {"prompt": "Write."},
        "agent": {"type": "cli", "command": "bash agent.sh", "timeout": "1m"},
        "setup": {"files": [{"path": "agent.sh", "content": script}]},
        "services": [{"name": "db", "image": kind.image, "env": environment, "ports": [kind.port]}],
        "fixtures": [{"type": "sql", "service": "db", "sql": fixture}],
        "audit": {"db_writes": true},
        "invariants": {"ran": {"description": "It ran", "check": {"type": "file_exists", "path": "done"}}},
    });
    for (key, value) in more.as_object().expect("an object") {
        spec[key] = value.clone();
    }
    spec.to_string()
}

/// Lists the writes, as `op table rows`.
pub(crate) fn writes(evidence: &Evidence) -> Vec<String> {
    let shown = |event: &AuditEvent| match event {
        AuditEvent::DbWrite { service, table, op, rows } if service == "db" => Some(format!("{op} {table} {rows}")),
        _ => None,
    };
    let mut writes: Vec<_> = evidence.audit.iter().flatten().map(|audited| &audited.event).filter_map(shown).collect();
    writes.sort();
    writes
}

async fn run(kind: &Kind, fixture: &str, script: &str, more: Json) -> (ScenarioResult, Evidence) {
    let harness = Harness::docker().await;
    let script = format!("set -eu\n{script}\ntouch done\n");
    let (result, evidence) = harness.run(&spec(kind, fixture, &script, &more)).await;
    let output = &evidence.agent;
    assert_eq!(result.invariants.len(), 1, "{result:#?}");
    assert!(matches!(output.exit, Some(scenario::evidence::Exit::Code(0))), "{:?} {:?}", output.stdout, output.stderr);
    (result, evidence)
}

const PSQL: &str = "export PGHOST=db PGUSER=app PGPASSWORD=\"p@ss w'ord\" PGDATABASE=shop PGCONNECT_TIMEOUT=5\n";

const POSTGRES_TABLES: &str = "
    CREATE TABLE orders (id int PRIMARY KEY, state text);
    INSERT INTO orders SELECT n, 'open' FROM generate_series(1, 5) AS n;
    CREATE TABLE staff (id int PRIMARY KEY, wage int); INSERT INTO staff VALUES (1, 100), (2, 200);
    CREATE TABLE big (id int PRIMARY KEY, text text); INSERT INTO big SELECT n, 'x' FROM generate_series(1, 1000) AS n;
    CREATE TABLE log (line text); CREATE TABLE gone (a int); INSERT INTO gone VALUES (1), (2), (3);
    CREATE TABLE emptied (a int); INSERT INTO emptied VALUES (1), (2);
    CREATE SCHEMA hr; CREATE TABLE hr.people (name text);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log VALUES ('x'); RETURN NEW; END $$;
    CREATE TRIGGER t AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION note();
";

#[tokio::test]
async fn postgres_is_seen_through_every_door() {
    let script = format!(
        r#"{PSQL}
        psql -qv ON_ERROR_STOP=1 <<'SQL'
            SET session_replication_role = replica; SET log_statement = 'none'; SET track_activities = off;
            INSERT INTO orders VALUES (6, 'new'), (7, 'new');
            SET session_replication_role = origin;
            UPDATE orders SET state = 'closed' WHERE id <= 2;
            UPDATE orders SET state = 'never' WHERE id = 99;
            PREPARE p (int) AS DELETE FROM orders WHERE id = $1;
            EXECUTE p (7);
            BEGIN; UPDATE staff SET wage = 0; ROLLBACK;
            DO $$ BEGIN UPDATE big SET text = 'y' WHERE id = 500; END $$;
            TRUNCATE emptied; DROP TABLE gone;
            CREATE TEMP TABLE mine AS SELECT 1 AS a; INSERT INTO mine VALUES (2);
            SET search_path = hr; INSERT INTO people VALUES ('Ada'); SET search_path = public;
SQL
        printf '8\tcopied\n9\tcopied\n' | psql -qc 'COPY orders FROM STDIN'
        printf '%s\n' '\startpipeline' 'UPDATE staff SET wage = wage + 1 WHERE id = 1;' 'UPDATE staff SET wage = wage WHERE id = 9;' \
            '\endpipeline' > bench.sql
        pgbench --no-vacuum --transactions=2 --protocol=prepared --file=bench.sql > /dev/null 2>&1
        if PGSSLMODE=require psql -c 'SELECT 1' 2> refusal; then exit 9; fi
        cat refusal
    "#
    );
    let (result, evidence) = run(&POSTGRES, POSTGRES_TABLES, &script, json!({})).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    assert!(evidence.agent.stdout.text().contains("server does not support SSL"));
    assert_eq!(
        writes(&evidence),
        [
            "changed big 1",
            "changed log 2",
            "copy orders 2",
            "delete orders 1",
            "drop gone 3",
            "insert hr.people 1",
            "insert orders 2",
            "truncate emptied 2",
            "update orders 2",
            "update staff 2",
        ]
    );
    let changes = &evidence.databases["db"];
    assert_eq!(changes.problem, None);
    let changed: Vec<_> = changes.tables.keys().map(String::as_str).collect();
    assert_eq!(
        changed,
        ["hr.people", "public.big", "public.emptied", "public.gone", "public.log", "public.orders", "public.staff"]
    );
    let orders = &changes.tables["public.orders"];
    assert_eq!((orders.rows_before, orders.rows_after), (Some(5), Some(8)));
    assert_eq!(orders.removed, ["(1,open)", "(2,open)"]);
    assert!(changes.tables["public.big"].incomplete);
}

#[tokio::test]
async fn a_write_outside_the_list_fails_the_scenario_and_one_inside_does_not() {
    let script = format!(
        r#"{PSQL}
        psql -qv ON_ERROR_STOP=1 -c "UPDATE orders SET state = 'closed' WHERE id = 1"
        psql -qv ON_ERROR_STOP=1 -c "DO \$\$ BEGIN UPDATE staff SET wage = 0 WHERE id = 1; END \$\$"
        if psql -qc "BEGIN" -c "UPDATE staff SET wage = 5" -c "SELECT pg_terminate_backend(pg_backend_pid())" 2> /dev/null; then true; fi
    "#
    );
    let rule = json!({"forbidden": {"db_writes_outside": ["orders", "log"]}});
    let (result, _) = run(&POSTGRES, POSTGRES_TABLES, &script, rule).await;
    assert_eq!(result.status, RowStatus::Fail);
    let rules: Vec<_> = result.forbidden.iter().map(|rule| (rule.rule.as_str(), rule.details.as_str())).collect();
    assert_eq!(rules, [("db_writes_outside", "changed db.staff (1 row)")]);
}

#[tokio::test]
async fn what_is_not_the_protocol_and_a_broken_database_are_offences() {
    let script = format!(
        r#"{PSQL}
        exec 3<>/dev/tcp/db/5432; printf 'GET / HTTP/1.1\r\n\r\n' >&3; cat <&3; exec 3>&-
        psql -qc "ALTER USER app PASSWORD 'other'"
    "#
    );
    let (result, evidence) = run(&POSTGRES, POSTGRES_TABLES, &script, json!({})).await;
    assert_eq!(result.status, RowStatus::Fail);
    assert_eq!(evidence.offences.len(), 2, "{:#?}", evidence.offences);
    assert!(evidence.offences.iter().any(|offence| offence.starts_with("a connection to `db` could not be followed")));
    assert!(evidence.offences.iter().any(|offence| offence.contains("and now: the database refused the login")));
    assert!(evidence.databases["db"].problem.is_some());
}

#[tokio::test]
async fn a_cast_hides_no_row_and_what_still_runs_writes_nothing_after_the_look() {
    let script = format!(
        r#"{PSQL}
        psql -qv ON_ERROR_STOP=1 <<'SQL'
            CREATE FUNCTION hide(staff) RETURNS text LANGUAGE sql AS $$ SELECT '(1,100)' $$;
            CREATE CAST (staff AS text) WITH FUNCTION hide(staff);
            DO $$ BEGIN UPDATE staff SET wage = 0 WHERE id = 1; END $$;
SQL
        nohup psql -qc 'DO $$ BEGIN PERFORM pg_sleep(12); UPDATE big SET text = 1; END $$' > /dev/null 2>&1 &
        until [ "$(psql -Atc "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'DO%' AND state = 'active'")" = 1 ]; do :; done
    "#
    );
    let (_, evidence) = run(&POSTGRES, POSTGRES_TABLES, &script, json!({})).await;
    assert_eq!(writes(&evidence), ["changed staff 1", "create function hide 0"]);
    assert_eq!(
        evidence.offences,
        [
            "what the answers of the database `db` rest on was changed: cast",
            "a statement still ran in `db` after the agent had ended",
        ]
    );
}

const MYSQL_TABLES: &str = "
    CREATE TABLE orders (id int PRIMARY KEY, state varchar(20), picture blob);
    INSERT INTO orders VALUES (1, 'open', x'00ff'), (2, 'open', NULL), (3, 'it''s', NULL);
    CREATE TABLE staff (id int PRIMARY KEY, wage int); INSERT INTO staff VALUES (1, 100), (2, 200);
    CREATE TABLE log (line varchar(20));
    CREATE TABLE emptied (a int); INSERT INTO emptied VALUES (1), (2);
    CREATE DATABASE other; CREATE TABLE other.t (a int);
    CREATE TRIGGER tr AFTER DELETE ON orders FOR EACH ROW INSERT INTO log VALUES ('x');
";

/// The same on both: what the client `$client` of the image writes as root.
async fn check_mysql(kind: &Kind, client: &str) {
    let script = format!(
        r#"
        sql() {{ {client} -h db -u root -p"p@ss w'ord" "$@"; }}
        sql shop <<'SQL'
            SET sql_log_bin = 0; SET GLOBAL general_log = 0;
            INSERT INTO orders VALUES (4, 'new', NULL), (5, 'new', NULL);
            UPDATE orders SET state = 'closed' WHERE id <= 2; UPDATE orders SET state = 'never' WHERE id = 99;
            DELETE FROM orders WHERE id = 3;
            REPLACE INTO orders VALUES (6, 'replaced', NULL);
            PREPARE p FROM 'INSERT INTO orders VALUES (?, ''prepared'', NULL)'; SET @id = 7; EXECUTE p USING @id;
            START TRANSACTION; UPDATE staff SET wage = 0; ROLLBACK;
            TRUNCATE emptied;
            CREATE TEMPORARY TABLE mine (a int); INSERT INTO mine VALUES (1);
            USE other; INSERT INTO t VALUES (1), (2);
SQL
        printf '8\tloaded\t\\N\n' > rows.txt
        sql --local-infile=1 shop -e "SET GLOBAL local_infile = 1"
        sql --local-infile=1 shop -e "LOAD DATA LOCAL INFILE 'rows.txt' INTO TABLE orders"
    "#
    );
    let (result, evidence) = run(kind, MYSQL_TABLES, &script, json!({})).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?} {:#?}", evidence.offences);
    assert_eq!(
        writes(&evidence),
        [
            "changed log 1",
            "delete orders 1",
            "insert orders 3",
            "insert other.t 2",
            "load orders 1",
            "replace orders 1",
            "truncate emptied 2",
            "update orders 2",
        ]
    );
    let orders = &evidence.databases["db"].tables["shop.orders"];
    assert_eq!(orders.removed, ["'1', 'open', 00FF", "'2', 'open', NULL", "'3', 'it\\'s', NULL"]);
    assert_eq!((orders.rows_before, orders.rows_after, orders.incomplete), (Some(3), Some(7), false));
}

#[tokio::test]
async fn mysql_is_seen_through_every_door() {
    check_mysql(&MYSQL, "mysql").await;
}

#[tokio::test]
async fn mariadb_is_seen_through_every_door() {
    check_mysql(&MARIADB, "mariadb").await;
}

#[tokio::test]
async fn the_user_of_mysqls_image_logs_in_without_tls_and_with_its_public_key() {
    let script = r#"
        mysql -h db -u app -p"app's own" shop -e "UPDATE staff SET wage = 1 WHERE id = 1"
        mysql -h db -u root -p"p@ss w'ord" -e "FLUSH PRIVILEGES"
        mysql -h db -u app -p"app's own" --get-server-public-key shop -e "UPDATE staff SET wage = 2 WHERE id = 1"
        if mysql -h db -u app -p"app's own" --ssl-mode=REQUIRED -e "SELECT 1"; then exit 9; fi
    "#;
    let (result, evidence) = run(&MYSQL, MYSQL_TABLES, script, json!({})).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?} {:#?}", evidence.offences);
    assert_eq!(writes(&evidence), ["update staff 2"]);
}

#[tokio::test]
async fn how_texts_changed_is_kept() {
    let script = "printf 'one\\n2\\n' > notes.txt; echo hello > new.txt; head -c 100 /dev/zero > zeros";
    let more = json!({"setup": {"files": [
        {"path": "agent.sh", "content": format!("{script}; touch done")},
        {"path": "notes.txt", "content": "one\ntwo\n"},
    ]}});
    let (_, evidence) = run(&POSTGRES, "SELECT 1", script, more).await;
    let diffs: Vec<_> = evidence.file_diffs.iter().map(|diff| (diff.path.as_str(), diff.diff.as_str())).collect();
    assert_eq!(diffs, [("new.txt", "@@ -0,0 +1 @@\n+hello\n"), ("notes.txt", "@@ -1,2 +1,2 @@\n one\n-two\n+2\n")]);
}
