//! Every example is run for real, all in one go: by its own agent, by its own solution, and by nobody.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value as Json;

use crate::judge;
use crate::place::Place;
use crate::root;

/// Runs all examples; the exit code, and the verdict of each.
fn run_all(arguments: &[&str]) -> (i32, BTreeMap<String, String>) {
    let place = Place::with_images();
    judge::provide(&place.data(), 0.9);
    let (code, stdout, stderr) = place.run(&[&["run", "specs", "--no-pull", "--format", "json"], arguments].concat());
    let report: Json = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
    assert_eq!(place.left(), Vec::<String>::new());
    assert_eq!(report["skipped"], Json::Array(Vec::new()), "every example can be run");
    let text = |value: &Json| value.as_str().expect("a text").to_owned();
    let experiments = report["experiments"].as_array().expect("experiments");
    for experiment in experiments {
        judged_again(&place, &text(&experiment["experiment_id"]));
    }
    (code, experiments.iter().map(|one| (text(&one["spec_id"]), text(&one["verdict"]))).collect())
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
fn every_agent_comes_to_what_its_spec_expects() {
    let (code, verdicts) = run_all(&[]);
    assert_eq!(verdicts, expect(|fails| if fails { "fail" } else { "pass" }));
    assert_eq!(code, 1, "one of them fails");
}

#[test]
fn every_solution_passes() {
    let (code, verdicts) = run_all(&["--agent", "oracle", "--replicas", "1"]);
    assert_eq!(verdicts, expect(|_| "pass"));
    assert_eq!(code, 0);
}

#[test]
fn nobody_passes_without_doing_anything() {
    let (code, verdicts) = run_all(&["--agent", "noop", "--replicas", "1"]);
    assert_eq!(verdicts, expect(|_| "fail"));
    assert_eq!(code, 1);
}

/// Examples that need an engine, or a program that this machine need not have: they say so.
const NEEDS: [&str; 3] = ["http-agent", "image-agent", "packages"];

#[test]
fn examples_come_to_the_same_without_an_engine() {
    let place = Place::with_images();
    judge::provide(&place.data(), 0.9);
    let (_, stdout, stderr) = place.run(&["run", "specs", "--backend", "local", "--format", "json"]);
    let report: Json = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let mut expected = expect(|fails| if fails { "fail" } else { "pass" });
    for experiment in report["experiments"].as_array().expect("experiments") {
        let (id, verdict) = (text(&experiment["spec_id"]), text(&experiment["verdict"]));
        let wanted = expected.remove(&id).expect("an example");
        assert_eq!(verdict, wanted, "{id}: {}", experiment["scenarios"]);
    }
    for skipped in report["skipped"].as_array().expect("a list") {
        let said = skipped.to_string();
        assert!(NEEDS.iter().any(|name| said.contains(name)) && said.contains("insists on Docker"), "{said}");
        expected.retain(|name, _| !said.contains(name.as_str()));
    }
    assert!(expected.is_empty(), "{expected:?}");
    assert_eq!(place.left(), Vec::<String>::new());
}
