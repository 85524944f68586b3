//! Shows a trace: everything that was reported, and what we know beside it.

use serde_json::{Map, Value as Json, json};
use store::StoredTrace;

/// A row as clients see it. What we know stands where the event itself might say something else; numbers are whole and
/// never missing, because one of the SDKs insists on that.
pub(crate) fn row(stored: StoredTrace) -> Json {
    let StoredTrace { number, trace } = stored;
    let mut fields = match trace.body {
        Json::Object(fields) => fields,
        other => Map::from_iter([("event".to_owned(), other)]),
    };
    let object = |fields: &mut Map<String, Json>, name: &str| match fields.remove(name) {
        Some(value @ Json::Object(_)) => value,
        _ => json!({}),
    };
    let (metadata, cost) = (object(&mut fields, "metadata"), object(&mut fields, "cost"));
    let known = json!({
        "id": number,
        "ts": trace.at.to_string(),
        "created_at": trace.at.to_string(),
        "event_type": trace.event_type,
        "tool": trace.tool,
        "phase": trace.phase,
        "status": trace.status,
        "duration_ms": trace.duration_ms.unwrap_or_default(),
        "span_id": trace.span_id,
        "parent_span_id": trace.parent_span_id,
        "root_span_id": trace.root_span_id,
        "agent": trace.agent,
        "sandbox_id": trace.sandbox.unwrap_or_default(),
        "experiment_id": trace.run.map(|run| run.experiment.to_string()).unwrap_or_default(),
        "run": trace.run.map(|run| run.number).unwrap_or_default(),
        "scenario_id": trace.scenario.unwrap_or_default(),
        "self_reported": trace.self_reported,
        "metadata": metadata,
        "cost": cost,
    });
    if let Json::Object(known) = known {
        fields.extend(known);
    }
    Json::Object(fields)
}

/// The event of a row, as it was sent.
pub(crate) fn event(stored: StoredTrace) -> Json {
    stored.trace.body
}
