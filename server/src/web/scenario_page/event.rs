//! What workers told while a scenario was run, in words.

use maud::{Markup, html};
use scenario::untrusted;
use serde_json::Value;

use super::Shown;
use super::moment::Kind;
use crate::web::json;
use crate::web::numbers::{duration, score};

/// An event in one line, and all that is known of it.
pub(super) fn event(shown: &Shown, index: usize, kind: Kind) -> (Markup, Markup) {
    let Some(stored) = shown.events.get(index) else { return (html! {}, html! {}) };
    let event = &stored.event;
    let label = match (kind, event.body["phase"].as_str()) {
        (Kind::Phase, Some(phase)) => html! {
            strong { (untrusted::line(phase, 40)) }
            @if event.kind == "phase_started" { " " span.quiet { "has begun" } }
        },
        _ => html! {
            (untrusted::line(&event.kind.replace('_', " "), 60)) " "
            span.quiet { (untrusted::line(&in_short(&event.body), 120)) }
        },
    };
    (label, html! { p.quiet { "At " (event.at) ", event " (stored.number) } (json::value(&event.body, shown.marks())) })
}

/// What an event says besides its kind, on one line.
fn in_short(body: &Value) -> String {
    let told = body.as_object().into_iter().flatten().map(|(name, value)| words(name, value));
    told.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A value in words: a text speaks for itself, a number says what it counts.
fn words(name: &str, value: &Value) -> String {
    match (name, value) {
        (_, Value::Null) => String::new(),
        (_, Value::String(text)) if name == "worker" => format!("by worker {text}"),
        (_, Value::String(text)) => text.clone(),
        (_, Value::Array(all)) => all.iter().map(|one| words("", one)).collect::<Vec<_>>().join(", "),
        ("ms", Value::Number(number)) => format!("after {}", duration(number.as_u64().unwrap_or(0))),
        ("wall_ms", Value::Number(number)) => format!("in {}", duration(number.as_u64().unwrap_or(0))),
        ("index", Value::Number(number)) => format!("number {}", number.as_u64().unwrap_or(0).saturating_add(1)),
        ("composite", Value::Number(number)) => format!("composite {}", score(number.as_f64().unwrap_or(0.0))),
        (_, other) => format!("{} {other}", name.replace('_', " ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::in_short;

    #[track_caller]
    fn check(body: &Value, expected: &str) {
        assert_eq!(in_short(body), expected);
    }

    #[test]
    fn every_number_says_what_it_counts() {
        check(&json!({"exit": "exit code 0", "ms": 584}), "exit code 0 after 584 ms");
        check(&json!({"exit": null, "ms": 61_000}), "after 1 min 01 s");
        check(&json!({"service": "db", "ms": 1200}), "db after 1.20 s");
        check(&json!({"status": "fail", "composite": 0.0, "wall_ms": 1200}), "fail composite 0.00 in 1.20 s");
        check(&json!({"index": 0}), "number 1");
        check(&json!({"packages": ["curl", "jq"]}), "curl, jq");
        check(&json!({"worker": "a/b"}), "by worker a/b");
        check(&json!({"some_thing": 7, "is_so": true}), "some thing 7 is so true");
        check(&json!({}), "");
        check(&Value::Null, "");
    }
}
