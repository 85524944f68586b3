//! Tests of results in requests.

use serde_json::{Value as Json, json};

use crate::dialect::tool_results;
use crate::evidence::Dialect;

#[track_caller]
fn check(dialect: Dialect, request: Json, expected: &[(&str, &str, bool)]) {
    let found = tool_results(dialect, &request);
    let found: Vec<_> = found.iter().map(|result| (result.id, result.text(), result.is_error)).collect();
    let expected: Vec<_> = expected.iter().map(|(id, text, error)| (*id, (*text).to_owned(), *error)).collect();
    assert_eq!(found, expected, "{request}");
}

#[test]
fn results_are_found_in_every_dialect() {
    let parts = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
    check(
        Dialect::Chat,
        json!({"messages": [{"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "1", "content": "y"},
            {"role": "tool", "tool_call_id": "2", "content": parts}, {"role": "tool"}]}),
        &[("1", "y", false), ("2", "a\nb", false), ("", "", false)],
    );
    check(
        Dialect::Responses,
        json!({"input": [{"type": "function_call_output", "call_id": "1", "output": "y"}, {"role": "user"}]}),
        &[("1", "y", false)],
    );
    check(Dialect::Responses, json!({"input": "text"}), &[]);
    check(
        Dialect::Messages,
        json!({"messages": [{"role": "user", "content": "text"}, {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "1", "content": parts, "is_error": true},
            {"type": "tool_result", "tool_use_id": "2"}]}]}),
        &[("1", "a\nb", true), ("2", "", false)],
    );
    check(Dialect::Chat, json!([1]), &[]);
    check(Dialect::Chat, json!({"messages": 1}), &[]);
}
