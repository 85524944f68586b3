//! The state of a session as vectors name its parts.

use serde_json::{Map, Value as Json, json};

use super::Checked;
use crate::compile::Compiled;
use crate::state::aggregate::Contribution;
use crate::state::{SessionState, Status};
use crate::value::{Num, same};

/// Fails unless the parts that are wanted are in the state.
pub(super) fn check(state: &SessionState, wanted: &Json) -> Checked {
    let known = snapshot(state);
    for (key, value) in wanted.as_object().into_iter().flatten() {
        let got = known.get(key).ok_or_else(|| format!("the state has no `{key}`"))?;
        let is_subset =
            |part: &Map<String, Json>| part.iter().all(|(key, value)| got.get(key).is_some_and(|got| same(got, value)));
        if !same(got, value) && !value.as_object().is_some_and(is_subset) {
            return Err(format!("state {key}: got {got}, wanted {value}"));
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "costs of tests are small")]
fn snapshot(state: &SessionState) -> Json {
    let kill = if let Status::Killed(cause) = &state.status { json!(cause) } else { Json::Null };
    let bindings = state.bindings.iter().map(|(slot, (value, _))| (slot.clone(), value.clone()));
    json!({
        "phase": state.phase,
        "status": state.status.name(),
        "kill": kill,
        "total_steps": state.total_steps,
        "steps": state.total_steps,
        "attempts": state.attempt_steps,
        "attempt_steps": state.attempt_steps,
        "tool_calls": state.released_calls,
        "released_calls": state.released_calls,
        "per_tool": state.per_tool,
        "cost": state.cost_micros as f64 / 1e6,
        "cblocks": state.consecutive_blocks,
        "consecutive_blocks": state.consecutive_blocks,
        "blocks": state.consecutive_blocks,
        "calls": state.released_calls,
        "cerrors": state.consecutive_errors,
        "consecutive_errors": state.consecutive_errors,
        "labels": state.labels.keys().collect::<Vec<_>>(),
        "forbidden": state.forbidden.keys().collect::<Vec<_>>(),
        "bindings": bindings.collect::<Map<String, Json>>(),
        "binds": state.bindings.iter().map(|(slot, (value, _))| (slot.clone(), value.clone())).collect::<Map<String, Json>>(),
    })
}

/// Reserves as if a call were in flight: `{tool, args}`, or the name of an aggregate and a value.
pub(super) fn reserve(set: &Compiled, state: &mut SessionState, written: &Json) {
    let id = id_of(written);
    if let Some(tool) = written.get("tool").and_then(Json::as_str) {
        let arguments = written.get("args").cloned().unwrap_or_else(|| json!({}));
        for (aggregate, kept) in set.session.aggregates.iter().zip(&mut state.aggregates) {
            if let Ok(Some(contribution)) = Contribution::of(aggregate, tool, &arguments) {
                kept.reserve(&id, contribution);
            }
        }
        return;
    }
    let value = |name: &str| {
        let direct = written.get(name).and_then(Num::of);
        let names_it = leaves(written).into_iter().any(|leaf| leaf.as_str() == Some(name));
        direct.or_else(|| leaves(written).into_iter().filter_map(Num::of).next().filter(|_| names_it))
    };
    for (aggregate, kept) in set.session.aggregates.iter().zip(&mut state.aggregates) {
        if let Some(number) = value(&aggregate.name.name) {
            kept.reserve(&id, Contribution::of_number(number));
        }
    }
}

/// Releases one reservation, or all when none is named.
pub(super) fn release(state: &mut SessionState, written: &Json) {
    let id = id_of(written);
    for kept in &mut state.aggregates {
        if id == "reserved" { kept.release_all() } else { kept.release(&id) }
    }
}

fn id_of(written: &Json) -> String {
    let named = ["id", "call"].iter().find_map(|key| written.get(*key)?.as_str());
    named.or_else(|| written.as_str()).unwrap_or("reserved").to_owned()
}

fn leaves(value: &Json) -> Vec<&Json> {
    match value {
        Json::Array(items) => items.iter().collect(),
        Json::Object(map) => map.values().collect(),
        other => vec![other],
    }
}
