//! Suites: the file, its specs, floors and coverage, and those that come with Touchstone, with an agent that passes them and one
//! that does not.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value as Json;

use crate::place::Place;
use crate::{read, run, touchstone};

fn write(folder: &std::path::Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
}

fn spec(id: &str, rest: &str) -> String {
    format!(
        "version: 1\nid: {id}\nbase: debian:12\ntask: {{prompt: x}}\n{rest}\n\
         invariants: {{done: {{description: done, check: {{type: file_exists, path: done}}}}}}\n"
    )
}

/// A place with a suite of two specs, of which one names a capability that the list does not have.
fn place(suite: &str) -> Place {
    let place = Place::new("");
    write(
        place.path(),
        &[
            ("s/suite.yaml", &format!("suite: s\nspecs: [specs]\ncapabilities: capabilities.yaml\n{suite}")),
            ("s/capabilities.yaml", "- {id: write, group: files}\n- {id: read, group: files}\n- think\n"),
            ("s/specs/one.yaml", &spec("one", "capabilities: [write]\nagent: {type: cli, command: touch done}")),
            ("s/specs/two.yaml", &spec("two", "capabilities:\n  - raed\nagent: {type: noop}")),
        ],
    );
    place
}

/// Runs a command in the folder of a place.
fn at(place: &Place, arguments: &[&str]) -> (i32, String, String) {
    let mut command = match arguments.first() {
        Some(&"run" | &"rerun") => place.command(arguments),
        _ => touchstone(arguments),
    };
    read(command.current_dir(place.path()).output().expect("a run"))
}

fn report(stdout: &str, stderr: &str) -> Json {
    serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"))
}

#[test]
fn a_suite_is_validated_with_its_list_and_its_specs() {
    let place = place("weights: {on: 2}\nfloors: {coverage: 0.5}\n");
    let (code, stdout, _) = at(&place, &["validate", "s"]);
    assert_eq!(code, 3, "{stdout}");
    assert!(stdout.contains("s/suite.yaml:4:11") && stdout.contains("no spec with the id `on`"), "{stdout}");
    assert!(stdout.contains("did you mean `one`?") && stdout.contains("2 specs: 2 valid"), "{stdout}");
    write(place.path(), &[("s/suite.yaml", "suite: s\nspecs: [specs]\ncapabilities: capabilities.yaml\n")]);
    let (code, stdout, _) = at(&place, &["validate", "s/suite.yaml"]);
    assert!(code == 0 && stdout.contains("s/suite.yaml: ok, a suite with 3 capabilities"), "{stdout}");
    let (code, stdout, _) = at(&place, &["plan", "s"]);
    assert!(code == 0 && stdout.contains("2 specs, 2 scenarios"), "{stdout}");
    let (code, stdout, _) = at(&place, &["run", "s", "--strict-tags"]);
    assert!(
        code == 3 && stdout.contains("s/specs/two.yaml:6:5") && stdout.contains("did you mean `read`?"),
        "{stdout}"
    );
    let (code, _, stderr) = at(&place, &["run", "s", "s/specs/one.yaml"]);
    assert!(code == 2 && stderr.contains("a suite is run by itself"), "{stderr}");
}

#[test]
fn the_numbers_of_a_suite_its_coverage_and_its_floors_are_told() {
    let place = place("floors: {pass_k: 0.6, coverage: 0.3}\n");
    let arguments =
        ["run", "s", "--backend", "local", "--ephemeral", "--forecast-runs-per-day", "10", "--format", "json"];
    let (code, stdout, stderr) = at(&place, &arguments);
    let report = report(&stdout, &stderr);
    assert_eq!((code, &report["suite"]["mean_pass_k"]), (1, &0.5.into()), "{stderr}");
    assert_eq!(report["suite"]["shortfalls"][0]["floor"], "pass_k");
    assert_eq!(report["suite"]["shortfalls"].as_array().map(Vec::len), Some(1), "a third is covered: {report:#}");
    assert_eq!(report["coverage"]["uncovered"], serde_json::json!(["read", "think"]));
    assert_eq!(report["coverage"]["unknown_tags"][0]["nearest"], "read");
    let reason = report["forecast_unavailable"].as_str().expect("a reason");
    assert!(report.get("forecast").is_none() && reason.starts_with("no tokens were counted"), "{reason}");
}

#[test]
fn another_agent_takes_the_place_of_those_of_the_specs() {
    let place = place("");
    write(
        place.path(),
        &[("mine/bin/agent", "#!/bin/sh\ncat \"$TOUCHSTONE_AGENT_DIR/text\" > done\n"), ("mine/text", "x")],
    );
    let path = place.path().join("mine/bin/agent");
    let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
    fs::set_permissions(path, mode).expect("executable");
    let arguments =
        ["run", "s", "--backend", "local", "--agent", "cmd:agent", "--agent-files", "mine", "--format", "json"];
    let (code, stdout, stderr) = at(&place, &arguments);
    let report = report(&stdout, &stderr);
    assert_eq!((code, &report["verdict"]), (0, &"pass".into()), "{stderr}");
    assert_eq!(report["experiments"][0]["settings"]["agent"], "cmd:agent");
    assert_eq!(report["experiments"][0]["settings"]["agent_files"], "mine");
    let (code, stdout, _) = at(&place, &["rerun", "latest", "--backend", "local"]);
    assert!(code == 0 && stdout.contains("agent cmd:agent, in place of the spec's own"), "{stdout}");
    let (code, _, stderr) = at(&place, &["run", "s", "--agent", "orcale"]);
    assert!(code == 2 && stderr.contains("did you mean `oracle`?"), "{stderr}");
    let (code, _, stderr) = at(&place, &["run", "s", "--agent", "noop", "--agent-files", "mine"]);
    assert!(code == 2 && stderr.contains("belongs to a command"), "{stderr}");
}

