//! The texts of the files.

use serde_json::Value as Json;
use yaml_tree::untrusted;

use super::{SeenTool, guess, order};
use crate::json_path::JsonPath;

/// The length at which a description in a comment is cut.
const MOST_DESCRIPTION: usize = 160;
/// The factor by which a session may make more calls than the run did.
const CALLS_FACTOR: usize = 2;

/// `session.yaml`.
pub(super) fn session(agent: &str, source: &str, tools: &[&SeenTool]) -> String {
    let mut text = format!(
        "# Made from {} by `touchstone tool-contracts init`. Look at every line with `# guess`.\n\
         schema_version: \"1.0\"\n\
         agent: {}\n\
         session_limits:\n\
         \x20 # guess: the same call three times within five steps is a loop\n\
         \x20 loop_detection: {{ window: 5, threshold: 3 }}\n",
        untrusted::line(source, MOST_DESCRIPTION),
        scalar(agent)
    );
    let calls: usize = tools.iter().map(|tool| tool.calls.len()).sum();
    if calls > 0 {
        let most = calls * CALLS_FACTOR;
        text.push_str(&format!("  max_tool_calls: {most} # guess: the run made {calls}, and this is twice as many\n"));
    }
    let orders = order::orders(tools);
    if !orders.is_empty() {
        text.push_str("rules:\n");
    }
    for order::Order { tool, prior, same } in orders {
        let id = scalar(&format!("{prior}-before-{tool}"));
        let (tool, prior, same) = (scalar(tool), scalar(prior), scalar(same.text()));
        text.push_str(&format!("  # guess: this held for every call of the run\n  - {{ id: {id}, every: {tool}, after: {prior}, same: {same} }}\n"));
    }
    text
}

/// The file of a tool.
pub(super) fn tool(tool: &SeenTool) -> String {
    let mut text = String::new();
    if !tool.description.trim().is_empty() {
        text.push_str(&format!("# {}\n", untrusted::line(tool.description.trim(), MOST_DESCRIPTION)));
    }
    let guess::Guess { effect, because } = guess::side_effect(tool);
    text.push_str(&format!("tool: {}\nside_effect: {} # guess: {because}\n", scalar(&tool.name), effect.name()));
    let types = order::types(tool);
    if !types.is_empty() {
        text.push_str("argument_value_invariants:\n  # guess: every call of the run had them, of this type\n");
    }
    for (name, kind) in types {
        let path = scalar(JsonPath::of_name(name).text());
        text.push_str(&format!("  - {{ path: {path}, type: {kind} }}\n"));
    }
    text
}

/// A text as YAML: plain where it can be nothing else, and quoted as in JSON otherwise.
fn scalar(text: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-' | '.' | '$');
    let is_word =
        text.starts_with(|sign: char| sign.is_ascii_alphabetic() || sign == '$') && text.chars().all(is_plain);
    let has_meaning = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    if is_word && !has_meaning.contains(&text.to_lowercase().as_str()) {
        return text.to_owned();
    }
    Json::from(text).to_string()
}
