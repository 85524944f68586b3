//! Faults of the sandbox itself and of whole services: files, the clock, containers that stand still or crash.

use serde_json::{Value as Json, json};

use super::{Sketch, assert_said, counts, suite};
use crate::harness::Harness;

const POSTGRES: &str = "touchstone/postgres:15";
const MARIADB: &str = "touchstone/mariadb:10.11";
const REDIS: &str = "touchstone/redis:7";

suite! {
    files_break_and_are_as_before_when_the_agent_has_ended,
    a_clock_is_wrong_and_jumps_and_is_right_again_for_checks,
    a_postgres_stands_still_and_crashes_and_keeps_what_was_committed,
    a_mysql_stands_still_and_crashes_and_keeps_what_was_committed,
    a_redis_stands_still_and_crashes;
    also on local:
    files_break_and_are_as_before_when_the_agent_has_ended,
    a_clock_is_wrong_and_jumps_and_is_right_again_for_checks,
    a_postgres_stands_still_and_crashes_and_keeps_what_was_committed,
    a_mysql_stands_still_and_crashes_and_keeps_what_was_committed,
    a_redis_stands_still_and_crashes,
}

async fn files_break_and_are_as_before_when_the_agent_has_ended(harness: &mut Harness) {
    let script = r#"
        call() { exec 3<> /dev/tcp/shop/80 && printf 'GET /%s HTTP/1.0\r\n\r\n' "$1" >&3 && cat <&3 > /dev/null; exec 3>&-; }
        try() { "$@" 2>&1 | tr '\n' ' '; }
        echo "denied=$(try cat private.txt)"
        echo "listed=$(try ls closed)"
        echo "before=$(cat policy.txt)"
        call change
        echo "after=$(cat policy.txt) $(cat new/file.txt)"
        echo "appended=$(try sh -c 'echo more >> archive/deep/one.txt')"
        echo "made=$(try touch archive/two.txt)"
        echo "read=$(cat archive/deep/one.txt)"
        echo "small=$(try sh -c 'head -c 100 /dev/zero > small.bin && echo fits')"
        echo "full=$(try dd if=/dev/zero of=large.bin bs=1024 count=1024)"
        rm -f large.bin small.bin
        call again
        echo "left=$(( $(df --output=avail -B1 . | tail -1) <= 65536 ))"
        chmod u+w archive/deep/one.txt && echo mine >> archive/deep/one.txt
    "#;
    let chaos = json!({"file_faults": [
        {"mode": "permission_denied", "path": "private.txt"},
        {"mode": "permission_denied", "path": "closed"},
        {"mode": "changed_underneath", "path": "policy.txt", "content": "new", "calls_of": "shop:GET /change"},
        {"mode": "changed_underneath", "path": "new/file.txt", "content": "made", "calls_of": "shop", "on_calls": [1]},
        {"mode": "read_only", "path": "archive"},
        {"mode": "disk_full", "bytes_left": 65536},
        {"mode": "read_only", "path": "nothing/here", "calls_of": "shop:GET /again"},
    ]});
    let files = json!([
        {"path": "private.txt", "content": "x"}, {"path": "closed/a.txt", "content": "x"},
        {"path": "policy.txt", "content": "old"}, {"path": "archive/deep/one.txt", "content": "one"},
        {"path": "archive/same.txt", "content": "same"},
    ]);
    let shop = json!({"name": "shop", "type": "http_mock", "ports": [80], "routes": [{"path": "/*"}]});
    let modes =
        "test \"$(stat -c %a private.txt archive/same.txt closed archive | tr '\\n' ' ')\" = '644 644 755 755 '";
    let sketch = Sketch::acting(script)
        .with(&format!("services: [{shop}]\nresources: {{disk: 16Mi}}\nsetup: {{files: {files}}}\nchaos: {chaos}"))
        .must_succeed("permissions_are_back", modes)
        .must_succeed("there_is_room_again", "dd if=/dev/zero of=large.bin bs=1024 count=2048");
    let (result, evidence) = sketch.run(harness).await;
    let expected = [
        ("denied", "Permission denied"),
        ("listed", "Permission denied"),
        ("before", "old"),
        ("after", "new made"),
        ("appended", "Permission denied"),
        ("made", "Permission denied"),
        ("read", "one"),
        ("small", "fits"),
        ("full", "No space left"),
        ("left", "1"),
    ];
    assert_said(&evidence, &expected);
    assert_eq!(result.status.word(), "pass", "{result:#?}");
    let changes = &evidence.workspace;
    let all = [&changes.added, &changes.removed, &changes.modified].map(|paths| paths.join(" "));
    assert_eq!(all, ["", "", "archive/deep/one.txt"], "only that is the agent's");
    let expected = [
        "permission_denied 1/1",
        "permission_denied 1/1",
        "changed_underneath 1/1",
        "changed_underneath 2/1",
        "read_only 1/1",
        "disk_full 1/1",
        "read_only 1/0",
    ];
    assert_eq!(counts(&evidence), expected);
    assert!(
        evidence.notes.iter().any(|note| note.starts_with("file_faults[6] changed nothing")),
        "{:?}",
        evidence.notes
    );
    assert!(evidence.limits.is_empty() && evidence.offences.is_empty(), "{evidence:#?}");
}

