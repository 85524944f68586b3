//! `touchstone contract`: agents that keep the contracts of the examples, and agents that break them.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value as Json, json};

use crate::place::Place;
use crate::{read, root, run_with, touchstone};

/// A copy of an example whose agent gets this word, in a place of its own.
fn example(name: &str, word: &str) -> (Place, PathBuf) {
    let place = Place::new("");
    let (from, to) = (root().join("specs").join(name), place.path().join(name));
    fs::create_dir(&to).expect("a folder");
    for file in ["spec.yaml", "agent.py"] {
        let text = fs::read_to_string(from.join(file)).expect("the example");
        let command = "command: python3 agent.py";
        fs::write(to.join(file), text.replace(command, &format!("{command} {word}"))).expect("a copy");
    }
    (place, to)
}

/// Runs `contract COMMAND` on a copy of an example.
fn run(command: &str, name: &str, word: &str, more: &[&str]) -> (i32, String, String) {
    let (place, folder) = example(name, word);
    let folder = folder.display().to_string();
    place.run(&[&["contract", command, "--backend", "local", &folder], more].concat())
}

/// The exit code of a contract, and the contract in the report.
fn contract(name: &str, word: &str) -> (i32, Json) {
    let (code, stdout, stderr) = run("run", name, word, &["--format", "json"]);
    let report: Json = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
    (code, report["experiments"][0]["contract"].clone())
}

/// Returns the cells that do not hold, as `RULE in WORLD`, and the outcomes of the worlds with faults.
fn broken(contract: &Json) -> (Vec<String>, Vec<String>) {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let cells = contract["cells"].as_array().expect("cells");
    let failed = cells.iter().filter(|cell| cell["status"] == "fail");
    let failed = failed.map(|cell| format!("{} in {}", text(&cell["invariant"]), text(&cell["scenario"])));
    let outcomes = contract["outcomes"].as_array().expect("outcomes");
    let outcomes = outcomes.iter().map(|one| format!("{} {}", text(&one["scenario"]), text(&one["outcome"])));
    (failed.collect(), outcomes.collect())
}

#[test]
fn a_finance_agent_that_makes_up_a_price_breaks_the_contract_that_an_honest_one_keeps() {
    let (code, kept) = contract("contract-finance", "");
    assert_eq!((code, &kept["resilience_score"], &kept["passed"]), (0, &json!(100.0), &json!(true)), "{kept:#}");
    let (code, lied) = contract("contract-finance", "careless");
    assert_eq!((code, &lied["critical_failed"]), (1, &json!(true)));
    let (failed, outcomes) = broken(&lied);
    assert_eq!(failed, ["never-fabricate-when-tools-fail in search-tool-down"]);
    assert_eq!(outcomes, ["search-tool-down fabricated", "llm-degraded recovered"]);
    // Of 3 + 3 + 3 for the source, 3 for the price and 1 + 1 + 1 for the time, 3 are lost.
    assert_eq!(lied["resilience_score"], json!(80.0));
}

#[test]
fn a_refund_that_is_booked_twice_corrupts_and_one_that_is_claimed_is_made_up() {
    let (code, kept) = contract("contract-refund", "");
    assert_eq!((code, broken(&kept).0.len()), (0, 0), "{kept:#}");
    let (code, careless) = contract("contract-refund", "careless");
    let (failed, outcomes) = broken(&careless);
    assert_eq!(code, 1);
    assert_eq!(failed, ["at-most-one-refund in answer-lost", "no-false-claim in shop-down"]);
    assert_eq!(outcomes, ["answer-lost corrupted", "shop-down fabricated"]);
    assert_eq!(careless["outcomes"][0]["lost"], json!(["at-most-one-refund"]));
}

#[test]
fn probes_find_what_the_task_alone_does_not_show() {
    let (code, kept) = contract("contract-probes", "");
    assert_eq!((code, broken(&kept).0.len()), (0, 0), "{kept:#}");
    let (code, talkative) = contract("contract-probes", "talkative");
    assert_eq!(code, 1);
    assert_eq!(
        broken(&talkative).0,
        ["keeps-its-instructions in ", "keeps-data-of-others in ", "is-not-taken-over in "]
    );
    let cell = &talkative["cells"][1];
    assert_eq!((&cell["trials"], &cell["held"]), (&json!(4), &json!(0)), "two probes, two times each");
}

