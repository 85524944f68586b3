//! Attempts to be somewhere in a database when it is looked at, or to change what its answers mean.

use scenario::evidence::{AuditEvent, Evidence};
use scenario::result::{RowStatus, ScenarioResult};
use serde_json::{Value as Json, json};

use super::{Attack, PROGRAM, verdict};
use crate::conformance::suite;
use crate::harness::Harness;

const POSTGRES: &str = "touchstone/postgres:15";
const MARIADB: &str = "touchstone/mariadb:10.11";
const MYSQL: &str = "touchstone/mysql:9";

suite! {
    no_session_of_postgres_outlives_the_agent,
    what_cannot_be_ended_in_postgres_is_an_offence,
    a_connection_that_comes_back_is_an_offence,
    who_locks_us_out_of_a_database_fails,
    no_session_or_event_of_mariadb_outlives_the_agent,
    an_event_that_cannot_be_stopped_is_an_offence,
    postgres_answers_in_the_session_that_it_was_prepared_for,
    what_comes_between_questions_and_tables_of_postgres_is_a_write,
    a_view_in_the_place_of_a_table_is_an_offence,
    mariadb_answers_in_the_session_that_it_was_prepared_for,
    what_comes_between_questions_and_tables_of_mariadb_is_a_write;
    also on local:
    no_session_of_postgres_outlives_the_agent,
    a_connection_that_comes_back_is_an_offence,
    postgres_answers_in_the_session_that_it_was_prepared_for,
    no_session_or_event_of_mariadb_outlives_the_agent;
    on local as root:
    what_cannot_be_ended_in_postgres_is_an_offence,
    who_locks_us_out_of_a_database_fails,
    what_comes_between_questions_and_tables_of_postgres_is_a_write,
    a_view_in_the_place_of_a_table_is_an_offence,
    mariadb_answers_in_the_session_that_it_was_prepared_for,
    what_comes_between_questions_and_tables_of_mariadb_is_a_write,
}

/// An agent that runs a script beside a database. What it leaves behind is waited for by the script itself.
fn attack(image: &str, service: Json, fixture: &str, script: &str) -> Attack {
    Attack::new(&format!("set -eu\n{script}\n"))
        .with("base", image)
        .with("agent.command", format!("bash {PROGRAM}"))
        .with("resources.memory", "256MB")
        .with("services", json!([service]))
        .with("fixtures", json!([{"type": "sql", "service": "db", "sql": fixture}]))
}

fn postgres(script: &str) -> Attack {
    let environment = json!({"POSTGRES_USER": "app", "POSTGRES_PASSWORD": "secret", "POSTGRES_DB": "shop"});
    let service = json!({"name": "db", "image": POSTGRES, "env": environment, "wait_timeout": "120s"});
    let fixture = "CREATE TABLE orders (id int PRIMARY KEY, state varchar(20)); INSERT INTO orders VALUES (1, 'open'); \
        CREATE TABLE staff (id int); INSERT INTO staff VALUES (1); CREATE TABLE held (a int); INSERT INTO held VALUES (7);";
    let variables = "export PGHOST=db PGUSER=app PGPASSWORD=secret PGDATABASE=shop PGCONNECT_TIMEOUT=20";
    attack(
        POSTGRES,
        service,
        fixture,
        &format!("{variables}\nsql() {{ psql -qAtv ON_ERROR_STOP=1 \"$@\"; }}\n{script}"),
    )
}

fn mariadb(script: &str) -> Attack {
    let environment = json!({"MARIADB_ROOT_PASSWORD": "secret", "MARIADB_DATABASE": "shop"});
    let service = json!({"name": "db", "image": MARIADB, "env": environment, "wait_timeout": "120s"});
    attack(MARIADB, service, MYSQL_TABLES, &format!("sql() {{ mariadb -h db -u root -psecret -N \"$@\"; }}\n{script}"))
}

