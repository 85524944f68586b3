//! `plan`, `schema`, `explain`, `init`, and the help of all of them.

use std::fs;

use crate::{run, run_with};

#[test]
fn a_plan_is_a_table_or_json() {
    let (code, stdout, _) = run(&["plan", "specs/language-matrix"]);
    assert_eq!(code, 0);
    insta::assert_snapshot!(stdout);
    let (_, first, _) = run(&["plan", "specs/language-matrix", "--format", "json"]);
    let (_, second, _) = run(&["plan", "specs/language-matrix", "--format", "json"]);
    assert_eq!(first, second, "the same input gives the same plan, byte for byte");
    let plans: serde_json::Value = serde_json::from_str(&first).expect("JSON");
    assert!(plans[0]["scenarios"][0]["seed"].is_u64());
}

#[test]
fn a_plan_can_be_asked_for_with_other_seeds_and_replicas() {
    let scenarios = |arguments: &[&str]| -> serde_json::Value {
        let (code, stdout, stderr) = run(&[&["plan", "specs/hello-world", "--format", "json"], arguments].concat());
        assert_eq!(code, 0, "{stderr}");
        serde_json::from_str(&stdout).expect("JSON")
    };
    assert_eq!(scenarios(&["--replicas", "3"])[0]["scenarios"].as_array().map(Vec::len), Some(3));
    assert_eq!(scenarios(&["--seed", "5"])[0]["seed"], 5);
    let (code, _, stderr) = run(&["plan", "specs/hello-world", "--replicas", "10001"]);
    assert!(code == 2 && stderr.contains("at most 10000"), "{stderr}");
}

#[test]
fn parameters_can_be_given_instead_of_the_matrix() {
    let (code, stdout, stderr) = run(&[
        "plan",
        "specs/language-matrix",
        "--param",
        "count=100",
        "--param",
        "language=awk",
        "--param",
        "language=ruby",
    ]);
    assert_eq!((code, stderr.as_str()), (0, ""));
    insta::assert_snapshot!(stdout);
    let (code, _, stderr) = run(&["plan", "specs/language-matrix", "--param", "langage=awk"]);
    assert_eq!(code, 2);
    insta::assert_snapshot!(stderr);
}

#[test]
fn a_plan_of_a_broken_spec_shows_what_is_wrong() {
    let (code, stdout, _) = run(&["plan", "specs/invalid/unknown-key.yaml"]);
    assert!(code == 3 && stdout.contains("error[unknown-key]"), "{stdout}");
}

#[test]
fn everything_that_is_listed_can_be_explained() {
    let (code, stdout, _) = run(&["explain"]);
    assert_eq!(code, 0);
    let topics: Vec<_> = stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(topics.len() > 150, "{}", topics.len());
    for topic in [
        "agent.cli",
        "check.sql",
        "invariants.check.file_content",
        "resources.memory",
        "services.http_mock.routes.path",
        "unknown-key",
        "templates",
        "gate",
        "secrets",
    ] {
        let (code, text, stderr) = run(&["explain", topic]);
        assert!(code == 0 && text.len() > 40, "{topic}: {stderr}");
    }
    for topic in topics.iter().step_by(10) {
        assert_eq!(run(&["explain", topic]).0, 0, "{topic}");
    }
}

#[test]
fn explanations_have_examples() {
    insta::assert_snapshot!(run(&["explain", "check.file_content"]).1);
    insta::assert_snapshot!(run(&["explain", "zero-weight"]).1);
    let (code, _, stderr) = run(&["explain", "file_contents"]);
    assert_eq!(code, 2);
    insta::assert_snapshot!(stderr);
}

/// Every example in the reference is part of a spec that loads.
#[test]
fn examples_in_the_reference_are_right() {
    let (_, reference, _) = run(&["explain", "--markdown"]);
    // Suites and lists of capabilities are files of their own kinds; their examples are held against their schemas.
    let blocks: Vec<_> = reference
        .split("\n# Suite files")
        .next()
        .unwrap_or_default()
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```"))
        .map(|(block, _)| block)
        .collect();
    assert!(blocks.len() >= 20, "{}", blocks.len());
    for block in blocks {
        let (_, stdout, _) = run_with(&["validate", "-", "--format", "json"], &spec_around(block));
        let findings: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
        let wrong: Vec<_> = findings
            .as_array()
            .expect("a list")
            .iter()
            .filter(|finding| finding["severity"] == "error" && !is_about_names(finding))
            .collect();
        assert!(wrong.is_empty(), "{block}\n{wrong:#?}");
    }
}

/// A block is a section of its own, or the `check` of an invariant.
fn spec_around(block: &str) -> String {
    let task = if block.starts_with("task:") { "" } else { "task: {prompt: x}\n" };
    let head = format!("version: 1\nid: x\nbase: debian\n{task}");
    let agent = if block.starts_with("agent:") { "" } else { "agent: {type: noop}\n" };
    // Mutations are judged by what the agent says.
    let check = if block.starts_with("mutations:") { "type: output_not_empty" } else { "type: file_exists, path: x" };
    let invariants = format!("invariants: {{x: {{description: x, check: {{{check}}}}}}}\n");
    let is_about_model = ["llm_faults", "type: tool_calls", "type: trace"].iter().any(|word| block.contains(word));
    let model = if is_about_model { "model: {mode: scripted, turns: [{content: x}]}\n" } else { "" };
    if block.starts_with("check:") {
        let check: String = block.lines().map(|line| format!("    {line}\n")).collect();
        return format!("{head}{agent}{model}invariants:\n  x:\n    description: x\n{check}");
    }
    let invariants = if block.starts_with("invariants:") { "" } else { invariants.as_str() };
    format!("{head}{agent}{model}{invariants}{block}")
}

/// Examples name services and files that only a whole spec would have.
fn is_about_names(finding: &serde_json::Value) -> bool {
    ["unknown-service", "missing-file", "unknown-input", "invalid-template"].iter().any(|code| finding["code"] == *code)
}

#[test]
fn a_first_spec_is_written_once_and_is_valid() {
    let folder = tempfile::tempdir().expect("a folder");
    let target = folder.path().join("first");
    let target = target.to_str().expect("UTF-8");
    let (code, stdout, _) = run(&["init", target]);
    assert!(code == 0 && stdout.contains("next: touchstone validate"), "{stdout}");
    let (code, stdout, _) = run(&["validate", target, "--deny-warnings"]);
    assert_eq!(code, 0, "{stdout}");
    fs::write(format!("{target}/spec.yaml"), "mine").expect("written");
    let (code, _, stderr) = run(&["init", target]);
    assert!(code == 2 && stderr.contains("--force"), "{stderr}");
    assert_eq!(fs::read_to_string(format!("{target}/spec.yaml")).expect("a text"), "mine", "nothing is lost");
    assert_eq!(run(&["init", target, "--force"]).0, 0);
}

#[test]
fn help_states_the_exit_codes() {
    let (code, stdout, _) = run(&["--help"]);
    assert_eq!(code, 0);
    insta::assert_snapshot!(stdout);
    assert_eq!(run(&["frobnicate"]).0, 2);
}