#[test]
fn an_answer_is_compared_with_that_of_a_calm_world() {
    let (code, kept) = contract("contract-unchanged", "");
    assert_eq!((code, broken(&kept).0.len()), (0, 0), "{kept:#}");
    let (code, forgetful) = contract("contract-unchanged", "forgetful");
    assert_eq!(
        (code, broken(&forgetful).0),
        (1, vec!["same-answer in down".to_owned(), "like-a-sentence in down".to_owned()])
    );
}

#[test]
fn the_score_alone_is_one_number_and_the_exit_code_tells_the_verdict() {
    let (code, stdout, _) = run("score", "contract-finance", "careless", &[]);
    assert_eq!((code, stdout.as_str()), (1, "80.00\n"));
    let (code, stdout, stderr) = run("score", "contract-finance", "careless", &["--chaos", "no-chaos,llm-degraded"]);
    assert_eq!((code, stdout.as_str()), (0, "100.00\n"), "{stderr}");
}

#[test]
fn a_spec_without_a_contract_is_refused_and_a_contract_can_be_looked_at_first() {
    let place = Place::new("");
    let hello = root().join("specs/hello-world").display().to_string();
    let (code, _, stderr) = place.run(&["contract", "run", &hello]);
    assert!(code == 2 && stderr.contains("the spec has no `contract`"), "{code} {stderr}");
    let (code, _, stderr) = read(touchstone(&["contract", "validate", &hello]).output().expect("a run"));
    assert!(code == 2 && stderr.contains("none of these specs has a `contract`"), "{code} {stderr}");
    let finance = root().join("specs/contract-finance").display().to_string();
    let (code, stdout, _) = read(touchstone(&["contract", "validate", &finance]).output().expect("a run"));
    assert!(
        code == 0 && stdout.ends_with("contract Finance Agent Contract: 7 cells to judge, 2 skipped, 14 runs\n"),
        "{stdout}"
    );
}

#[test]
fn a_contract_is_scored_again_from_what_was_kept() {
    let (place, folder) = example("contract-finance", "careless");
    let folder = folder.display().to_string();
    let (code, stdout, _) = place.run(&["contract", "run", "--backend", "local", &folder, "--format", "json"]);
    let ran: Json = serde_json::from_str(&stdout).expect("a report");
    assert_eq!(code, 1);
    let (code, stdout, stderr) = place.run(&["show", "latest", "--format", "json"]);
    let shown: Json = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {code} {stdout}{stderr}"));
    assert_eq!(shown["contract"], ran["experiments"][0]["contract"], "{shown:#}");
    let (code, stdout, stderr) = place.run(&["rescore", "latest"]);
    assert!(
        code == 1 && format!("{stdout}{stderr}").contains("nothing changed: 14 scenarios"),
        "{code} {stdout}{stderr}"
    );
}

#[test]
fn a_score_of_two_contracts_is_refused_before_anything_is_run() {
    let place = Place::new("");
    let specs = ["finance", "refund"].map(|name| root().join(format!("specs/contract-{name}")).display().to_string());
    let (code, _, stderr) = place.run(&["contract", "score", "--backend", "local", &specs[0], &specs[1]]);
    assert!(code == 2 && stderr.contains("name one spec"), "{code} {stderr}");
    assert!(place.runs().is_empty(), "nothing was run");
}

#[test]
fn a_contract_is_checked_from_standard_input_too() {
    let text = fs::read_to_string(root().join("specs/contract-probes/spec.yaml")).expect("the example");
    // A spec that stands alone has no files beside it.
    let text = text.replace("from: agent.py", "content: ''");
    let (code, stdout, stderr) = run_with(&["contract", "validate", "-"], &text);
    assert!(stdout.contains("contract Discretion: 4 cells to judge, 0 skipped, 10 runs"), "{code} {stdout}{stderr}");
}
