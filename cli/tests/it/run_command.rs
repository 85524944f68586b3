//! `touchstone run` as a person uses it, also wrongly.

use std::fs;
use std::process::Command;

use serde_json::json;
use store::{AttemptOutcome, RunState};

use crate::place::{Place, THERE, local_spec, spec};
use crate::read;

const SLOW: &str = "parallelism: {matrix: {how: [bad, slow]}}";

/// One scenario fails at once, the other takes half a minute.
fn bad_and_slow() -> Place {
    Place::new(&spec(
        "case {{ params.how }} in bad) exit 0;; slow) sleep 30; touch out;; esac",
        &format!("{SLOW}\n{THERE}"),
    ))
}

#[test]
fn a_run_is_shown_written_and_kept() {
    let place = Place::new(&spec("touch out", &format!("parallelism: {{replicas: 2}}\n{THERE}")));
    let file = |name: &str| place.path().join(name).display().to_string();
    let files: Vec<_> = ["out.json", "out.xml", "out.md", "out.txt"].map(file).into();
    let arguments: Vec<_> = files.iter().flat_map(|file| ["-o", file]).collect();
    let (code, stdout, stderr) = place.run_spec(&arguments);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains("trial passed: cells 1, passed 1, failed 0; scenarios 2, passed 2"), "{stdout}");
    assert!(stderr.contains("pass  trial/default-r1 (1.000, "), "plain lines where nobody watches: {stderr}");
    let written = |name: &str| fs::read_to_string(place.path().join(name)).expect("a file");
    let report: serde_json::Value = serde_json::from_str(&written("out.json")).expect("JSON");
    assert_eq!((&report["verdict"], &report["exit_code"]), (&json!("pass"), &json!(0)));
    assert_eq!(report["experiments"][0]["total_scenarios"], 2);
    assert!(written("out.xml").contains("<testsuite name=\"trial\" tests=\"2\""));
    assert!(written("out.md").contains("trial") && written("out.txt").contains("trial passed"));
    assert_eq!(place.only_run().0, RunState::Finished);
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn who_reads_lines_of_json_is_told_while_scenarios_run() {
    let place = bad_and_slow();
    let spec = place.spec().display().to_string();
    let mut running = place.begin(&["run", "--no-pull", &spec, "--format", "ndjson", "--max-concurrent", "2"]);
    assert!(running.wait_for("\"type\":\"ended\""), "{}", running.told);
    // The other scenario would take half a minute more.
    running.signal("INT");
    let (_, told) = running.end();
    let lines: Vec<serde_json::Value> = told
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let types: Vec<_> = lines.iter().map(|line| line["type"].as_str().expect("a type")).collect();
    assert_eq!(types, ["began", "began", "ended", "scenario", "experiment", "end"], "{told}");
    let ended = &lines[2];
    assert_eq!((&ended["spec_id"], &ended["status"], &ended["attempt"]), (&json!("trial"), &json!("fail"), &json!(1)));
    assert_eq!(ended["scenario_id"], lines[3]["scenario_id"]);
    assert!(ended["wall_ms"].is_u64() && ended["composite_score"] == 0.0, "{ended}");
    assert!(lines[5]["note"].as_str().is_some_and(|note| note.contains("interrupted")), "{told}");
}

#[test]
fn mistakes_are_said_before_anything_is_kept() {
    let place = Place::new(&spec("touch out", &format!("secrets: [NO_SUCH_VARIABLE_HERE]\n{THERE}")));
    let (code, _, stderr) = place.run_spec(&[]);
    assert!(code == 2 && stderr.contains("NO_SUCH_VARIABLE_HERE"), "{code}: {stderr}");
    let place = Place::new(&spec("touch out", THERE));
    for (arguments, what) in [
        (["--filter", "nothing-*"], "no scenario matches `nothing-*`"),
        (["--param", "x=1"], "there is no parameter `x`"),
        (["-o", "report.pdf"], "says no format"),
        (["--timeout", "soon"], "90s, 10m or 1h"),
        (["--min-pass-rate", "2"], "from 0 to 1"),
    ] {
        let (code, _, stderr) = place.run_spec(&arguments);
        assert!(code == 2 && stderr.contains(what), "{arguments:?}: {code}: {stderr}");
    }
    let (code, stdout, _) = Place::new("version: 1\nid: x\n").run_spec(&[]);
    assert!(code == 3 && stdout.contains("missing"), "{stdout}");
    let judged = "invariants: {x: {description: x, check: {type: llm_as_judge, model: nobody-knows-it, criteria: x}}}";
    let (code, stdout, stderr) = Place::new(&spec("touch out", judged)).run_spec(&[]);
    assert!(code == 4 && stderr.contains("nobody-knows-it"), "{code}: {stdout}{stderr}");
    assert!(!place.data().join("touchstone.db").exists(), "nothing was kept");
}

