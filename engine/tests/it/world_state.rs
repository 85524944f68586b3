//! Rules of tool contracts that ask about the world: the live database, the files and the mocks, before a call.

use std::fs;
use std::path::Path;

use engine::bundle::BundleFolder;
use scenario::evidence::Evidence;
use scenario::result::{RowStatus, ScenarioResult};
use serde_json::{Value as Json, json};

use crate::db_writes::writes;
use crate::harness::Harness;
use crate::servers::{Kind, MARIADB, POSTGRES};

/// The password of the databases.
const PASSWORD: &str = "p@ss w'ord";
/// Calls a tool for an order, and prints under a word how that ended.
const CALL: &str = r#"
call() {
    touchstone-tool "$1" "{\"order_id\": \"$2\"}" > said.txt 2>&1
    echo "$3=$? $(tr '\n' ' ' < said.txt)"
}
"#;
const ORDERS: &str = "CREATE TABLE orders (id varchar(20) PRIMARY KEY, state varchar(20)); \
    INSERT INTO orders VALUES ('1001', 'paid'), ('1002', 'open')";
/// The rule of the database, which all tests have.
const ONLY_PAID: &str = "{id: only-paid, every: refund, when_state: \
    {sql: \"select state from orders where id = '{{ arguments.order_id }}'\", service: db, equals: paid}}";

/// Writes contracts for the tools `refund`, `ship`, `wipe` and `mail`, with these rules.
fn write_contracts(folder: &Path, rules: &[&str]) {
    let folder = folder.join("rules");
    fs::create_dir(&folder).expect("a folder");
    let rules: String = rules.iter().map(|rule| format!("  - {rule}\n")).collect();
    let session = format!("schema_version: \"1.0\"\nagent: support\nrules:\n{rules}");
    fs::write(folder.join("session.yaml"), session).expect("a file");
    for tool in ["refund", "ship", "wipe", "mail"] {
        fs::write(folder.join(format!("{tool}.yaml")), format!("tool: {tool}\nside_effect: write\n")).expect("a file");
    }
}

/// Runs a script whose tools are governed by these rules, beside a database and a mock.
async fn run(kind: &Kind, rules: &[&str], script: &str) -> (ScenarioResult, Evidence) {
    let mut harness = Harness::local().await;
    let folder = tempfile::tempdir().expect("a folder");
    write_contracts(folder.path(), rules);
    harness.bundle = BundleFolder::at(folder.path().to_owned());
    let environment: serde_json::Map<_, _> =
        kind.environment.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    let tool = |name: &str| json!({"name": name, "mock": {"rules": [{"return": "done"}]}});
    let mail = json!({"name": "mail", "http": {"service": "smtp", "method": "POST", "path": "/send"}});
    let query = json!({"type": "sql", "service": "db", "query": "select count(*) from orders", "equals": 2});
    let spec = json!({
        "version": 1,
        "id": "world-state",
        "base": kind.image,
        "task": {"prompt": "Refund."},
        "agent": {"type": "cli", "command": ["bash", "-c", format!("{CALL}{script}")], "timeout": "1m"},
        "services": [
            {"name": "db", "image": kind.image, "env": environment, "ports": [kind.port]},
            {"name": "smtp", "type": "http_mock", "record": true, "ports": [80], "routes": [{"path": "/send", "response": "sent"}]},
        ],
        "fixtures": [{"type": "sql", "service": "db", "sql": ORDERS}],
        "tools": [tool("refund"), tool("ship"), tool("wipe"), mail],
        "tool_contracts": {"dir": "rules", "mode": "govern"},
        "audit": {"db_writes": true},
        "invariants": {"all_there": {"description": "No order was lost", "check": query}},
    });
    harness.run(&spec.to_string()).await
}

/// The end of each call: its word, the exit status of the program and a part of what it said.
#[track_caller]
fn assert_ended(evidence: &Evidence, expected: &[(&str, bool, &str)]) {
    let said = evidence.agent.stdout.text();
    for (word, is_allowed, part) in expected {
        let line = said.lines().find_map(|line| line.strip_prefix(&format!("{word}=")));
        let line = line.unwrap_or_else(|| panic!("no {word}: {said}"));
        assert_eq!(line.starts_with("0 "), *is_allowed, "{word}: {line}");
        assert!(line.contains(part), "{word}: {line}");
    }
}

/// The answers of the world, in order.
fn answers(evidence: &Evidence) -> Vec<Json> {
    let session = &evidence.tool_contracts.as_ref().expect("contracts").sessions[0];
    let reads = session.records.iter().filter(|record| record["kind"] == "state_read");
    reads.map(|record| record["answer"].clone()).collect()
}

