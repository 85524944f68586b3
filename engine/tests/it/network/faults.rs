//! Faults of the network, as programs in real sandboxes meet them.

use scenario::evidence::Evidence;
use scenario::result::RowStatus;
use serde_json::{Value as Json, json};

use super::{acting, report};
use crate::db_writes::writes;
use crate::harness::Harness;

const POSTGRES: &str = "touchstone/postgres:15";

crate::conformance::suite_on! { docker:
    a_partition_is_silence_and_a_second_try_gets_through,
    a_name_fails_for_the_agent_alone,
    a_container_is_behind_its_faults_on_every_way_to_it,
    writes_are_recorded_behind_a_slow_connection,
}

crate::conformance::suite_on! { local:
    a_partition_is_silence_and_a_second_try_gets_through,
    a_name_fails_for_the_agent_alone,
    a_container_is_behind_its_faults_on_every_way_to_it,
    writes_are_recorded_behind_a_slow_connection,
}

/// The faults that fired: mode, target, and the number of the call.
fn fired(evidence: &Evidence) -> Vec<String> {
    let faults = evidence.faults.as_ref().expect("faults");
    faults.firings.iter().map(|one| format!("{} {} {}", one.mode, one.target, one.call)).collect()
}

fn mock(name: &str) -> Json {
    json!({"name": name, "type": "http_mock", "record": true, "routes": [{"path": "/*", "response": {"ok": true}}]})
}

async fn a_partition_is_silence_and_a_second_try_gets_through(harness: &mut Harness) {
    let program = r#"
import json, time, urllib.request
def get(url, timeout):
    began = time.monotonic()
    try:
        answer = urllib.request.urlopen(url, timeout=timeout).status
    except OSError as error:
        answer = type(getattr(error, "reason", error)).__name__
    return answer, round(time.monotonic() - began, 3)
answers = [get("http://shop/1", 0.5), get("http://shop/2", 20), get("http://back/1", 0.5), get("http://back/2", 20)]
answers.append(get("http://calm/", 20))
print(json.dumps({"answers": [one for one, _ in answers], "waited": [waited for _, waited in answers]}))
"#;
    let spec = json!({
        "services": [mock("shop"), mock("back"), mock("calm")],
        "chaos": {"network_faults": [
            {"mode": "partition", "services": ["shop"], "times": 1},
            {"mode": "partition", "services": ["back"], "for": "2s"},
        ]},
        // Checks see a network that works, though the rules would hit them.
        "invariants": {"after": {"description": "x", "check": {
            "type": "command_exit", "command": "python3 -c 'import urllib.request as r; r.urlopen(\"http://back/check\", timeout=20)'",
        }}},
    });
    let (result, evidence) = harness.run(&acting(program, &spec)).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    let said = report(&evidence);
    assert_eq!(said["answers"], json!(["TimeoutError", 200, "TimeoutError", 200, 200]));
    assert!(said["waited"][3].as_f64().expect("a time") > 0.1, "{said}");
    assert_eq!(fired(&evidence), ["partition shop 1", "partition back 1", "partition back 2"]);
    let paths = |service: &str| -> Vec<String> {
        evidence.journals[service].exchanges.iter().map(|request| request.path.clone()).collect()
    };
    assert_eq!(paths("shop"), ["/2"], "nothing of the silent connection arrived");
    let mut back = paths("back");
    back.sort();
    assert_eq!(back, ["/1", "/2"], "a request arrives after its client gave up");
}