async fn a_clock_is_wrong_and_jumps_and_is_right_again_for_checks(harness: &mut Harness) {
    let script = r#"
        call() { exec 3<> /dev/tcp/shop/80 && printf 'GET / HTTP/1.0\r\n\r\n' >&3 && cat <&3 > /dev/null; exec 3>&-; }
        one=$(date +%s); call; two=$(date +%s); call; three=$(date +%s)
        echo "first=$(( (two - one) / 3600 )) second=$(( (three - two) / 3600 ))"
        echo "minutes=$(( ( $(env -u LD_PRELOAD date +%s) - one ) / 60 ))"
    "#;
    let chaos = json!({"clock_faults": [
        {"mode": "skew", "by": "-10m30s"},
        {"mode": "jump", "by": "2h", "calls_of": "shop", "on_calls": [1]},
    ]});
    let shop = json!({"name": "shop", "type": "http_mock", "ports": [80], "routes": [{"path": "/"}]});
    let right = "now=$(date +%s); real=$(env -u LD_PRELOAD date +%s); test $(( real - now )) -lt 5 && test $(( now - real )) -lt 5";
    let sketch = Sketch::acting(script)
        .with(&format!("services: [{shop}]\nchaos: {chaos}"))
        .must_succeed("the_clock_is_right", right);
    let (result, evidence) = sketch.run(harness).await;
    assert_said(&evidence, &[("first", "2 second=0"), ("minutes", "10")]);
    assert_eq!(result.status.word(), "pass", "{result:#?}");
    assert_eq!(counts(&evidence), ["skew 1/1", "jump 2/1"]);
}

/// An agent beside a service that stands still for a while, and crashes.
fn sketch(image: &str, script: &str, service: &Json, faults: &Json, fixtures: &Json) -> Sketch {
    let chaos = json!({"service_faults": faults});
    Sketch::acting(script).base(image).with(&format!("services: [{service}]\nfixtures: {fixtures}\nchaos: {chaos}"))
}

async fn a_postgres_stands_still_and_crashes_and_keeps_what_was_committed(harness: &mut Harness) {
    let script = r#"
        export PGHOST=db PGUSER=app PGPASSWORD=secret PGDATABASE=shop PGCONNECT_TIMEOUT=10
        sql() { psql -qAtX "$@" 2>&1 | tr '\n' ' '; }
        start=$(date +%s%N)
        sql -c "INSERT INTO orders VALUES (1)"
        echo "waited=$(( ( $(date +%s%N) - start ) / 700000000 > 0 ))"
        echo "crashed=$(printf 'BEGIN;\nINSERT INTO orders VALUES (2);\nDELETE FROM gone;\nCOMMIT;\n' | sql)"
        for try in $(seq 100); do [ "$(sql -c 'SELECT 1')" = '1 ' ] && break; sleep 0.1; done
        echo "kept=$(sql -c 'SELECT id FROM orders')"
        sql -c "INSERT INTO orders VALUES (3)"
    "#;
    let service = json!({
        "name": "db", "image": POSTGRES,
        "env": {"POSTGRES_USER": "app", "POSTGRES_PASSWORD": "secret", "POSTGRES_DB": "shop"},
    });
    let faults = json!([
        {"service": "db", "mode": "pause", "delay_ms": 800, "statement": ["insert"], "on_calls": [1]},
        {"service": "db", "mode": "restart", "table": "gone"},
    ]);
    let fixtures =
        json!([{"type": "sql", "service": "db", "sql": "CREATE TABLE orders (id int); CREATE TABLE gone (id int)"}]);
    let sketch = sketch(POSTGRES, script, &service, &faults, &fixtures)
        .must("both", json!({"type": "sql", "service": "db", "query": "SELECT string_agg(id::text, ',' ORDER BY id) FROM orders", "equals": "1,3"}));
    let (result, evidence) = sketch.run(harness).await;
    assert_said(
        &evidence,
        &[("waited", "1"), ("crashed", "server closed the connection unexpectedly"), ("kept", "1 ")],
    );
    assert_eq!(counts(&evidence), ["pause 3/1", "restart 1/1"], "{:#?}", evidence.faults);
    assert!(evidence.offences.is_empty(), "{:#?}", evidence.offences);
    assert_eq!(result.status.word(), "pass", "{result:#?}");
}

