//! Tests of the guesses, and that the result compiles.

use serde_json::json;

use super::Scaffold;
use super::{SeenCall, SeenTool, ToolHints, scaffold, seen_in_mcp};
use crate::options::Principal;
use crate::{CompileOptions, RawSet, compile};

fn compiles(made: &Scaffold) {
    let options = CompileOptions { principal: Principal::Missing, ..CompileOptions::default() };
    let set = RawSet { files: made.files.clone() };
    let (_, warnings) = compile(&set, &options).unwrap_or_else(|error| panic!("{:#?}", error.diagnostics));
    assert!(warnings.is_empty(), "{warnings:#?}");
}

fn text<'a>(made: &'a Scaffold, name: &str) -> &'a str {
    &made.files.iter().find(|file| file.name == name).expect("the file").text
}

#[track_caller]
fn guessed(name: &str, hints: ToolHints, expected: &str) {
    let tool = SeenTool { name: name.to_owned(), hints, ..SeenTool::default() };
    let made = scaffold("a", "a test", &[tool]);
    let text = text(&made, &format!("{name}.yaml"));
    assert!(text.contains(&format!("side_effect: {expected} # guess: ")), "{text}");
    compiles(&made);
}

#[test]
fn effects_are_guessed_from_methods_annotations_and_names() {
    let method = |method: &str| ToolHints { method: Some(method.to_owned()), ..ToolHints::default() };
    guessed("getRefund", method("GET"), "read");
    guessed("searchOrders", method("POST"), "write");
    guessed("issueRefund", method("POST"), "financial");
    guessed("dropOrder", method("DELETE"), "destructive");
    guessed("purgeCache", method("POST"), "destructive");
    guessed("null", ToolHints::default(), "write");
    guessed("list_payments", ToolHints::default(), "read");
    guessed("payments", ToolHints::default(), "financial");
    guessed("grant-role", ToolHints::default(), "admin");
    guessed("frob", ToolHints { is_read_only: Some(true), ..ToolHints::default() }, "read");
    guessed("frob", ToolHints { is_destructive: Some(true), ..ToolHints::default() }, "destructive");
    guessed("read_and_burn", ToolHints { is_destructive: Some(true), ..ToolHints::default() }, "destructive");
}

#[test]
fn tools_of_a_server_are_read_and_names_that_are_no_files_left_out() {
    let tool = |name: &str| json!({"name": name, "description": "First line\n: not YAML", "inputSchema": {}});
    let listed = json!({"result": {"tools": [tool("get_order"), tool("../up"), tool("session"), tool("get_order")]}});
    let made = scaffold("a: b", "a server\n# of tests", &seen_in_mcp(&listed).expect("tools"));
    let names: Vec<_> = made.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["session.yaml", "get_order.yaml"]);
    assert_eq!(made.notes.len(), 3, "{:?}", made.notes);
    assert!(text(&made, "get_order.yaml").starts_with("# First line"), "{}", text(&made, "get_order.yaml"));
    compiles(&made);
    assert!(seen_in_mcp(&json!({"tools": [{"title": "no name"}]})).is_err());
    assert!(seen_in_mcp(&json!({"error": {}})).is_err());
}

#[test]
fn order_and_types_are_guessed_from_a_run() {
    let call = |place, arguments| SeenCall { place, arguments };
    let tool = |name: &str, calls| SeenTool { name: name.to_owned(), calls, ..SeenTool::default() };
    let lookup = tool("lookup_order", vec![call(0, json!({"order id": "1"})), call(4, json!({"order id": "2"}))]);
    let refund = tool(
        "refund",
        vec![
            call(2, json!({"amount": 5, "order id": "1"})),
            call(6, json!({"amount": 2.5, "order id": "2", "why": "x"})),
        ],
    );
    let made = scaffold("a", "a run", &[lookup, refund]);
    let session = text(&made, "session.yaml");
    let rule = "- { id: lookup_order-before-refund, every: refund, after: lookup_order, same: \"$['order id']\" }";
    assert!(session.contains(rule) && session.contains("max_tool_calls: 8 # guess"), "{session}");
    let refund = text(&made, "refund.yaml");
    assert!(refund.contains("- { path: \"$['order id']\", type: string }") && !refund.contains("why"), "{refund}");
    assert!(refund.contains("- { path: $.amount, type: number }"), "{refund}");
    compiles(&made);
}
