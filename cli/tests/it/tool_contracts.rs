//! `touchstone tool-contracts`: what it finds, decides and prints.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::{root, run_with};

fn run(arguments: &[&str]) -> (i32, String, String) {
    run_with(&[&["tool-contracts"], arguments].concat(), "")
}

fn example() -> String {
    root().join("specs/tool-contracts/rules").display().to_string()
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).expect("a file");
    path.display().to_string()
}

#[test]
fn a_set_that_compiles_is_ok_and_one_that_does_not_exits_with_3() {
    let (code, stdout, stderr) = run(&["check", &example()]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains("ok, 2 tools; 0 errors, 0 warnings; sha256:"), "{stdout}");
    let broken = root().join("specs/invalid/invalid-tool-contracts/rules").display().to_string();
    let (code, stdout, _) = run(&["check", &broken]);
    assert_eq!(code, 3, "{stdout}");
    assert!(
        stdout.contains("refund.yaml:2:14: error INVALID_ENUM") && stdout.contains("did you mean `check`?"),
        "{stdout}"
    );
    let (code, stdout, _) = run(&["check", &broken, "--format", "github"]);
    assert_eq!(code, 3);
    assert!(stdout.contains("::error file=") && stdout.contains(",line=2,col=14,title=INVALID_ENUM::"), "{stdout}");
    let (_, stdout, _) = run(&["check", &broken, "--format", "json"]);
    let found: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!((&found["ok"], &found["errors"][0]["line"]), (&false.into(), &2.into()));
}

#[test]
fn a_file_of_calls_is_judged_as_a_table() {
    let folder = TempDir::new().expect("a folder");
    let calls = |amount: u32| {
        format!(
            r#"[{{"seq": 0, "source": "proposed", "tool": "lookup_order", "arguments": {{"order_id": "1"}}, "model_call": 0}},
            {{"seq": 1, "source": "reported", "tool": "lookup_order", "proposal": 0, "result": "{{\"paid\": 25, \"state\": \"delivered\"}}"}},
            {{"seq": 2, "source": "proposed", "tool": "refund_order", "arguments": {{"order_id": "1", "amount": {amount}}}, "model_call": 1}},
            {{"seq": 3, "source": "reported", "tool": "refund_order", "proposal": 2, "result": "{{}}"}}]"#
        )
    };
    for (amount, expected) in [(25, 0), (26, 1)] {
        let file = write(folder.path(), "calls.json", &calls(amount));
        let (code, stdout, stderr) = run(&["judge", &example(), "--trace", &file, "--principal", "{}"]);
        assert_eq!(code, expected, "{stdout}{stderr}");
        assert_eq!(stdout.contains("would have been blocked"), amount == 26, "{stdout}");
        assert!(stdout.contains(&format!("2 calls, {expected} violation")), "{stdout}");
    }
}

#[test]
fn golden_cases_pass_or_fail_by_their_fixtures() {
    let folder = TempDir::new().expect("a folder");
    let case = |expected: &str| {
        format!(
            "tool: weather\nside_effect: read\nargument_value_invariants: [{{path: $.unit, one_of: [c, f]}}]\n\
             golden_cases: [{{id: kelvin, input_ref: kelvin.json, expect_ok: false, expected_error: {expected}}}]\n"
        )
    };
    let fixture = r#"{"response": {"tool_calls": [{"name": "weather", "arguments": "{\"unit\": \"k\"}"}]}}"#;
    write(folder.path(), "kelvin.json", fixture);
    let dir = folder.path().display().to_string();
    for (expected, exit, line) in [
        ("schema_violation", 0, "weather/kelvin ok"),
        ("wrong_tool", 1, "weather/kelvin failed: got schema_violation, wanted wrong_tool"),
    ] {
        write(folder.path(), "weather.yaml", &case(expected));
        let (code, stdout, stderr) = run(&["test", &dir]);
        assert_eq!(code, exit, "{stdout}{stderr}");
        assert!(stdout.contains(line), "{stdout}");
    }
}

#[test]
fn phases_are_drawn() {
    let (code, stdout, _) = run(&["graph", &example()]);
    assert_eq!(code, 0);
    assert!(stdout.contains("triage --> looked_up: lookup_order"), "{stdout}");
    let (_, stdout, _) = run(&["graph", &example(), "--format", "svg"]);
    assert!(stdout.starts_with("<svg ") && stdout.contains("refund_order"), "{stdout}");
}

#[test]
fn codes_are_explained_and_slips_corrected() {
    let (code, stdout, _) = run(&["explain", "wrong_phase"]);
    assert!(code == 0 && stdout.contains("not valid in the session's current phase"), "{stdout}");
    let (code, _, stderr) = run(&["explain", "wrong_fase"]);
    assert!(code == 2 && stderr.contains("did you mean `wrong_phase`?"), "{stderr}");
    let (_, stdout, _) = run(&["explain", "--markdown"]);
    let page = fs::read_to_string(root().join("docs/tool-contracts.md")).expect("the page");
    assert!(
        page.contains(stdout.trim()),
        "docs/tool-contracts.md has other codes: paste `tool-contracts explain --markdown`"
    );
}

#[test]
fn vectors_say_what_was_wanted() {
    let folder = TempDir::new().expect("a folder");
    let text = "- {id: A, tools: {a: {}}, ops: [{step: [{tool: a, args: {}}], expect: [allow]}]}\n\
        - {id: B, tools: {a: {}}, ops: [{step: [{tool: a, args: {}}], expect: [hold]}]}\n";
    let file = write(folder.path(), "vectors.yaml", text);
    let (code, stdout, _) = run(&["vectors", &file]);
    assert_eq!((code, stdout.as_str()), (1, "A ok\nB failed: op 1: got [\"allow\"], wanted [\"hold\"]\n"));
}
