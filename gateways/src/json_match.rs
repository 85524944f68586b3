//! Equality of JSON, and a value that another one includes.

use scenario::number::Number;
use serde_json::Value as Json;

/// Returns true if `found` is `wanted`. An object may have more fields than wanted, at every depth; lists are equal.
pub(crate) fn includes(found: &Json, wanted: &Json) -> bool {
    match (found, wanted) {
        (Json::Object(found), Json::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| found.get(key).is_some_and(|found| includes(found, wanted)))
        }
        _ => is_same(found, wanted),
    }
}

/// Equality with numbers by value: `1` is `1.0`.
fn is_same(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => {
            left == right || Number::parse(&left.to_string()) == Number::parse(&right.to_string())
        }
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| is_same(left, right))
        }
        (Json::Object(left), Json::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| is_same(value, other)))
        }
        (left, right) => left == right,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::includes;

    #[test]
    fn objects_may_have_more_fields_and_lists_may_not() {
        let found = json!({"a": {"b": 1, "c": [1, {"d": 2.0}]}, "e": null});
        let check = |wanted: Json, holds| assert_eq!(includes(&found, &wanted), holds, "{wanted}");
        check(json!({}), true);
        check(json!({"a": {"b": 1.0}}), true);
        check(json!({"a": {"c": [1.0, {"d": 2}]}, "e": null}), true);
        check(json!({"a": {"c": [1]}}), false);
        check(json!({"a": {"c": [1, {}]}}), false);
        check(json!({"a": {"b": "1"}}), false);
        check(json!({"f": null}), false);
    }
}