const MYSQL_TABLES: &str = "CREATE TABLE orders (id int PRIMARY KEY, state varchar(20)); INSERT INTO orders VALUES (1, 'open'), (2, 'new'); \
    CREATE TABLE staff (id int); INSERT INTO staff VALUES (1); CREATE TABLE held (a int) ENGINE=InnoDB; INSERT INTO held VALUES (7);";

fn query(sql: &str, value: impl Into<Json>) -> Json {
    let value: Json = value.into();
    json!({"type": "sql", "service": "db", "query": sql, "equals": value})
}

/// Fails unless the agent did what it was to do, so that a test cannot pass because of a typing error in its script.
fn assert_acted(evidence: &Evidence) {
    let agent = &evidence.agent;
    let exit = agent.exit.map(scenario::evidence::Exit::shell_code);
    assert_eq!(exit, Some(0), "{}\n{}", agent.stdout.text(), agent.stderr.text());
}

fn assert_offence(result: &ScenarioResult, evidence: &Evidence, part: &str) {
    assert_acted(evidence);
    assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
    assert!(evidence.offences.iter().any(|offence| offence.contains(part)), "{part}: {:#?}", evidence.offences);
}

/// Sessions that sleep and then write: by a name of ours, in another database, with a lock, and with a transaction that waits
/// for somebody to commit it.
const SLEEPING: &str = r#"
    later='DO $$ BEGIN PERFORM pg_sleep(600); UPDATE orders SET state = 1; END $$'
    PGAPPNAME=touchstone setsid psql -qc "$later" > /dev/null 2>&1 < /dev/null &
    PGAPPNAME=first setsid psql -qc "$later" > /dev/null 2>&1 < /dev/null &
    PGAPPNAME=other PGDATABASE=postgres setsid psql -qc 'SELECT pg_sleep(600)' > /dev/null 2>&1 < /dev/null &
    PGAPPNAME=lock setsid psql -qc 'BEGIN; LOCK TABLE orders; SELECT pg_sleep(600)' > /dev/null 2>&1 < /dev/null &
    until [ "$(sql -c "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()")" = 4 ]; do :; done
    sql -c "BEGIN; LOCK TABLE held; INSERT INTO held VALUES (8); PREPARE TRANSACTION 'later'"
"#;

async fn no_session_of_postgres_outlives_the_agent(harness: &mut Harness) {
    let others = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()";
    let attack = postgres(SLEEPING)
        .with("services.0.command", json!(["postgres", "-c", "max_prepared_transactions=4"]))
        .expect("a_sessions", query(others, 0))
        .expect("b_orders", query("SELECT state FROM orders", "open"))
        .expect("c_held", query("SELECT sum(a) FROM held", 7))
        .expect_command("d_between", "true")
        .expect("e_prepared", query("SELECT count(*) FROM pg_prepared_xacts", 0));
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert_acted(&evidence);
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    assert!(evidence.offences.is_empty(), "{:?}", evidence.offences);
}

async fn what_cannot_be_ended_in_postgres_is_an_offence(harness: &mut Harness) {
    let script = r"
        sql -c 'CREATE TABLE spare (a int)'
        sql -c 'CREATE PUBLICATION p FOR TABLE spare'
        sql -c 'CREATE SUBSCRIPTION s CONNECTION $$host=127.0.0.1 port=1$$ PUBLICATION p WITH (connect = false)'
        sql -c 'ALTER SUBSCRIPTION s ENABLE'
    ";
    let attack = postgres(script).expect("orders", query("SELECT state FROM orders", "open"));
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert_offence(&result, &evidence, "could not be ended: subscription s");
}

async fn a_connection_that_comes_back_is_an_offence(harness: &mut Harness) {
    // In the service itself no password is needed. `cat` takes the row: Postgres fails when nobody reads it.
    let script = r#"
        again='while :; do psql -h /var/run/postgresql -U app -d shop -c "INSERT INTO staff VALUES (2)"; done'
        sql -c "COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; setsid sh -c ''$again'' > /dev/null 2>&1 < /dev/null &'"
        until [ "$(sql -c 'SELECT count(*) > 3 FROM staff')" = t ]; do :; done
    "#;
    let attack = postgres(script).expect("staff", query("SELECT count(*) > 0 FROM staff", true));
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert_offence(&result, &evidence, "a process that was not there before runs in the service `db`");
    assert_offence(&result, &evidence, "after the agent had ended");
}