async fn a_name_fails_for_the_agent_alone(harness: &mut Harness) {
    let program = r#"
import json, socket, subprocess
def look(name):
    try:
        return socket.getaddrinfo(name, 80, type=socket.SOCK_STREAM)[0][4][0]
    except socket.gaierror as error:
        return next(word for word in ("EAI_NONAME", "EAI_AGAIN", "EAI_NODATA") if getattr(socket, word) == error.errno)
def getent(name):
    found = subprocess.run(["getent", "hosts", name], capture_output=True, text=True)
    return found.stdout.split()[:1], found.returncode
names = ["gone", "gone", "gone.services.internal", "away.example.com", "broken", "quiet"]
print(json.dumps({"look": [look(name) for name in names], "getent": [getent("missing"), getent("missing"), getent("calm")]}))
"#;
    let services = ["gone", "broken", "quiet", "missing", "calm"].map(mock);
    let check = |names: &str| format!("for name in {names}; do getent ahosts $name || exit 1; done");
    let spec = json!({
        "services": services,
        "network": {"dns_overrides": {"away.example.com": "calm.services.internal"}},
        "setup": {"commands": [check("gone broken quiet away.example.com missing")]},
        "chaos": {"network_faults": [
            {"mode": "dns_failure", "names": ["GONE"], "times": 1},
            {"mode": "dns_failure", "names": ["*.example.com"]},
            {"mode": "dns_failure", "names": ["broken"], "answer": "servfail"},
            {"mode": "dns_failure", "names": ["quiet"], "answer": "timeout"},
            {"mode": "dns_failure", "names": ["missing"], "on_calls": [1]},
        ]},
        "invariants": {"after": {"description": "x", "check": {
            "type": "command_exit", "command": check("gone broken quiet away.example.com missing"),
        }}},
    });
    let (result, evidence) = harness.run(&acting(program, &spec)).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    let said = report(&evidence);
    let gone = said["look"][1].as_str().expect("an address").to_owned();
    assert!(gone.starts_with("127.10."), "{said}");
    assert_eq!(said["look"], json!(["EAI_NONAME", gone, gone, "EAI_NONAME", "EAI_AGAIN", "EAI_AGAIN"]));
    assert_eq!(said["getent"][0], json!([[], 2]), "it is not in /etc/hosts either");
    assert!(said["getent"][1][1] == 0 && said["getent"][2][1] == 0, "{said}");
    let mut all = fired(&evidence);
    all.dedup_by_key(|one| one.rsplit_once(' ').expect("a number").0.to_owned());
    let expected = ["gone", "away.example.com", "broken", "quiet", "missing"];
    assert_eq!(all, expected.map(|name| format!("dns_failure dns:{name} 1")));
}

async fn a_container_is_behind_its_faults_on_every_way_to_it(harness: &mut Harness) {
    let program = r#"
import json, socket, time
def ping(host):
    began = time.monotonic()
    with socket.create_connection((host, 6379), timeout=20) as stream:
        stream.sendall(b"PING\r\n")
        return stream.recv(64).decode().strip(), time.monotonic() - began >= 0.2
print(json.dumps([ping(host) for host in ("cache", "cache.services.internal", "127.0.0.1")]))
"#;
    let spec = json!({
        "services": [{"name": "cache", "image": "touchstone/redis:7"}],
        "chaos": {"network_faults": [{"mode": "latency", "delay_ms": 100}]},
    });
    let (_, evidence) = harness.run(&acting(program, &spec)).await;
    assert_eq!(report(&evidence), json!([["+PONG", true], ["+PONG", true], ["+PONG", true]]));
    assert_eq!(fired(&evidence), ["latency cache 1", "latency cache 2", "latency cache 3"]);
}

async fn writes_are_recorded_behind_a_slow_connection(harness: &mut Harness) {
    let environment = json!({"POSTGRES_USER": "app", "POSTGRES_PASSWORD": "secret", "POSTGRES_DB": "shop"});
    let script =
        "export PGPASSWORD=secret PGUSER=app PGDATABASE=shop; psql -h db -qc \"INSERT INTO orders VALUES (1), (2)\"";
    let spec = json!({
        "base": POSTGRES,
        "agent": {"type": "cli", "command": ["sh", "-c", script], "timeout": "60s"},
        "services": [{"name": "db", "image": POSTGRES, "env": environment}],
        "fixtures": [{"type": "sql", "service": "db", "sql": "CREATE TABLE orders (id int)"}],
        "audit": {"db_writes": true},
        "chaos": {"network_faults": [
            {"mode": "latency", "services": ["db"], "delay_ms": 50},
            {"mode": "bandwidth", "services": ["db"], "bytes_per_second": 2000},
        ]},
        "invariants": {"written": {"description": "x", "check": {
            "type": "sql", "service": "db", "query": "SELECT count(*) FROM orders", "equals": 2,
        }}},
    });
    let (result, evidence) = harness.run(&acting("", &spec)).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}\n{evidence:#?}");
    assert_eq!(fired(&evidence), ["latency db 1", "bandwidth db 1"]);
    assert_eq!(writes(&evidence), ["insert orders 2"]);
}
