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

const API: &str = r#"
openapi: 3.1.0
info: { title: shop, version: "1" }
paths:
  /orders/{id}:
    get: { operationId: getOrder, parameters: [{ name: id, in: path, required: true, schema: { type: string } }] }
    delete: { operationId: deleteOrder }
  /refunds: { post: { operationId: refundOrder, summary: "Pays back: all of it" } }
"#;

#[test]
fn a_first_set_is_written_from_an_api_and_never_over_another() {
    let folder = TempDir::new().expect("a folder");
    let rules = folder.path().join("rules");
    let dir = rules.display().to_string();
    let (code, stdout, stderr) = run_with(&["tool-contracts", "init", &dir, "--from-openapi", "-"], API);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains("wrote 4 files") && stdout.contains("ok, 3 tools; 0 errors, 0 warnings"), "{stdout}");
    let text = |name: &str| fs::read_to_string(rules.join(name)).expect("a file");
    assert_eq!(
        text("getOrder.yaml"),
        "# GET /orders/{id}\ntool: getOrder\nside_effect: read # guess: its method is GET\n"
    );
    assert!(text("deleteOrder.yaml").contains("side_effect: destructive # guess"), "{}", text("deleteOrder.yaml"));
    assert!(text("refundOrder.yaml").contains("side_effect: financial # guess"), "{}", text("refundOrder.yaml"));
    let (code, _, stderr) = run_with(&["tool-contracts", "init", &dir, "--from-openapi", "-"], API);
    assert!(code == 2 && stderr.contains("is there already"), "{stderr}");
    let (code, _, stderr) = run(&["init", &dir]);
    assert!(code == 2 && stderr.contains("--from-mcp"), "{stderr}");
}

#[test]
fn a_first_set_is_written_from_a_server_of_mcp_or_its_list() {
    let folder = TempDir::new().expect("a folder");
    let listed = r#"{"tools": [{"name": "look", "annotations": {"readOnlyHint": true}}, {"name": "../up"}]}"#;
    let file = write(folder.path(), "tools.json", listed);
    let dir = folder.path().join("of-a-file").display().to_string();
    let (code, stdout, stderr) = run(&["init", &dir, "--from-mcp", &file]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains("note: left out the tool") && stdout.contains("ok, 1 tool;"), "{stdout}");
    // Two pages, something in between, and then the end of its input.
    let server = r#"read hello; echo '{"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-06-18"}}'
        read ready; read first; echo '{"jsonrpc": "2.0", "method": "notifications/message", "params": {}}'
        echo '{"jsonrpc": "2.0", "id": 2, "result": {"tools": [{"name": "look"}], "nextCursor": "more"}}'
        read second; echo '{"jsonrpc": "2.0", "id": 3, "result": {"tools": [{"name": "pay"}]}}'; read end"#;
    let dir = folder.path().join("of-a-server");
    let (code, stdout, stderr) =
        run(&["init", &dir.display().to_string(), "--agent", "shop", "--from-mcp", "sh", "-c", server]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains("ok, 2 tools;"), "{stdout}");
    assert!(fs::read_to_string(dir.join("session.yaml")).expect("a file").contains("agent: shop"));
    let dir = folder.path().join("none").display().to_string();
    for (command, expected) in [
        (&["false"][..], "`false` ended before it answered `initialize`"),
        (&["/nowhere/server"][..], "cannot start `/nowhere/server`"),
        (&["sh", "-c", r#"read a; echo '{"id": 1, "error": {"message": "too old"}}'"#][..], "too old"),
    ] {
        let (code, _, stderr) = run(&[&["init", &dir, "--from-mcp"], command].concat());
        assert!(code == 2 && stderr.contains(expected), "{stderr}");
    }
}

#[test]
fn a_first_set_is_written_from_a_run_and_the_run_keeps_it() {
    let folder = TempDir::new().expect("a folder");
    let call = |seq: u32, tool: &str, arguments: &str| {
        format!(
            r#"{{"seq": {seq}, "source": "proposed", "tool": "{tool}", "arguments": {arguments}, "model_call": {seq}}},
            {{"seq": {}, "source": "reported", "tool": "{tool}", "proposal": {seq}, "result": "{{\"ok\": true}}"}}"#,
            seq + 1
        )
    };
    let order = r#"{"order_id": "1"}"#;
    let calls = format!("[{}, {}]", call(0, "lookup_order", order), call(2, "refund_order", order));
    let trace = write(folder.path(), "calls.json", &calls);
    let dir = folder.path().join("rules").display().to_string();
    let (code, stdout, stderr) = run(&["init", &dir, "--from-run", &trace]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let (code, stdout, _) = run(&["judge", &dir, "--trace", &trace]);
    assert!(code == 0 && stdout.contains("2 calls, 0 violations"), "{stdout}");
    let other = write(folder.path(), "other.json", &format!("[{}]", call(0, "refund_order", order)));
    let (code, stdout, _) = run(&["judge", &dir, "--trace", &other]);
    assert!(code == 1 && stdout.contains("rules/lookup_order-before-refund_order"), "{stdout}");
}

#[test]
fn what_is_owed_at_the_end_is_shown_beside_the_table() {
    let folder = TempDir::new().expect("a folder");
    let rules = "rules: [{id: receipt, every: refund, then: mail}, {id: one, at_most: 1, of: refund}]";
    write(folder.path(), "session.yaml", &format!("schema_version: \"1.0\"\nagent: a\n{rules}\n"));
    for tool in ["refund", "mail"] {
        write(folder.path(), &format!("{tool}.yaml"), &format!("tool: {tool}\nside_effect: write\n"));
    }
    let call = |seq: u32| {
        format!(r#"{{"seq": {seq}, "source": "executed", "tool": "refund", "arguments": {{}}, "result": "done"}}"#)
    };
    let trace = write(folder.path(), "calls.json", &format!("[{}, {}]", call(0), call(1)));
    let (code, stdout, _) = run(&["judge", &folder.path().display().to_string(), "--trace", &trace]);
    assert_eq!(code, 1, "{stdout}");
    let owed = "fail rule_violated: `refund` must be followed by a call of `mail` before the session ended";
    assert_eq!(stdout.matches(owed).count(), 2, "{stdout}");
    assert!(stdout.contains("2 calls, 3 violations"), "{stdout}");
}
