//! Every example is run for real, all in one go: by its own agent, by its own solution, and without an agent.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value as Json;

use crate::judge;
use crate::place::Place;
use crate::root;
use crate::same_evidence;

/// Examples that need an engine: they say so.
const NEED_DOCKER: [&str; 4] =
    ["specs/chaos-http-container", "specs/http-agent", "specs/image-agent", "specs/packages"];

/// Examples that are run on Docker each time: every kind of service, gateway, limit and way to look at what was left. All
/// are with `TOUCHSTONE_EVERY_EXAMPLE`, as `just nightly` sets it; without Docker all are run each time.
const SAMPLE: [&str; 18] = [
    "specs/chaos-http-container",
    "specs/chaos-model-faults",
    "specs/chaos-tool-faults",
    "specs/check-custom",
    "specs/fixed-clock",
    "specs/flaky-agent",
    "specs/git-repository",
    "specs/honeytoken",
    "specs/http-agent",
    "specs/image-agent",
    "specs/limits",
    "specs/mysql-inventory",
    "specs/names-and-https",
    "specs/packages",
    "specs/redis-cache",
    "specs/refund",
    "specs/support-agent-scripted-model",
    "specs/tool-contracts-govern",
];

/// The examples that this run has on Docker.
fn on_docker() -> Vec<&'static str> {
    let every = std::env::var_os("TOUCHSTONE_EVERY_EXAMPLE").is_some();
    if every { vec!["specs"] } else { SAMPLE.to_vec() }
}

/// Runs examples on a backend; the exit code, and the experiments.
fn run(place: &Place, backend: &str, paths: &[&str], arguments: &[&str]) -> (i32, Vec<Json>) {
    let usual = ["--no-pull", "--format", "json", "--backend", backend];
    let (code, stdout, stderr) = place.run(&[&["run"], paths, &usual, arguments].concat());
    let report: Json = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
    assert_eq!(place.left(), Vec::<String>::new());
    let skipped = report["skipped"].as_array().expect("a list");
    assert_eq!(skipped.len(), if backend == "local" { NEED_DOCKER.len() } else { 0 }, "{skipped:#?}");
    for one in skipped.iter().map(Json::to_string) {
        assert!(NEED_DOCKER.iter().any(|name| one.contains(name)) && one.contains("insists on Docker"), "{one}");
    }
    (code, report["experiments"].as_array().expect("experiments").clone())
}

fn text(value: &Json) -> String {
    value.as_str().expect("a text").to_owned()
}

fn verdicts(experiments: &[Json]) -> BTreeMap<String, String> {
    experiments.iter().map(|one| (text(&one["spec_id"]), text(&one["verdict"]))).collect()
}

/// Runs all examples, without Docker where that is possible; the exit code, and the verdict of each.
fn run_all(arguments: &[&str]) -> (i32, BTreeMap<String, String>) {
    let place = Place::with_images();
    judge::provide(&place.data(), 0.9);
    let (code, experiments) = run(&place, "local", &["specs"], arguments);
    let (other, more) = run(&place, "docker", &NEED_DOCKER, arguments);
    (code.max(other), verdicts(&[experiments, more].concat()))
}

/// Judging what was observed once more says the same, byte for byte.
fn judged_again(place: &Place, experiment: &str) {
    let shown = |reference: &str| place.run(&["show", reference, "--format", "json"]).1;
    let (_, stdout, stderr) = place.run(&["rescore", experiment]);
    assert!(stdout.contains("nothing changed"), "{experiment}: {stdout}{stderr}");
    let (first, second) = (shown(&format!("{experiment}#1")), shown(&format!("{experiment}#2")));
    let verdicts = |report: &str| {
        let report: Json = serde_json::from_str(report).expect("JSON");
        serde_json::to_string_pretty(&[&report["scenarios"], &report["cells"], &report["metrics"]]).expect("JSON")
    };
    assert_eq!(verdicts(&first), verdicts(&second), "{experiment}");
}

/// The examples that can be run, and whether their own agent is to fail.
fn examples() -> BTreeMap<String, bool> {
    let folders = fs::read_dir(root().join("specs")).expect("specs").map(|entry| entry.expect("an entry").path());
    folders
        .filter(|folder| folder.join("spec.yaml").is_file())
        .map(|folder| {
            let spec = fs::read_to_string(folder.join("spec.yaml")).expect("a spec");
            let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
            (name, spec.lines().any(|line| line == "expect: fail"))
        })
        .collect()
}

fn expect(verdict: impl Fn(bool) -> &'static str) -> BTreeMap<String, String> {
    examples().into_iter().map(|(name, fails)| (name, verdict(fails).to_owned())).collect()
}

#[test]
fn every_agent_comes_to_what_its_spec_expects_on_both_backends_with_the_same_evidence() {
    let place = Place::with_images();
    judge::provide(&place.data(), 0.9);
    let (code, local) = run(&place, "local", &["specs"], &[]);
    assert_eq!(code, 1, "one of them fails");
    let (_, docker) = run(&place, "docker", &on_docker(), &[]);
    let all = [local.as_slice(), docker.as_slice()].concat();
    assert_eq!(verdicts(&all), expect(|fails| if fails { "fail" } else { "pass" }));
    for experiment in &all {
        judged_again(&place, &text(&experiment["experiment_id"]));
    }
    for other in &docker {
        let id = text(&other["spec_id"]);
        let Some(experiment) = local.iter().find(|one| text(&one["spec_id"]) == id) else { continue };
        assert_eq!(experiment["verdict"], other["verdict"], "{id}");
        same_evidence::compare(&place, experiment, other);
    }
}

/// Verdicts of one replica each, which leaves a bar undecided that has to be shown.
fn expect_of_one(verdict: &'static str) -> BTreeMap<String, String> {
    let undecided = ("shown-pass-rate".to_owned(), "error".to_owned());
    expect(|_| verdict).into_iter().chain([undecided]).collect()
}

#[test]
fn every_solution_passes() {
    let (code, verdicts) = run_all(&["--agent", "oracle", "--replicas", "1"]);
    assert_eq!(verdicts, expect_of_one("pass"));
    assert_eq!(code, 4);
}

#[test]
fn nobody_passes_without_doing_anything() {
    let (code, verdicts) = run_all(&["--agent", "noop", "--replicas", "1"]);
    assert_eq!(verdicts, expect_of_one("fail"));
    assert_eq!(code, 1);
}