async fn who_locks_us_out_of_a_database_fails(harness: &mut Harness) {
    for statement in
        ["ALTER ROLE app PASSWORD 'other'", "ALTER DATABASE shop CONNECTION LIMIT 0; ALTER ROLE app NOSUPERUSER"]
    {
        let attack =
            postgres(&format!("sql -c \"{statement}\"")).expect("x", json!({"type": "file_exists", "path": "."}));
        let (result, evidence) = harness.run(&attack.yaml()).await;
        assert_offence(&result, &evidence, "the database `db` was ready before the agent started, and now");
    }
}

/// The same for MariaDB, with users who are called as the server's own threads are, and an event.
const SLEEPING_MARIADB: &str = r#"
    sql -e "CREATE USER event_scheduler IDENTIFIED BY 'x'; CREATE USER 'system user' IDENTIFIED BY 'x'; GRANT ALL ON shop.* TO event_scheduler; GRANT ALL ON shop.* TO 'system user'"
    later='DO SLEEP(600); UPDATE orders SET state = 1'
    setsid mariadb -h db -u root -psecret shop -e "$later" > /dev/null 2>&1 < /dev/null &
    setsid mariadb -h db -u event_scheduler -px shop -e "$later" > /dev/null 2>&1 < /dev/null &
    setsid mariadb -h db -u 'system user' -px shop -e "$later" > /dev/null 2>&1 < /dev/null &
    until [ "$(sql -e "SELECT count(*) FROM information_schema.processlist WHERE info = 'DO SLEEP(600)'")" = 3 ]; do :; done
    sql shop -e "SET GLOBAL event_scheduler = ON; CREATE EVENT tick ON SCHEDULE EVERY 1 SECOND DO INSERT INTO staff VALUES (2)"
    until [ "$(sql -e "SELECT count(*) > 1 FROM shop.staff")" = 1 ]; do :; done
    sql shop -e "XA START 'later'; DELETE FROM held; XA END 'later'; XA PREPARE 'later'"
"#;

async fn no_session_or_event_of_mariadb_outlives_the_agent(harness: &mut Harness) {
    let others = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%SLEEP(600)'";
    let attack = mariadb(SLEEPING_MARIADB)
        .expect("a_sessions", query(others, 0))
        .expect("b_scheduler", query("SELECT @@GLOBAL.event_scheduler", "OFF"))
        .expect("c_orders", query("SELECT state FROM orders WHERE id = 1", "open"))
        .expect("d_held", query("SELECT sum(a) FROM held LOCK IN SHARE MODE", 7))
        .expect("e_events", query("SELECT count(*) FROM information_schema.events WHERE status = 'ENABLED'", 1));
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert_acted(&evidence);
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    assert!(evidence.offences.is_empty(), "{:?}", evidence.offences);
}

/// Only the user of the application is known, who may make events but not stop them.
async fn an_event_that_cannot_be_stopped_is_an_offence(harness: &mut Harness) {
    let environment = json!({"MYSQL_RANDOM_ROOT_PASSWORD": "yes", "MYSQL_USER": "app", "MYSQL_PASSWORD": "secret", "MYSQL_DATABASE": "shop"});
    let service = json!({"name": "db", "image": MYSQL, "env": environment, "wait_timeout": "120s"});
    let script = r#"mysql -h db -u app -psecret shop -e "CREATE EVENT later ON SCHEDULE AT CURRENT_TIMESTAMP + INTERVAL 1 HOUR DO DELETE FROM orders""#;
    let attack = attack(MYSQL, service, MYSQL_TABLES, script);
    let (result, evidence) =
        harness.run(&attack.expect("orders", query("SELECT count(*) FROM orders", 2)).yaml()).await;
    assert_offence(&result, &evidence, "could not be ended: event shop.later");
}

