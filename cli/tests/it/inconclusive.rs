//! A pass without a fault, where `require_fired` asks for one, is neither a pass nor a failure, in every output.

use std::fs;

use crate::place::{Place, local_spec};

/// A shop that the agent need not call, and a fault of it.
const SHOP: &str = "\
services: [{name: shop, type: http_mock, ports: [80], routes: [{path: /orders}]}]
chaos: {require_fired: true, tool_faults: [{tool: shop, mode: error}]}
invariants: {there: {description: x, check: {type: file_exists, path: out}}}";

fn place(agent: &str) -> Place {
    Place::new(&local_spec(agent, SHOP))
}

#[test]
fn a_pass_without_a_fault_exits_with_4_and_says_inconclusive() {
    let place = place("touch out");
    let (code, stdout, stderr) = place.run_spec(&["--backend", "local"]);
    assert_eq!(code, 4, "{stdout}{stderr}");
    assert!(stderr.contains("INCONCLUSIVE trial/default-r0"), "{stderr}");
    for part in [
        "INCONCLUSIVE trial/default-r0: score 1.000",
        "pass  there (1.00, weight 1)",
        "no fault fired, and `require_fired` asks for one: tool_faults[0] (error shop) was about 0 calls",
        "passed 0, failed 0, flaky 0, errors 1 (inconclusive 1)",
    ] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    let runs = place.runs();
    assert_eq!(runs[0].1.len(), 1, "it is not tried again");
    let (_, shown, _) = place.run(&["show", "latest/default-r0"]);
    assert!(shown.contains("default-r0 is inconclusive"), "{shown}");
}

#[test]
fn every_report_says_inconclusive() {
    let place = place("touch out");
    let files = ["report.json", "report.xml", "report.md"].map(|name| place.path().join(name).display().to_string());
    let outputs: Vec<_> = files.iter().flat_map(|file| ["-o", file.as_str()]).collect();
    let (code, stdout, stderr) = place.run_spec(&[&["--backend", "local"], outputs.as_slice()].concat());
    assert_eq!(code, 4, "{stdout}{stderr}");
    let [json, junit, markdown] = files.map(|file| fs::read_to_string(file).expect("a report"));
    let report: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let report = &report["experiments"][0];
    let scenario = &report["scenarios"][0];
    assert_eq!((&scenario["status"], &scenario["error_kind"]), (&"error".into(), &"inconclusive".into()));
    assert_eq!((&report["errors"], &scenario["invariants"][0]["passed"]), (&1.into(), &true.into()));
    assert!(junit.contains("errors=\"1\"") && junit.contains("type=\"inconclusive\""), "{junit}");
    assert!(markdown.contains("</code> inconclusive, score 1.000"), "{markdown}");
}

#[test]
fn a_failure_without_a_fault_stays_a_failure() {
    let (code, stdout, stderr) = place("true").run_spec(&["--backend", "local"]);
    assert!(code == 1 && stdout.contains("FAIL trial/default-r0"), "{stdout}{stderr}");
}

#[test]
fn evidence_that_is_judged_again_says_the_same() {
    let place = place("touch out");
    assert_eq!(place.run_spec(&["--backend", "local"]).0, 4);
    let (code, stdout, stderr) = place.run(&["rescore", "latest"]);
    assert_eq!(code, 4, "{stdout}{stderr}");
    assert!(!stdout.contains('→'), "nothing changed: {stdout}");
    let changed = place.path().join("changed.yaml");
    fs::write(&changed, local_spec("touch out", &SHOP.replace("require_fired: true, ", ""))).expect("a spec");
    let (code, stdout, stderr) = place.run(&["rescore", "latest", "--spec", &changed.display().to_string()]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains("inconclusive → passed"), "{stdout}");
}
