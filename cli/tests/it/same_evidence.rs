//! The evidence of one experiment on two backends, but for what is declared to differ.

use regex::Regex;
use serde_json::Value as Json;

use crate::place::Place;

/// Keys that depend on the moment or on the backend. Digests are of texts with such things in them, and the texts are
/// compared themselves.
const DIFFERS: [&str; 18] = [
    "after_ms",
    "at_ms",
    "close_to_another",
    "dropped_bytes",
    "duration_ms",
    "first_fault_ms",
    "hash",
    "last_hash",
    "latency_ms",
    "marker_key",
    "prev",
    "retried_after_ms",
    "sha256",
    "started_at",
    "ts",
    "used",
    "wall_ms",
    "world",
];
/// Examples with a judge, which is asked once and remembers its answer.
const JUDGED: [&str; 2] = ["check-llm-as-judge", "reconciliation-pipeline"];

/// Fails unless each scenario left the same evidence in both experiments.
pub(crate) fn compare(place: &Place, one: &Json, other: &Json) {
    if JUDGED.iter().any(|id| one["spec_id"] == *id) {
        return;
    }
    for scenario in one["scenarios"].as_array().expect("scenarios") {
        let id = scenario["scenario_id"].as_str().expect("an id");
        let [mut first, mut second] = [one, other].map(|experiment| evidence(place, experiment, id));
        let fired = first["limits"].as_array().is_some_and(|limits| !limits.is_empty());
        if fired {
            // What an agent still did while it was being ended is a matter of luck.
            [first, second] = [first, second]
                .map(|evidence| [&evidence["limits"], &evidence["answers"]].into_iter().cloned().collect());
        }
        let shown = |evidence: &Json| serde_json::to_string_pretty(evidence).expect("JSON");
        similar(&shown(&first), &shown(&second), &format!("{}/{id}", one["spec_id"]));
    }
}

/// Fails with the lines that differ.
fn similar(one: &str, other: &str, name: &str) {
    let differing: Vec<_> = one.lines().zip(other.lines()).filter(|(one, other)| one != other).take(5).collect();
    assert!(differing.is_empty() && one.lines().count() == other.lines().count(), "{name}: {differing:#?}");
}

/// Returns the stored evidence of a scenario, without the parts that differ from run to run and from backend to
/// backend.
fn evidence(place: &Place, experiment: &Json, scenario: &str) -> Json {
    let reference = format!("{}/{scenario}", experiment["experiment_id"].as_str().expect("an id"));
    let (code, stdout, stderr) = place.run(&["show", &reference, "--evidence"]);
    assert_eq!(code, 0, "{reference}: {stderr}");
    let mut evidence: Json = serde_json::from_str(&stdout).expect("JSON");
    let key = evidence["marker_key"].as_str().unwrap_or("none").to_owned();
    let moments = [
        // Durations that programs print, days and times, and sandboxes.
        (r"\bts-[0-9a-f-]{36}-\d+", "sandbox"),
        (r#""ms": \d+(\.\d+)?"#, "ms"),
        (r"\b\d+\.\d+ ?s\b", "0s"),
        (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*(Z|\+00:00)?", "now"),
        (r"\b[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \d{4}", "now"),
    ];
    let moments = moments.map(|(pattern, with)| (Regex::new(pattern).expect("a pattern"), with));
    plain(&mut evidence, &|text| {
        let text = text.replace(&key, "KEY");
        moments.iter().fold(text, |text, (pattern, with)| pattern.replace_all(&text, *with).into_owned())
    });
    evidence
}

fn plain(value: &mut Json, change: &dyn Fn(&str) -> String) {
    match value {
        Json::Object(map) => {
            map.retain(|key, _| !DIFFERS.contains(&key.as_str()));
            map.values_mut().for_each(|value| plain(value, change));
        }
        Json::Array(values) => {
            // Which image stood in for which is about the backend.
            if values
                .first()
                .is_some_and(|name| name.as_str().is_some_and(|name| name.eq_ignore_ascii_case("content-length")))
            {
                // A number in the body may be longer.
                values.truncate(1);
            }
            values.retain(|value| !value.as_str().is_some_and(|text| text.contains(" stood in for ")));
            values.iter_mut().for_each(|value| plain(value, change));
        }
        Json::String(text) => *text = change(text),
        _ => {}
    }
}