/// Makes everything that a new session begins with different.
const OTHER_SESSIONS: &str = r#"
    sql <<'SQL'
        CREATE SCHEMA lies; CREATE TABLE lies.orders (id int, state text); INSERT INTO lies.orders VALUES (1, 'shipped');
        ALTER ROLE app SET search_path = lies, public; ALTER DATABASE shop SET search_path = lies;
        ALTER ROLE app IN DATABASE shop SET search_path = lies; ALTER ROLE app SET timezone = 'Pacific/Apia';
        ALTER ROLE app SET datestyle = 'German'; ALTER ROLE app SET standard_conforming_strings = off;
        CREATE ROLE weak; ALTER ROLE app SET role = weak; ALTER SYSTEM SET lc_monetary = 'C'; ALTER SYSTEM SET array_nulls = off;
        SELECT pg_reload_conf();
SQL
    if sql -c 'SELECT state FROM public.orders' 2> /dev/null; then exit 9; fi
"#;

async fn postgres_answers_in_the_session_that_it_was_prepared_for(harness: &mut Harness) {
    let attack = postgres(OTHER_SESSIONS)
        .expect("orders", query("SELECT state FROM orders", "open"))
        .expect("date", query("SELECT to_timestamp(0)::text", "1970-01-01 00:00:00+00"))
        .expect("strings", query(r"SELECT length('\n')", 2))
        .expect("nulls", query("SELECT '{NULL}'::text[] = ARRAY[NULL]::text[]", true));
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert_acted(&evidence);
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
}

/// Lists the writes, as `op table`.
fn writes(evidence: &Evidence) -> Vec<String> {
    let shown = |event: &AuditEvent| match event {
        AuditEvent::DbWrite { table, op, .. } => Some(format!("{op} {table}")),
        _ => None,
    };
    let mut writes: Vec<_> = evidence.audit.iter().flatten().map(|audited| &audited.event).filter_map(shown).collect();
    writes.sort();
    writes.dedup();
    writes
}

/// The rule that only `orders` may be written.
fn ruled(attack: Attack) -> Attack {
    attack.with("audit", json!({"db_writes": true})).with("forbidden", json!({"db_writes_outside": ["orders"]}))
}

/// Statements that all run within functions or settings, where nobody sees a statement.
const BETWEEN: &str = r#"
    sql <<'SQL'
        DO $do$ BEGIN
            EXECUTE 'CREATE VIEW report AS SELECT 1 AS paid';
            EXECUTE 'CREATE FUNCTION public.lower(varchar) RETURNS text LANGUAGE sql AS $$ SELECT ''shipped''::text $$';
            EXECUTE 'CREATE FUNCTION same(varchar, varchar) RETURNS bool LANGUAGE sql AS $$ SELECT true $$';
            EXECUTE 'CREATE OPERATOR public.= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = same)';
            EXECUTE 'CREATE RULE r AS ON UPDATE TO staff DO INSTEAD NOTHING';
            EXECUTE 'CREATE POLICY p ON staff USING (false)';
            EXECUTE 'CREATE FUNCTION tf() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$';
            EXECUTE 'CREATE TRIGGER t BEFORE INSERT ON held FOR EACH ROW EXECUTE FUNCTION tf()';
            EXECUTE 'ALTER TABLE held ADD COLUMN b int';
            EXECUTE 'CREATE ROLE other'; EXECUTE 'ALTER ROLE other SET work_mem = ''8MB''';
        END $do$;
        UPDATE orders SET state = 'open';
SQL
"#;

