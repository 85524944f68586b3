//! Vectors about sightings, golden cases and retries.

use serde_json::{Value as Json, json};

use super::Checked;
use super::expectation::{codes, same_codes, same_text};
use crate::compile::Compiled;
use crate::correlate::Correlator;
use crate::golden::classify;
use crate::retries::{TimedCall, retry_findings};

/// Pairs proposals, executions and results.
pub(super) fn check(sightings: &Json, vector: &Json) -> Checked {
    let mut correlator = Correlator::default();
    let mut findings = Vec::new();
    for sighting in sightings.as_array().into_iter().flatten() {
        let at = |place: usize| sighting.get(place).unwrap_or(&Json::Null);
        let text = |place: usize| at(place).as_str().unwrap_or_default();
        let found = match text(0) {
            "proposal" => {
                correlator.propose(text(1), text(2), at(3), at(4).as_bool().unwrap_or(true));
                Vec::new()
            }
            "exec" => correlator.execute(text(1), at(2), at(3).as_str()).findings,
            "result" => correlator.report(text(1)).map(|pairing| pairing.findings).unwrap_or_default(),
            other => return Err(format!("there is no sighting `{other}`")),
        };
        findings.extend(found.iter().map(ToString::to_string));
    }
    if let Some(wanted) = vector.get("calls") {
        same_text("calls", &correlator.calls().to_string(), &wanted.to_string())?;
    }
    vector.get("findings").map_or(Ok(()), |wanted| same_codes("findings", &findings, &codes(wanted)))
}

/// Classes fixtures.
pub(super) fn check_golden(set: &Compiled, cases: &[Json]) -> Checked {
    for (place, case) in cases.iter().enumerate() {
        let tool = case.get("tool").and_then(Json::as_str).unwrap_or_default();
        let class = classify(set, tool, case.get("fixture").unwrap_or(&Json::Null));
        let expect_ok = case.get("expect_ok").and_then(Json::as_bool).unwrap_or(true);
        let passes = class.passes(expect_ok, case.get("expected_error").and_then(Json::as_str));
        let got = json!([if passes { "pass" } else { "fail" }, class.name()]);
        let wanted = case.get("want").cloned().unwrap_or_default();
        same_text(&format!("golden case {}", place + 1), &got.to_string(), &wanted.to_string())?;
    }
    Ok(())
}

/// Judges completions `{tool, args, at, took, status | error, retry_after}` as retries; times are in milliseconds,
/// `retry_after` in seconds.
pub(super) fn check_retries(set: &Compiled, vector: &Json) -> Checked {
    let lists = ["completions", "outcomes", "retries", "attempts"];
    let Some(list) = lists.iter().find_map(|key| vector.get(*key)?.as_array()) else { return Ok(()) };
    let calls: Vec<_> = list.iter().map(timed_call).collect();
    let found: Vec<_> = retry_findings(set, &calls).iter().map(|finding| finding.code.to_string()).collect();
    vector.get("findings").map_or(Ok(()), |wanted| same_codes("findings", &found, &codes(wanted)))
}

fn timed_call(written: &Json) -> TimedCall {
    let number = |keys: &[&str]| keys.iter().find_map(|key| written.get(*key)?.as_f64());
    let text = |key: &str| {
        written.get(key).and_then(|value| {
            value.as_str().map_or_else(|| value.as_i64().map(|int| int.to_string()), |text| Some(text.to_owned()))
        })
    };
    let started_ms = whole(number(&["at_ms", "at", "t", "start", "started_ms"]).unwrap_or(0.0));
    let took = whole(number(&["took_ms", "took", "latency_ms", "ms"]).unwrap_or(0.0));
    let ended = number(&["ended_ms", "end"]).map(whole);
    let error = written.get("err").or_else(|| written.get("error")).filter(|error| !error.is_null());
    let of_error = error.and_then(|error| error.get("status").or_else(|| error.get("code")).or(Some(error)));
    let of_error = of_error.map(|value| value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned));
    let status = text("status").or_else(|| text("outcome")).filter(|status| !status.starts_with('2') && status != "ok");
    TimedCall {
        id: text("id").unwrap_or_default(),
        tool: text("tool").unwrap_or_default(),
        arguments: written.get("args").cloned().unwrap_or_else(|| json!({})),
        started_ms,
        ended_ms: ended.unwrap_or(started_ms + took),
        failure: of_error.or(status),
        retry_after_ms: number(&["retry_after"])
            .map(|seconds| whole(seconds * 1000.0))
            .or(number(&["retry_after_ms"]).map(whole)),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast of a float saturates")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}