async fn a_mysql_stands_still_and_crashes_and_keeps_what_was_committed(harness: &mut Harness) {
    let script = r#"
        export MYSQL_PWD=secret
        sql() { mariadb -h db -u root -N --connect-timeout=10 shop "$@" 2>&1 | tr '\n' ' '; }
        start=$(date +%s%N)
        sql -e "INSERT INTO orders VALUES (1)"
        echo "waited=$(( ( $(date +%s%N) - start ) / 700000000 > 0 ))"
        echo "crashed=$(sql -e 'START TRANSACTION; INSERT INTO orders VALUES (2); DELETE FROM gone; COMMIT')"
        for try in $(seq 200); do [ "$(sql -e 'SELECT 1')" = '1 ' ] && break; sleep 0.1; done
        echo "kept=$(sql -e 'SELECT id FROM orders')"
        sql -e "INSERT INTO orders VALUES (3)"
    "#;
    let service = json!({
        "name": "db", "image": MARIADB, "wait_timeout": "120s",
        "env": {"MARIADB_ROOT_PASSWORD": "secret", "MARIADB_DATABASE": "shop"},
    });
    let faults = json!([
        {"service": "db", "mode": "pause", "delay_ms": 800, "statement": ["insert"], "on_calls": [1]},
        {"service": "db", "mode": "restart", "table": "gone"},
    ]);
    let tables = "CREATE TABLE orders (id int) ENGINE = InnoDB; CREATE TABLE gone (id int)";
    let fixtures = json!([{"type": "sql", "service": "db", "sql": tables}]);
    let sketch = sketch(MARIADB, script, &service, &faults, &fixtures)
        .must("both", json!({"type": "sql", "service": "db", "query": "SELECT group_concat(id ORDER BY id) FROM orders", "equals": "1,3"}));
    let (result, evidence) = sketch.run(harness).await;
    assert_said(&evidence, &[("waited", "1"), ("crashed", "ERROR 20"), ("kept", "1 ")]);
    assert_eq!(counts(&evidence), ["pause 3/1", "restart 1/1"], "{:#?}", evidence.faults);
    assert!(evidence.offences.is_empty(), "{:#?}", evidence.offences);
    assert_eq!(result.status.word(), "pass", "{result:#?}");
}

async fn a_redis_stands_still_and_crashes(harness: &mut Harness) {
    let script = r#"
        cache() { redis-cli -h cache "$@" 2>&1 | tr '\n' ' '; }
        echo "set=$(cache SET key value)"
        start=$(date +%s%N)
        echo "get=$(cache GET key)"
        echo "waited=$(( ( $(date +%s%N) - start ) / 700000000 > 0 ))"
        cache PING > first.txt
        for try in $(seq 100); do [ "$(cache PING)" = 'PONG ' ] && break; sleep 0.1; done
        echo "gone=[$(cache GET key)]"
    "#;
    let service = json!({"name": "cache", "image": REDIS, "ports": [6379], "command": ["redis-server", "--save", ""]});
    let faults = json!([
        {"service": "cache", "mode": "pause", "delay_ms": 800, "on_calls": [2]},
        {"service": "cache", "mode": "restart", "on_calls": [3]},
    ]);
    let (result, evidence) = sketch(REDIS, script, &service, &faults, &json!([])).run(harness).await;
    assert_said(&evidence, &[("set", "OK"), ("get", "value"), ("waited", "1"), ("gone", "[ ]")]);
    let fired: Vec<_> = evidence.faults.iter().flat_map(|record| &record.rules).map(|rule| rule.fired).collect();
    assert_eq!(fired, [1, 1]);
    assert!(evidence.offences.is_empty(), "{:#?}", evidence.offences);
    assert_eq!(result.status.word(), "pass", "{result:#?}");
}
