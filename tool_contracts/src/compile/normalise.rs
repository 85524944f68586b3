//! The normal form of a set, which its hash is made of.

use serde_json::{Map, Value as Json, json};

use super::{SESSION, Source};

/// A set as one value: notes left out, and defaults of tool files filled in. Rules from outside are part of it.
pub(super) fn normalise(sources: &[Source], rules: &[Json]) -> Json {
    let mut tools = Map::new();
    let mut session = json!({});
    for source in sources {
        let value = without_notes(source.root.to_json());
        if source.stem == SESSION {
            session = value;
        } else {
            tools.insert(source.stem.clone(), with_defaults(value));
        }
    }
    let mut set = json!({ "session": session, "tools": tools });
    if !rules.is_empty() {
        set["rules"] = rules.iter().cloned().map(without_notes).collect();
    }
    set
}

fn without_notes(value: Json) -> Json {
    match value {
        Json::Object(map) => {
            let kept = map.into_iter().filter(|(key, _)| !key.starts_with("x-"));
            Json::Object(kept.map(|(key, value)| (key, without_notes(value))).collect())
        }
        Json::Array(items) => items.into_iter().map(without_notes).collect(),
        other => other,
    }
}

fn with_defaults(value: Json) -> Json {
    let Json::Object(mut map) = value else { return value };
    let Json::Object(base) = base() else { return Json::Object(map) };
    for (key, default) in base {
        map.entry(key).or_insert(default);
    }
    Json::Object(map)
}

/// Returns the defaults of a tool file.
pub(crate) fn base() -> Json {
    json!({
        "evidence_class": "local_transaction",
        "commit_requirement": "acknowledged",
        "timeouts": {"total_ms": 30_000},
        "retries": {"max_attempts": 1, "retry_on": []},
        "rate_limits": {"on_429": {"respect_retry_after": true, "max_sleep_seconds": 60}},
        "assertions": {"input_invariants": [], "output_invariants": []},
        "golden_cases": [],
        "allowed_errors": [],
    })
}
