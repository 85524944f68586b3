//! `touchstone validate`: every mistake at once, with its place, in three formats.

use std::fs;

use crate::{run, run_with};

/// Five mistakes that a newcomer makes.
const BROKEN: &str = "\
version: 1
id: refund-agent
base: debian:bookworm-slim
task: { prompt: \"Refund order {{ parms.order }}\" }
agent: { type: cli, comand: python3 agent.py }
services:
  - { name: db, image: \"postgres:16\" }
invariants:
  refunded:
    description: The order is refunded
    wieght: 2
    check: { type: sql, service: postgress, query: SELECT 1, equals: 1 }
  mail_sent:
    description: One mail was sent
    check: { type: http_mock_assertions, service: db, assertions: [{ field: request_count, equals: 1 }] }
resources: { timeout: 300 }
";

#[test]
fn every_mistake_is_shown_at_once() {
    let (code, stdout, _) = run_with(&["validate", "-"], BROKEN);
    assert_eq!(code, 3);
    insta::assert_snapshot!(stdout);
}

#[test]
fn machines_get_json_and_annotations() {
    let (code, stdout, _) = run_with(&["validate", "-", "--format", "json"], BROKEN);
    let findings: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(code, 3);
    assert_eq!(findings[0]["code"], "invalid-template");
    assert_eq!((findings[0]["line"].as_u64(), findings[0]["column"].as_u64()), (Some(4), Some(17)));
    let (code, stdout, _) = run_with(&["validate", "-", "--format", "github"], BROKEN);
    assert_eq!(code, 3);
    insta::assert_snapshot!(stdout);
}

#[test]
fn the_examples_are_valid() {
    let (code, stdout, stderr) = run(&["validate", "specs"]);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    assert!(stdout.contains("0 invalid; 0 errors, 0 warnings"), "{stdout}");
    assert!(!stdout.contains("specs/invalid"), "folders with .touchstone-skip are passed over");
}

/// A check that runs in the agent's sandbox by default, not by choice.
const TRUSTING: &str = "\
version: 1
id: trusting
base: debian:bookworm-slim
task: { prompt: Write tests. }
agent: { type: noop }
invariants:
  tests_pass:
    description: The tests pass
    gate: true
    check: { type: command_exit, command: make test }
  chosen:
    description: Somebody chose
    check: { type: command_exit, command: make test, verify: sandbox }
";

#[test]
fn a_new_container_is_recommended_and_is_no_fault() {
    let (code, stdout, _) = run_with(&["validate", "-", "--deny-warnings"], TRUSTING);
    assert_eq!(code, 0, "{stdout}");
    insta::assert_snapshot!(stdout);
    let (_, stdout, _) = run_with(&["validate", "-", "--format", "json"], TRUSTING);
    let found: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(
        (&found[0]["severity"], &found[0]["code"], found.as_array().map(Vec::len)),
        (&"advice".into(), &"verify-fresh".into(), Some(1))
    );
    let (_, stdout, _) = run_with(&["validate", "-", "--format", "github"], TRUSTING);
    assert!(stdout.starts_with("::notice "), "{stdout}");
}

#[test]
fn a_folder_that_is_named_is_searched_even_if_it_would_be_passed_over() {
    let (code, stdout, _) = run(&["validate", "specs/invalid"]);
    assert_eq!(code, 3);
    assert!(stdout.contains("error[yaml-syntax]"));
}

#[test]
fn patterns_that_the_shell_did_not_expand_are_searched() {
    let (code, stdout, stderr) = run(&["validate", "specs/check-*", "specs/*/spec.yaml", "specs/check-sql"]);
    assert_eq!((code, stderr.as_str()), (0, ""), "{stdout}");
    assert!(stdout.starts_with("specs/check-command-exit/spec.yaml: ok"), "{stdout}");
    let all = run(&["validate", "specs"]).1;
    let mut lines: [Vec<_>; 2] = [stdout.lines().collect(), all.lines().collect()];
    lines.iter_mut().for_each(|lines| lines.sort_unstable());
    assert_eq!(lines[0], lines[1], "each is taken once");
    let (code, stdout, stderr) = run(&["validate", "specs/chekc-*"]);
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(stderr.contains("no spec matches `specs/chekc-*`"), "{stderr}");
}

#[test]
fn two_specs_with_one_id_are_two_specs() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "version: 1\nid: x\nbase: debian\ntask: {prompt: x}\nagent: {type: noop}\n\
                invariants: {x: {description: x, check: {type: file_exists, path: x}}}\n";
    let files = ["a.yaml", "b.yaml"].map(|name| folder.path().join(name));
    for file in &files {
        fs::write(file, text).expect("written");
    }
    let (code, stdout, stderr) = run(&["validate", &format!("{}/?.yaml", folder.path().display())]);
    assert!(code == 0 && stdout.contains("2 specs: 2 valid"), "{stdout}");
    assert!(stderr.contains("b.yaml`: give one of them another; they cannot be run together"), "{stderr}");
}

#[test]
fn a_folder_with_a_link_is_refused() {
    let (code, stdout, _) = run(&["validate", "specs/invalid/invalid-bundle"]);
    assert_eq!(code, 3);
    assert!(stdout.contains("error[invalid-bundle]") && stdout.contains("is a link"), "{stdout}");
}

#[test]
fn warnings_pass_unless_they_are_denied() {
    let spec = "specs/invalid/no-description.yaml";
    assert_eq!(run(&["validate", spec]).0, 0);
    assert_eq!(run(&["validate", spec, "--deny-warnings"]).0, 3);
}

#[test]
fn what_cannot_be_read_is_a_usage_error() {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, message) in
        [("nowhere.yaml", "cannot read"), (folder.path().to_str().expect("UTF-8"), "there is no spec in")]
    {
        let (code, stdout, stderr) = run(&["validate", path]);
        assert_eq!((code, stdout.as_str()), (2, ""));
        assert!(stderr.contains(message), "{stderr}");
    }
    assert_eq!(run(&["validate"]).0, 2);
    let (code, stdout, stderr) =
        run(&["validate", "nowhere.yaml", "specs/hello-world", "specs/invalid/unknown-key.yaml"]);
    assert!(code == 2 && stderr.contains("nowhere.yaml"), "{stderr}");
    assert!(
        stdout.contains("hello-world/spec.yaml: ok") && stdout.contains("error[unknown-key]"),
        "the others are checked all the same"
    );
}