#[test]
fn one_signal_cancels_and_cleans_up() {
    let place = Place::new(&spec("sleep 30; touch out", &format!("parallelism: {{replicas: 3}}\n{THERE}")));
    let mut run = place.start(&["--max-concurrent", "2"]);
    assert!(run.wait_for("the agent acts"), "{}", run.told);
    run.signal("INT");
    let (status, told) = run.end();
    assert_eq!(status.code(), Some(130), "{told}");
    assert!(told.contains("interrupted: cancelling and cleaning up"), "{told}");
    let (state, attempts) = place.only_run();
    assert_eq!(state, RunState::Cancelled);
    assert!(attempts.iter().all(|(_, outcome)| *outcome == AttemptOutcome::Cancelled), "{attempts:?}");
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn the_rest_is_cancelled_when_one_failure_is_enough() {
    let place = bad_and_slow();
    let (code, report, stderr) = place.report(&["--fail-fast", "--max-concurrent", "2"]);
    assert_eq!(code, 1, "{stderr}");
    assert!(report["note"].as_str().is_some_and(|note| note.contains("--fail-fast")), "{report}");
    assert_eq!(report["experiments"][0]["scenarios"].as_array().map(Vec::len), Some(1));
    assert_eq!(place.only_run().0, RunState::Cancelled);
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn what_has_not_ended_when_the_time_is_up_could_not_be_judged() {
    let place = bad_and_slow();
    let (code, report, stderr) = place.report(&["--timeout", "2s", "--param", "how=slow"]);
    assert_eq!(code, 4, "{stderr}");
    assert!(report["note"].as_str().is_some_and(|note| note.contains("--timeout")), "{report}");
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn parameters_replicas_filters_and_seeds_choose_what_is_run() {
    let place = bad_and_slow();
    let (code, report, stderr) = place.report(&["--param", "how=bad", "--replicas", "2", "--seed", "7"]);
    assert_eq!(code, 1, "{stderr}");
    let rows = report["experiments"][0]["scenarios"].as_array().expect("rows").clone();
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row["parameters"] == json!({"how": "bad"})));
    let id = rows[1]["scenario_id"].as_str().expect("an id");
    let command = rows[1]["reproducer"]["command"].as_str().expect("a command");
    assert!(command.contains("--seed 7") && command.contains("--param how=bad"), "{command}");
    let (_, again, _) = place.report(&["--param", "how=bad", "--replicas", "2", "--seed", "7", "--filter", id]);
    let again = again["experiments"][0]["scenarios"].as_array().expect("rows").clone();
    assert_eq!(again.len(), 1);
    assert_eq!((&again[0]["seed"], &again[0]["scenario_id"]), (&rows[1]["seed"], &rows[1]["scenario_id"]));
}

#[test]
fn the_command_that_repeats_a_scenario_repeats_it() {
    let place = Place::new(&crate::place::local_spec("touch out", THERE));
    let (code, report, stderr) = place.report(&["--agent", "noop", "--backend", "local"]);
    assert_eq!(code, 1, "{stderr}");
    let row = &report["experiments"][0]["scenarios"][0];
    let command = row["reproducer"]["command"].as_str().expect("a command");
    let arguments: Vec<_> = command.split_whitespace().skip(1).collect();
    let (code, again, stderr) = place.run(&[&arguments[..], &["--format", "json"]].concat());
    assert_eq!(code, 1, "{command}: {stderr}");
    let again: serde_json::Value = serde_json::from_str(&again).expect("JSON");
    let again = &again["experiments"][0]["scenarios"][0];
    for same in ["seed", "scenario_id", "status", "invariants"] {
        assert_eq!(again[same], row[same], "{same}");
    }
    assert_eq!(again["reproducer"], row["reproducer"]);
}

#[test]
fn our_own_failures_are_tried_again_and_all_attempts_are_kept() {
    let service = "services: [{name: deaf, image: touchstone/busybox:1, command: [sleep, '60'], wait_for: 'false', wait_timeout: 1s}]";
    let place = Place::new(&spec("touch out", &format!("{service}\n{THERE}")));
    let (code, report, stderr) = place.report(&[]);
    assert_eq!(code, 4, "{stderr}");
    assert_eq!(report["experiments"][0]["scenarios"][0]["error_kind"], "infrastructure");
    assert!(stderr.contains("retry trial/default-r0: attempt 2 failed"), "{stderr}");
    let (state, attempts) = place.only_run();
    assert_eq!(state, RunState::Finished);
    assert_eq!(attempts.iter().map(|(_, outcome)| *outcome).collect::<Vec<_>>(), [AttemptOutcome::Infrastructure; 3]);
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn an_ephemeral_run_keeps_nothing() {
    let place = Place::new(&spec("touch out", THERE));
    let (code, stdout, stderr) = place.run_spec(&["--ephemeral"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(!place.data().join("touchstone.db").exists() && !place.data().join("evidence").exists());
    assert!(!place.data().join("bundles").exists());
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn a_sandbox_is_kept_when_its_scenario_failed_and_swept_when_asked() {
    let place = Place::new(&spec("echo evidence > other", THERE));
    let (code, report, stderr) = place.report(&["--keep-sandbox", "on-failure"]);
    assert_eq!(code, 1, "{stderr}");
    let name = report["experiments"][0]["scenarios"][0]["sandbox_id"].as_str().expect("a name").to_owned();
    assert!(stderr.contains(&format!("touchstone shell {name}")), "{stderr}");
    let look =
        || read(Command::new("docker").args(["exec", &name, "cat", "/workspace/other"]).output().expect("docker"));
    assert_eq!(look().1, "evidence\n");
    let data = place.data().display().to_string();
    let entered = crate::run(&["shell", "latest/default-r0", "--data-dir", &data, "--", "cat", "other"]);
    assert_eq!(entered, (0, "evidence\n".to_owned(), String::new()), "the same on either backend");
    let (code, _, stderr) = place.run(&["sweep"]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(look().1, "evidence\n", "an ordinary sweep spares it");
    assert_eq!(place.run(&["sweep", "--kept"]).0, 0);
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn a_scenario_and_an_experiment_can_be_run_again() {
    let place = Place::new(&spec("echo {{ seed }} > out", &format!("parallelism: {{replicas: 2}}\n{THERE}")));
    let (_, first, _) = place.report(&["--seed", "11"]);
    // What was kept is run, and not what the folder has become.
    fs::write(place.spec().join("spec.yaml"), "broken").expect("a spec");
    let id = first["experiments"][0]["experiment_id"].as_str().expect("an id");
    let (code, stdout, stderr) = place.run(&["rerun", &format!("{id}/default-r1"), "--no-pull", "--format", "json"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let again: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    let rows = again["experiments"][0]["scenarios"].as_array().expect("rows");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["seed"], first["experiments"][0]["scenarios"][1]["seed"]);
    let (code, stdout, stderr) = place.run(&["rerun", id, "--no-pull", "--format", "json"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let again: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!((&again["experiments"][0]["experiment_id"], &again["experiments"][0]["run"]), (&json!(id), &json!(2)));
    assert_eq!(again["experiments"][0]["total_scenarios"], 2);
}

#[test]
fn who_waits_for_a_reader_of_a_report_can_still_be_ended() {
    let place = Place::new(&local_spec("touch out", THERE));
    let pipe = place.path().join("report.json");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut started = place.start(&["--backend", "local", "-o", &pipe.display().to_string()]);
    assert!(started.wait_for("pass "), "{}", started.told);
    // Nobody reads the pipe, so that writing to it never begins.
    place.until_nothing_is_left();
    started.signal("TERM");
    assert_eq!(started.end().0.code(), Some(130));
}

#[test]
fn no_more_scenarios_run_at_once_than_a_spec_says() {
    let limit = "parallelism: {replicas: 4, max_concurrent: 1}";
    let place = Place::new(&local_spec("touch out", &format!("{limit}\n{THERE}")));
    let (code, _, stderr) = place.run_spec(&["--backend", "local", "--max-concurrent", "4", "--verbose"]);
    assert_eq!(code, 0, "{stderr}");
    let steps = stderr.lines().filter(|line| line.contains("sandbox ts-"));
    let steps: Vec<_> = steps.map(|line| line.ends_with("is there")).collect();
    assert_eq!(steps, [true, false].repeat(4), "one after the other: {stderr}");
}

#[test]
fn what_did_not_pass_is_run_again_as_an_experiment_of_its_own() {
    let agent = "case {{ params.how }} in good) touch out;; esac";
    let place = Place::new(&local_spec(agent, &format!("parallelism: {{matrix: {{how: [good, bad]}}}}\n{THERE}")));
    assert_eq!(place.run_spec(&["--backend", "local"]).0, 1);
    let (code, stdout, stderr) = place.run(&["rerun", "latest", "--failed-only", "--backend", "local"]);
    assert!(code == 1 && stdout.contains("scenarios 1, passed 0, failed 1"), "{stdout}{stderr}");
    assert_eq!(place.runs().len(), 2, "the first one is as it was");
    let (code, _, stderr) = place.run(&["rerun", "latest~1/good-r0", "--backend", "local"]);
    assert_eq!(code, 0, "{stderr}");
    let (code, _, stderr) = place.run(&["rerun", "latest", "--failed-only", "--backend", "local"]);
    assert!(code == 2 && stderr.contains("passed: there is none to run again"), "{stderr}");
}