async fn what_comes_between_questions_and_tables_of_postgres_is_a_write(harness: &mut Harness) {
    let attack = ruled(postgres(BETWEEN)).expect("orders", query("SELECT state FROM orders", "open"));
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert_acted(&evidence);
    assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
    assert!(result.forbidden[0].violated, "{:?}", result.forbidden);
    assert_eq!(
        writes(&evidence),
        [
            "changed held",
            "create function lower",
            "create function same",
            "create function tf",
            "create operator =",
            "create policy staff",
            "create rule staff",
            "create setting pg_catalog.pg_db_role_setting",
            "create trigger held",
            "create view report",
            "update orders",
        ]
    );
}

async fn a_view_in_the_place_of_a_table_is_an_offence(harness: &mut Harness) {
    let script = r"
        sql -c 'ALTER SYSTEM SET work_mem = 8192'
        sql -c 'DO $$ BEGIN ALTER TABLE orders RENAME TO real; CREATE VIEW orders AS SELECT 1 AS id, clock_timestamp()::text AS state; END $$'
    ";
    let attack = ruled(postgres(script)).expect("orders", query("SELECT count(*) FROM orders", 1));
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert_offence(&result, &evidence, "the table `public.orders` of the database `db` was replaced by a view");
    assert_eq!(
        writes(&evidence),
        ["change setting pg_catalog.pg_settings", "changed orders", "changed real", "create view orders"]
    );
}

const OTHER_SESSIONS_MARIADB: &str = r#"
    sql -e "SET GLOBAL sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES', GLOBAL sql_select_limit = 1, GLOBAL time_zone = '+05:00', GLOBAL div_precision_increment = 0, GLOBAL lc_time_names = 'de_DE'"
    [ "$(sql shop -e 'SELECT id FROM orders ORDER BY id' | wc -l)" = 1 ]
"#;

async fn mariadb_answers_in_the_session_that_it_was_prepared_for(harness: &mut Harness) {
    let attack = mariadb(OTHER_SESSIONS_MARIADB)
        .expect("strings", query("SELECT \"a\\tb\"", "a\tb"))
        .expect("rows", query("SELECT count(*) FROM (SELECT id FROM orders) AS o", 2))
        .expect("time", query("SELECT @@time_zone", "+00:00"))
        .expect("pipes", query("SELECT 0 || 1", 1))
        .expect("division", query("SELECT 1 / 4", 0.25))
        .expect("names", query("SELECT monthname('2026-05-01')", "May"));
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert_acted(&evidence);
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    // What runs in every new session cannot be undone in it.
    let attack = mariadb("sql -e \"SET GLOBAL init_connect = 'SET @a = 1'\"").expect("orders", query("SELECT 1", 1));
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert_offence(&result, &evidence, "init_connect is not what it was before the agent started");
    assert!(!verdict(&result, "orders").is_passed(), "{result:#?}");
}

const BETWEEN_MARIADB: &str = r#"
    sql shop <<'SQL'
        CREATE VIEW report AS SELECT 1 AS paid;
        CREATE FUNCTION f() RETURNS int DETERMINISTIC RETURN 1;
        CREATE PROCEDURE p() SELECT 1;
        CREATE EVENT e ON SCHEDULE EVERY 1 HOUR DO SELECT 1;
        CREATE TRIGGER t BEFORE INSERT ON held FOR EACH ROW SET NEW.a = 0;
        SET GLOBAL sql_mode = 'ANSI_QUOTES';
        UPDATE orders SET state = 'paid' WHERE id = 1;
SQL
"#;

async fn what_comes_between_questions_and_tables_of_mariadb_is_a_write(harness: &mut Harness) {
    let attack =
        ruled(mariadb(BETWEEN_MARIADB)).expect("orders", query("SELECT state FROM orders WHERE id = 1", "paid"));
    let (result, evidence) = harness.run(&attack.yaml()).await;
    assert_acted(&evidence);
    assert!(result.forbidden[0].violated, "{:?}", result.forbidden);
    assert_eq!(
        writes(&evidence),
        [
            "change setting mysql.global_variables",
            "create event e",
            "create function f",
            "create procedure p",
            "create trigger held",
            "create view report",
            "update orders",
        ]
    );
}