#[test]
fn odd_files_are_refused_and_not_fatal() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content, code) in [
        ("latin.yaml", &b"id: caf\xe9\n"[..], "yaml-syntax"),
        ("empty.yaml", b"", "yaml-documents"),
        ("nul.yaml", b"version: 1\0\n", "yaml-syntax"),
        ("list.yaml", b"- 1\n", "wrong-type"),
        ("large.yaml", &vec![b'#'; 2 * 1024 * 1024], "yaml-too-large"),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, content).expect("written");
        let (exit, stdout, _) = run(&["validate", path.to_str().expect("UTF-8"), "--format", "json"]);
        assert!(exit == 3 && stdout.contains(&format!("\"code\": \"{code}\"")), "{name}: {exit} {stdout}");
    }
}

#[test]
fn windows_line_ends_and_byte_order_marks_are_fine() {
    let text = fs::read_to_string(crate::root().join("cli/starter/spec.yaml"))
        .expect("the starter")
        .replace("\n    - { path: agent.sh, from: agent.sh }", "\n    - { path: agent.sh, content: echo }");
    assert_eq!(run_with(&["validate", "-"], &text).0, 0);
    assert_eq!(run_with(&["validate", "-"], &format!("\u{feff}{}", text.replace('\n', "\r\n"))).0, 0);
}

#[test]
fn colours_come_only_when_asked_for() {
    assert!(!run_with(&["validate", "-"], BROKEN).1.contains('\u{1b}'));
    assert!(run_with(&["validate", "-", "--color", "always"], BROKEN).1.contains('\u{1b}'));
}