/// The verdict of each spec of a suite of the repository, its coverage, and the exit code.
fn shipped(place: &Place, suite: &str, arguments: &[&str]) -> (i32, BTreeMap<String, String>, Json) {
    let usual = ["run", suite, "--backend", "local", "--ephemeral", "--format", "json"];
    let (code, stdout, stderr) = place.run(&[&usual, arguments].concat());
    let report = report(&stdout, &stderr);
    let text = |value: &Json| value.as_str().expect("a text").to_owned();
    let experiments = report["experiments"].as_array().expect("experiments");
    let verdicts = experiments.iter().map(|one| (text(&one["spec_id"]), text(&one["verdict"]))).collect();
    (code, verdicts, report)
}

fn failed(verdicts: &BTreeMap<String, String>) -> Vec<&str> {
    verdicts.iter().filter(|(_, verdict)| *verdict == "fail").map(|(spec, _)| spec.as_str()).collect()
}

#[test]
fn a_careful_agent_passes_robustness_and_a_fragile_one_does_not() {
    let place = Place::new("");
    let (code, verdicts, report) = shipped(&place, "suites/robustness", &["--forecast-runs-per-day", "5000"]);
    assert_eq!((code, failed(&verdicts)), (0, vec![]), "{verdicts:#?}");
    assert_eq!((verdicts.len(), &report["coverage"]["share"]), (12, &1.0.into()));
    assert_eq!(report["forecast"]["tokens_from"], serde_json::json!(["script"]));
    let down =
        report["experiments"].as_array().into_iter().flatten().find(|one| one["spec_id"] == "robustness-backend-down");
    assert_eq!(down.expect("the spec")["metrics"]["total_tokens"], 0, "what was not answered costs nothing");
    let fragile = ["--agent", "python3 /opt/agent/fragile.py", "--agent-files", "suites/robustness/agents"];
    let (code, verdicts, report) = shipped(&place, "suites/robustness", &fragile);
    let passed: Vec<_> =
        verdicts.iter().filter(|(_, verdict)| *verdict == "pass").map(|(spec, _)| spec.as_str()).collect();
    assert_eq!((code, passed), (1, vec!["robustness-rate-limited"]), "{verdicts:#?}");
    assert_eq!(
        (report["exit_code"].as_i64(), report["suite"]["shortfalls"][0]["floor"].as_str()),
        (Some(1), Some("pass_k"))
    );
}

#[test]
fn an_obedient_agent_passes_security_and_a_disobedient_one_is_caught_or_denied() {
    let place = Place::new("");
    let (code, verdicts, _) = shipped(&place, "suites/security", &[]);
    assert_eq!((code, failed(&verdicts), verdicts.len()), (0, vec![], 4), "{verdicts:#?}");
    let disobedient = ["--agent", "python3 /opt/agent/disobedient.py", "--agent-files", "suites/security/agents"];
    let (code, verdicts, report) = shipped(&place, "suites/security", &disobedient);
    let caught = ["security-honeytoken", "security-injected-exfiltration", "security-injected-write"];
    assert_eq!((code, failed(&verdicts)), (1, caught.to_vec()), "{verdicts:#?}");
    let invariant = |spec: &str, name: &str| {
        let experiments = report["experiments"].as_array().into_iter().flatten();
        let spec = experiments.into_iter().find(|one| one["spec_id"] == spec).expect("the spec");
        let row = spec["scenarios"][0].clone();
        let of = row["invariants"].as_array().into_iter().flatten().find(|one| one["name"] == name).cloned();
        (of.expect("the invariant")["passed"] == true, row["agent_output"].as_str().unwrap_or_default().to_owned())
    };
    // It tried, and nothing came of it.
    let (denied, output) = invariant("security-injected-write", "denied");
    assert!(denied && output.contains("could not write"), "{output}");
    let (denied, output) = invariant("security-trifecta", "nothing_left");
    assert!(denied && output.contains("tried:"), "{output}");
    assert!(!invariant("security-injected-exfiltration", "nothing_left").0);
}

#[test]
fn suites_and_their_lists_are_explained() {
    let (code, stdout, _) = run(&["explain", "suite-file.floors"]);
    assert!(code == 0 && stdout.contains("pass_rate"), "{stdout}");
    let (code, stdout, _) = run(&["schema", "capabilities"]);
    assert!(code == 0 && stdout.contains("Touchstone list of capabilities"), "{stdout}");
}
