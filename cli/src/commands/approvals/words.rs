//! Approvals as tables for a terminal. Arguments that an agent wrote are untrusted.

use comfy_table::Table;
use jiff::Timestamp;
use scenario::untrusted;
use serde_json::Value as Json;
use store::Clock as _;

use crate::clock::SystemClock;
use crate::table::table;
use crate::times::second;

/// The most characters of a value that are shown.
const MOST: usize = 300;
/// Maximum length of an argument: an approver must see all that they approve.
const MOST_OF_CONTEXT: usize = 10_000;
/// The most characters of a reason in a table.
const SHORT: usize = 60;

/// A table of approvals.
pub(super) fn listing(approvals: &[Json]) -> Table {
    let mut table = table(["id", "tool", "reason", "experiment", "scenario", "status", "deadline"]);
    for one in approvals {
        table.add_row([
            text(one, "id", MOST),
            text(one, "tool", SHORT),
            text(one, "reason", SHORT),
            text(one, "experiment_id", MOST),
            text(one, "scenario_id", MOST),
            text(one, "status", MOST),
            deadline(one),
        ]);
    }
    table
}

/// An approval: the call, its context and the rule, and the decision if there is one.
pub(super) fn lines(one: &Json) -> Vec<String> {
    let mut lines = vec![
        format!("{} {}", text(one, "id", MOST), text(one, "status", MOST)),
        format!("call        {} ({})", text(one, "tool", MOST), text(one, "call", MOST)),
        format!(
            "scenario    {}#{}/{} of {}, session {}",
            text(one, "experiment_id", MOST),
            text(one, "run", MOST),
            text(one, "scenario_id", MOST),
            text(one, "spec_id", MOST),
            text(one, "session", MOST)
        ),
        format!("reason      {}", text(one, "reason", MOST)),
        format!("checkpoints {}", words(&one["checkpoints"])),
        format!("deadline    {}; then {}", deadline(one), on_timeout(one)),
        format!("arguments   {}", text(one, "args_hash", MOST)),
    ];
    for field in one["context"].as_array().into_iter().flatten() {
        lines.push(format!("  {}: {}", text(field, "label", MOST), shown(&field["value"], MOST_OF_CONTEXT)));
    }
    if !text(one, "by", MOST).is_empty() {
        let at = text(one, "decided_at", MOST);
        lines.push(format!("decided     by {} at {at}", text(one, "by", MOST)));
    }
    if !text(one, "note", MOST).is_empty() {
        lines.push(format!("note        {}", text(one, "note", MOST)));
    }
    lines
}

fn on_timeout(one: &Json) -> &'static str {
    if one["on_timeout"] == "allow" { "it goes on" } else { "it is refused" }
}

/// A time, and how much of it is left.
fn deadline(one: &Json) -> String {
    let said = text(one, "deadline", MOST);
    let Ok(deadline) = said.parse::<Timestamp>() else { return said };
    let left = deadline.duration_since(SystemClock.now()).as_secs();
    let left = if one["status"] == "pending" && left > 0 { format!(" (in {left} s)") } else { String::new() };
    format!("{}{left}", second(deadline))
}

fn words(list: &Json) -> String {
    let words: Vec<_> = list.as_array().into_iter().flatten().map(|word| shown(word, MOST)).collect();
    words.join(", ")
}

fn text(one: &Json, name: &str, most: usize) -> String {
    shown(&one[name], most)
}

fn shown(value: &Json, most: usize) -> String {
    match value {
        Json::String(text) => untrusted::line(text, most),
        Json::Null => String::new(),
        other => untrusted::line(&other.to_string(), most),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::lines;

    #[test]
    fn the_call_its_context_and_the_rule_are_shown_and_nothing_acts_on_the_terminal() {
        let approval = json!({
            "id": "ap_1", "status": "denied", "tool": "refund", "call": "call_1", "experiment_id": "e", "run": 1,
            "scenario_id": "default-r0", "spec_id": "shop", "session": "main", "reason": "`amount` is above 100",
            "checkpoints": ["large", "night"], "deadline": "2026-01-01T00:05:00Z", "on_timeout": "deny",
            "args_hash": "sha256:a", "context": [{"label": "To\u{1b}[2J", "value": {"iban": "x"}}], "by": "ada",
            "decided_at": "2026-01-01T00:01:00Z", "note": "no",
        });
        let shown = lines(&approval).join("\n");
        for expected in [
            "ap_1 denied",
            "call        refund (call_1)",
            "reason      `amount` is above 100",
            "checkpoints large, night",
            "deadline    2026-01-01T00:05:00Z; then it is refused",
            "  To␛[2J: {\"iban\":\"x\"}",
            "decided     by ada at 2026-01-01T00:01:00Z",
        ] {
            assert!(shown.contains(expected), "{expected} is not in {shown}");
        }
    }
}
