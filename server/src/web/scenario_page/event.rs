//! Events of a scenario, in words.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use scenario::event::Event;
use scenario::trace::Moment;
use scenario::untrusted;
use serde_json::Value;
use store::{StoredEvent, WorkerId};

use super::Shown;
use crate::app::App;
use crate::error::ApiError;
use crate::web::json;
use crate::web::numbers::{duration, score};

/// An event in one line, and all that is known of it.
pub(super) fn event(shown: &Shown, index: usize, moment: &Moment<'_>) -> (Markup, Markup) {
    let Some(stored) = shown.events.get(index) else { return (html! {}, html! {}) };
    let event = &stored.event;
    let body = shown.workers.named(event.happened.body());
    let label = match &event.happened {
        Event::PhaseStarted(phase) | Event::PhaseEnded(phase, _) => html! {
            strong { (phase) }
            @if moment.broken_off { " " span.bad { (broken_off(&shown.events)) } }
            @else if matches!(event.happened, Event::PhaseStarted(_)) { " " span.quiet { "has begun" } }
        },
        happened => html! {
            (untrusted::line(&happened.kind().replace('_', " "), 60)) " "
            span.quiet { (untrusted::line(&in_short(&body), 120)) }
        },
    };
    (label, html! { p.quiet { "At " (event.at) ", event " (stored.number) } (json::value(&body, shown.marks())) })
}

/// Why a phase has no end of its own: somebody ended the attempt, or it failed.
fn broken_off(events: &[StoredEvent]) -> &'static str {
    let is_ended = |stored: &StoredEvent| {
        matches!(stored.event.happened, Event::GivenUp { .. } | Event::Released { .. } | Event::Lost { .. })
    };
    if events.iter().any(is_ended) { "was broken off" } else { "failed" }
}

/// The key under which the whole name of a worker stands, beside the name of its machine.
const WHOLE_NAME: &str = "worker_id";

/// The names of the machines of workers, as far as these are known.
#[derive(Debug, Default)]
pub(super) struct WorkerNames(BTreeMap<String, String>);

impl WorkerNames {
    /// The names of all workers that events tell of.
    pub(super) async fn of(app: &App, events: &[StoredEvent]) -> Result<Self, ApiError> {
        let ids: BTreeSet<_> = events.iter().filter_map(|stored| worker(&stored.event.happened.body())).collect();
        let mut names = BTreeMap::new();
        for id in ids {
            let Ok(worker) = id.parse::<WorkerId>() else { continue };
            names.extend(app.store.worker(worker).await?.map(|worker| (id, worker.new.host)));
        }
        Ok(Self(names))
    }

    /// The body of an event, with its worker called by the name of its machine.
    pub(super) fn named(&self, mut body: Value) -> Value {
        let known = worker(&body).and_then(|id| Some((self.0.get(&id)?, id)));
        if let (Some((host, id)), Some(fields)) = (known, body.as_object_mut()) {
            fields.insert("worker".to_owned(), host.as_str().into());
            fields.insert(WHOLE_NAME.to_owned(), id.into());
        }
        body
    }
}

/// The worker that an event tells of; one of a kind that this version does not know may have one too.
fn worker(body: &Value) -> Option<String> {
    body["worker"].as_str().map(ToOwned::to_owned)
}

/// Renders the fields of an event on one line.
fn in_short(body: &Value) -> String {
    let said = body.as_object().into_iter().flatten().filter(|(name, _)| *name != WHOLE_NAME);
    let told = said.map(|(name, value)| words(name, value));
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
        check(&json!({"worker": "host-1", "worker_id": "a/b"}), "by worker host-1");
        check(&json!({"some_thing": 7, "is_so": true}), "some thing 7 is so true");
        check(&json!({}), "");
        check(&Value::Null, "");
    }
}
