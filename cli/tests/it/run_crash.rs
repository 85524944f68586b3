//! `touchstone run` is killed in any way at any time: no accepted run is lost or repeated, and no leftover stays.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value as Json;
use store::RunState;

use crate::place::{Place, THERE, spec};

/// Lines of a run after which it is killed: every phase of a scenario, its beginning and its end.
const POINTS: [&str; 12] = [
    ": started",
    ": prepare …",
    "is there",
    ": prepare took",
    ": the agent acts",
    ": the agent ended",
    ": probe …",
    ": looked at",
    ": destroy …",
    "is gone",
    "pass  trial/default-r0",
    "pass  trial/default-r2",
];
/// Milliseconds after the start at which it is killed, whatever it is doing.
const MOMENTS: [u64; 5] = [1, 15, 40, 90, 200];
/// Number of crashes that are tried at once.
const AT_ONCE: usize = 2;

fn three() -> String {
    spec("sleep 0.2; touch out", &format!("parallelism: {{replicas: 3}}\n{THERE}"))
}

/// Returns the outcome of each scenario, whatever process ran it.
fn verdicts(report: &Json) -> BTreeMap<String, String> {
    let rows = report["experiments"][0]["scenarios"].as_array().expect("rows");
    let verdicts: BTreeMap<_, _> = rows
        .iter()
        .map(|row| {
            let seen = [&row["status"], &row["seed"], &row["parameters"], &row["composite_score"], &row["invariants"]];
            (row["scenario_id"].to_string(), serde_json::to_string(&seen).expect("JSON"))
        })
        .collect();
    assert_eq!(verdicts.len(), rows.len(), "no scenario is there twice");
    verdicts
}

/// Resumes the run of a killed process, and returns the result.
fn finish(place: &Place, point: &str, backend: &str) -> Json {
    let arguments = ["run", "--no-pull", "--resume", "latest", "--format", "json", "--backend", backend];
    let (code, stdout, stderr) = place.run(&arguments);
    assert_eq!(code, 0, "{point}: {stdout}{stderr}");
    serde_json::from_str(&stdout).expect("JSON")
}

/// Each scenario has one result, and one attempt that led to it; nothing is left.
fn check(place: &Place, point: &str) {
    let (state, attempts) = place.only_run();
    assert_eq!(state, RunState::Finished, "{point}");
    let mut judged = BTreeMap::new();
    for (scenario, outcome) in attempts {
        *judged.entry(scenario).or_insert(0) += u32::from(outcome == store::AttemptOutcome::Judged);
    }
    assert_eq!(judged.len(), 3, "{point}");
    assert!(judged.values().all(|count| *count == 1), "{point}: {judged:?}");
    assert_eq!(place.left(), Vec::<String>::new(), "{point}");
}

/// Kills a run after a line, resumes it, and compares it with one that was not killed.
fn crash_after(line: &str, expected: &BTreeMap<String, String>, backend: &str) {
    let place = Place::new(&three());
    let mut run = place.start(&["--max-concurrent", "2", "--backend", backend]);
    assert!(run.wait_for(line), "no line with `{line}`: {}", run.told);
    run.kill();
    // The last line may come after everything was kept.
    if place.only_run().0 == RunState::Open {
        assert_eq!(&verdicts(&finish(&place, line, backend)), expected, "{line}");
    } else {
        assert_eq!(place.run(&["sweep"]).0, 0);
    }
    check(&place, line);
}

#[test]
fn a_run_that_is_killed_in_any_phase_is_finished_with_the_same_verdicts() {
    kill_everywhere("docker");
}

#[test]
fn without_an_engine_the_kernel_ends_what_a_killed_run_left() {
    kill_everywhere("local");
}