/// The world gave no answer, for this reason.
#[track_caller]
fn assert_unavailable(answer: &Json, part: &str) {
    let reason = answer["unavailable"].as_str();
    assert!(reason.is_some_and(|reason| reason.contains(part)), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_live_database_says_what_may_be_refunded_and_is_only_read() {
    let script = format!(
        r#"
        export PGHOST=db PGUSER=app PGPASSWORD="{PASSWORD}" PGDATABASE=shop
        call refund 1001 paid; call refund 1002 open; call refund 1003 missing
        psql -qc "update orders set state = 'paid' where id = '1002'"
        call refund 1002 paid_now
        call wipe 1001 wiped; call ship 1001 two; call mail 1001 slow
    "#
    );
    let rules = [
        ONLY_PAID,
        "{id: gone, every: wipe, when_state: {sql: delete from orders returning id, service: db, equals: 1001}}",
        "{id: two, every: ship, when_state: {sql: commit; delete from orders, service: db, equals: 1001}}",
        "{id: slow, every: mail, when_state: {sql: select pg_sleep(60), service: db, equals: ''}}",
    ];
    let (result, evidence) = run(&POSTGRES, &rules, &script).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    assert_ended(
        &evidence,
        &[
            ("paid", true, "done"),
            ("open", false, "only-paid"),
            ("missing", false, "only-paid"),
            ("paid_now", true, "done"),
            ("wiped", false, "could not be read"),
            ("two", false, "could not be read"),
            ("slow", false, "could not be read"),
        ],
    );
    let rows = |state: &str| json!({"rows": [state]});
    let answers = answers(&evidence);
    assert_eq!(answers[..4], [rows("paid"), rows("open"), json!({"rows": []}), rows("paid")]);
    assert_unavailable(&answers[4], "cannot execute DELETE in a read-only transaction");
    assert_unavailable(&answers[5], "exactly one statement can be asked, and there are 2");
    assert_unavailable(&answers[6], "no answer within 5 s");
    assert_eq!(writes(&evidence), ["update orders 1"], "our own questions are no work of the agent");
    assert_eq!(evidence.offences, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn mariadb_is_asked_in_a_transaction_that_writes_nothing() {
    let rules = [
        ONLY_PAID,
        "{id: gone, every: wipe, when_state: {sql: delete from orders, service: db, equals: 1001}}",
        "{id: many, every: ship, when_state: {sql: select seq from seq_1_to_1001, service: db, equals: 1}}",
    ];
    let script = "call refund 1001 paid; call refund 1002 open; call wipe 1001 wiped; call ship 1001 many";
    let (result, evidence) = run(&MARIADB, &rules, script).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    assert_ended(
        &evidence,
        &[
            ("paid", true, "done"),
            ("open", false, "only-paid"),
            ("wiped", false, "could not be read"),
            ("many", false, "could not be read"),
        ],
    );
    let answers = answers(&evidence);
    assert_unavailable(&answers[2], "Cannot execute statement in a READ ONLY transaction");
    assert_unavailable(&answers[3], "more than 1000 rows");
    assert_eq!(writes(&evidence), [""; 0]);
    assert_eq!(evidence.offences, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_requests_are_looked_at_before_each_call() {
    let script = r#"
        call ship 1 absent
        mkdir orders; echo packed > orders/1; call ship 1 packed
        echo open > orders/1; call ship 1 open
        ln -s /etc/hostname orders/2; call ship 2 outside
        head -c 1048577 /dev/zero > orders/3; call ship 3 large
        call mail 1 first; call mail 1 second
    "#;
    let rules = [
        "{id: only-packed, every: ship, when_state: {file: {path: \"orders/{{ arguments.order_id }}\", equals: packed}}}",
        "{id: one-mail, every: mail, when_state: {mock: {service: smtp, path: /send, count: {lte: 0}}}}",
    ];
    let (result, evidence) = run(&MARIADB, &rules, script).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    assert_ended(
        &evidence,
        &[
            ("absent", false, "only-packed"),
            ("packed", true, "done"),
            ("open", false, "only-packed"),
            ("outside", false, "could not be read"),
            ("large", false, "could not be read"),
            ("first", true, "sent"),
            ("second", false, "one-mail"),
        ],
    );
    let answers = answers(&evidence);
    let file = |text: Json| json!({"file": text});
    assert_eq!(answers[..3], [file(Json::Null), file(json!("packed\n")), file(json!("open\n"))]);
    assert_unavailable(&answers[3], "leads out");
    assert_unavailable(&answers[4], "larger than 1048576 bytes");
    assert_eq!(answers[5..], [json!({"count": 0}), json!({"count": 1})]);
    assert_eq!(evidence.journals["smtp"].exchanges.len(), 1, "a refused mail is not sent");
}
