//! `touchstone import flakestorm`: the files that it writes, and what it refuses.

use std::fs;

use crate::place::Place;
use crate::run_with;

const FILE: &str = r#"
version: "2.0"
agent: { endpoint: "http://localhost:8000/invoke" }
golden_prompts: ["Say hello"]
invariants:
  - { type: contains, value: hello }
mutations: { count: 2, types: [noise, protocol_level_attack], typs: [case] }
contract:
  name: Polite
  invariants: [{ id: ends, type: completes }]
replays:
  sessions: [{ id: outage, input: Say hello, tool_responses: [{ tool: names, status: 0 }] }]
"#;

fn place(file: &str) -> Place {
    let place = Place::new("");
    fs::write(place.path().join("flakestorm.yaml"), file).expect("a file");
    place
}

fn import(place: &Place, more: &[&str]) -> (i32, String, String) {
    let file = place.path().join("flakestorm.yaml").display().to_string();
    let folder = place.path().join("polite").display().to_string();
    run_with(&[&["import", "flakestorm", &file, "-o", &folder], more].concat(), "")
}

#[test]
fn a_file_becomes_a_spec_that_runs() {
    let place = place(FILE);
    let (code, stdout, stderr) = import(&place, &["--agent-command", "echo hello"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains("spec.yaml: ok, 5 scenarios"), "{stdout}");
    assert!(stdout.contains("`mutations.typs`: left out: Flakestorm knows no such key"), "{stdout}");
    assert!(stdout.contains("`protocol_level_attack` is left out"), "{stdout}");
    assert!(place.path().join("polite/sessions/outage.yaml").exists());
    let folder = place.path().join("polite").display().to_string();
    let (code, stdout, stderr) = place.run(&["run", "--backend", "local", &folder]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains("mutations passed: robustness 1.0000"), "{stdout}");
    assert!(stdout.contains("overall score: 1.0000"), "{stdout}");
}

#[test]
fn nothing_is_overwritten_and_what_cannot_be_converted_is_an_error() {
    let place = place(FILE);
    let (code, _, stderr) = import(&place, &[]);
    assert!(
        code == 2 && stderr.contains("--agent-image") && stderr.contains("http://localhost:8000/invoke"),
        "{stderr}"
    );
    assert!(!place.path().join("polite").exists());
    assert_eq!(import(&place, &["--agent-image", "hello:1"]).0, 0);
    let (code, _, stderr) = import(&place, &["--agent-command", "echo hello"]);
    assert!(code == 2 && stderr.contains("is there already"), "{stderr}");
    assert_eq!(import(&place, &["--agent-command", "echo hello", "--force"]).0, 0);
}