fn kill_everywhere(backend: &str) {
    let place = Place::new(&three());
    let (code, report, stderr) = place.report(&["--backend", backend]);
    assert_eq!(code, 0, "{stderr}");
    let expected = verdicts(&report);
    assert_eq!(expected.len(), 3);
    let waiting = Mutex::new(POINTS.to_vec());
    let work = || {
        while let Some(point) = waiting.lock().map(|mut points| points.pop()).expect("points") {
            crash_after(point, &expected, backend);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
}

#[test]
fn a_run_that_is_killed_while_it_begins_was_accepted_whole_or_not_at_all() {
    for moment in MOMENTS {
        let place = Place::new(&three());
        let run = place.start(&[]);
        // Not a wait for something: the point is that any moment will do.
        std::thread::sleep(Duration::from_millis(moment));
        run.kill();
        let point = format!("after {moment} ms");
        let accepted = place.data().join("touchstone.db").exists() && !place.runs().is_empty();
        if accepted && place.only_run().0 == RunState::Open {
            finish(&place, &point, "docker");
            check(&place, &point);
        } else if !accepted {
            // Nothing was promised; the next run has it all, and cleans up.
            assert_eq!(place.run_spec(&[]).0, 0, "{point}");
            check(&place, &point);
        }
    }
}

#[test]
fn the_next_run_tells_of_one_that_was_left_and_removes_what_it_made() {
    let place = Place::new(&spec("sleep 30; touch out", THERE));
    let mut run = place.start(&[]);
    assert!(run.wait_for("the agent acts"));
    run.kill();
    assert!(!place.left().is_empty(), "a crash leaves its sandbox");
    let (code, _, stderr) = place.run_spec(&["--agent", "noop"]);
    assert_eq!(code, 1);
    assert!(stderr.contains("was left unfinished (0 of 1 scenario ended)") && stderr.contains("--resume"), "{stderr}");
    assert_eq!(place.left(), Vec::<String>::new());
    let left: Vec<_> = place.runs().into_iter().filter(|(run, _)| run.state == RunState::Open).collect();
    let id = left[0].0.id.to_string();
    let (code, stdout, stderr) = place.run(&["cancel", &id]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(place.runs().iter().all(|(run, _)| run.state != RunState::Open), "it can be given up");
}

/// Two rules in three worlds, two trials each. One of them fails in a world with faults, and is not critical.
const CONTRACT: &str = "
version: 1
id: trial
base: debian:bookworm-slim
task: {prompt: x}
agent: {type: cli, command: 'sleep 0.1; echo hello'}
services: [{name: shop, type: http_mock, ports: [80]}]
contract:
  name: Trial
  repeat: 2
  invariants:
    - {id: speaks, type: output_not_empty, severity: critical}
    - {id: says-sorry, type: contains, value: sorry, when: any_chaos_active, severity: low}
chaos_matrix:
  - {name: calm}
  - {name: down, tool_faults: [{tool: shop, mode: error}]}
  - {name: slow, tool_faults: [{tool: shop, mode: slow}]}
";

#[test]
fn a_contract_that_is_killed_in_the_middle_is_finished_with_the_same_cells() {
    let told = |report: &Json| {
        let contract = &report["experiments"][0]["contract"];
        let told = ["invariant", "scenario", "status", "trials", "held", "reason", "scenarios"];
        let cells = contract["cells"].as_array().expect("cells").iter();
        let cells: Vec<_> = cells.map(|cell| told.map(|key| cell[key].clone())).collect();
        (contract["resilience_score"].clone(), contract["verdict"].clone(), cells)
    };
    let whole = Place::new(CONTRACT);
    let (code, expected, stderr) = whole.report(&["--backend", "local"]);
    assert_eq!(code, 0, "{stderr}");
    let place = Place::new(CONTRACT);
    let mut run = place.start(&["--max-concurrent", "2", "--backend", "local"]);
    assert!(run.wait_for("trial/calm--speaks--default-r1"), "{}", run.told);
    run.kill();
    assert_eq!(place.only_run().0, RunState::Open, "it was killed in the middle");
    let finished = finish(&place, "a contract", "local");
    assert_eq!(told(&finished), told(&expected));
    assert_eq!(told(&expected).2.len(), 6);
    assert_eq!(place.left(), Vec::<String>::new());
}
