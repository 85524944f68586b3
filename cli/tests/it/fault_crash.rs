//! `touchstone run` is killed while a fault holds: nothing of the fault stays, and every service goes on.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;

use serde_json::{Value as Json, json};

use crate::place::{PATIENCE, PAUSE, Place};

/// The image of agents, which has a shell that opens connections, and psql.
const IMAGE: &str = "touchstone/postgres:15";
/// The crashes that are tried at once.
const AT_ONCE: usize = 2;

/// A fault in which a run is killed.
struct Point {
    name: &'static str,
    /// The commands by which the agent gets into it.
    script: &'static str,
    chaos: Json,
    /// True when all processes of the database must stand still before the kill.
    is_paused: bool,
}

/// Calls a mock, and reads its answer.
const CALL: &str = "call() { exec 3<> /dev/tcp/shop/80; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3; exec 3>&-; }; \
                    sql() { PGPASSWORD=secret psql -qAtX -h db -U app -d shop -c \"$1\"; }; ";

fn points() -> Vec<Point> {
    let point = |name, script, chaos| Point { name, script, chaos, is_paused: false };
    vec![
        point("disk_full", "call", json!({"file_faults": [{"mode": "disk_full", "calls_of": "shop"}]})),
        point(
            "read_only",
            "call",
            json!({"file_faults": [{"mode": "read_only", "path": "kept.txt", "calls_of": "shop"}]}),
        ),
        point("jump", "call", json!({"clock_faults": [{"mode": "jump", "by": "1h", "calls_of": "shop"}]})),
        Point { is_paused: true, ..point("pause", "sql 'SELECT 1' &", service("pause", json!({"delay_ms": 600_000}))) },
        point("restart", "sql 'SELECT 1'", service("restart", json!({}))),
        point("slow", "sql 'SELECT 1' &", service("slow", json!({"delay_ms": 600_000}))),
        point("partition", "call &", json!({"network_faults": [{"mode": "partition", "services": ["shop"]}]})),
        point("timeout", "call &", json!({"tool_faults": [{"tool": "shop", "mode": "timeout", "delay_ms": 600_000}]})),
    ]
}

fn service(mode: &str, more: Json) -> Json {
    let mut fault = json!({"service": "db", "mode": mode, "times": 1});
    for (key, value) in more.as_object().into_iter().flatten() {
        fault[key] = value.clone();
    }
    json!({"service_faults": [fault]})
}

/// The spec of a point. Its agent is in the fault when a program of this name runs.
fn spec(point: &Point, marker: &str) -> String {
    let script = format!("{CALL}\n{}\nexec -a {marker} sleep 600", point.script);
    let agent = json!({"type": "cli", "command": ["bash", "-c", script], "timeout": "10m"});
    let services = json!([
        {"name": "shop", "type": "http_mock", "ports": [80], "routes": [{"path": "/"}]},
        {"name": "db", "image": IMAGE, "ports": [5432], "env": {"POSTGRES_USER": "app", "POSTGRES_PASSWORD": "secret", "POSTGRES_DB": "shop"}},
    ]);
    let chaos = &point.chaos;
    format!(
        "version: 1\nid: t\nbase: {IMAGE}\ntask: {{prompt: x}}\nagent: {agent}\nservices: {services}\nchaos: {chaos}\n\
         resources: {{disk: 16Mi, timeout: 15m}}\nsetup: {{files: [{{path: kept.txt, content: x}}]}}\n\
         invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
    )
}

/// The processes of this machine whose arguments begin with a word.
fn running(word: &str) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").expect("processes").filter_map(Result::ok).map(|entry| entry.path());
    let is_it = |path: &PathBuf| fs::read(path.join("cmdline")).is_ok_and(|line| line.starts_with(word.as_bytes()));
    processes.filter(is_it).collect()
}

/// Returns true if the database of a place stands still: its container is paused, or its processes are stopped.
fn is_still(place: &Place, backend: &str) -> bool {
    if backend == "docker" {
        let id = fs::read_to_string(place.data().join("id")).expect("an id");
        let label = format!("label=touchstone.data={}", id.trim());
        let listed =
            Command::new("docker").args(["ps", "-q", "--filter", "status=paused", "--filter", &label]).output();
        return !listed.expect("docker").stdout.is_empty();
    }
    running("postgres").iter().any(|process| {
        let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    })
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..PATIENCE.as_millis() / PAUSE.as_millis() {
        if is_so() {
            return;
        }
        std::thread::sleep(PAUSE);
    }
    panic!("waited too long for {what}");
}

/// Gets a run into a fault, kills it, and looks at what is left after a sweep.
fn kill_in(point: &Point, backend: &str) {
    let marker = format!("in-{}-{backend}-{}", point.name, std::process::id());
    let place = Place::new(&spec(point, &marker));
    let mut run = place.start(&["--backend", backend]);
    assert!(run.wait_for("the agent acts"), "{}: {}", point.name, run.told);
    wait_until(&marker, || !running(&marker).is_empty());
    if point.is_paused {
        wait_until("the database to stand still", || is_still(&place, backend));
    }
    run.kill();
    let (code, stdout, stderr) = place.run(&["sweep"]);
    assert_eq!(code, 0, "{}: {stdout}{stderr}", point.name);
    place.until_nothing_is_left();
    wait_until("the agent to end", || running(&marker).is_empty());
}

fn kill_everywhere(backend: &str) {
    let waiting = Mutex::new(points());
    let work = || {
        while let Some(point) = waiting.lock().map(|mut points| points.pop()).expect("points") {
            kill_in(&point, backend);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
}

#[test]
fn a_run_that_is_killed_in_a_fault_leaves_nothing_behind_and_nothing_paused() {
    kill_everywhere("docker");
}

#[test]
fn without_an_engine_nothing_of_a_fault_outlives_its_run() {
    kill_everywhere("local");
}
