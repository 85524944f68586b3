//! From what a client sends to a row.

use jiff::Timestamp;
use serde_json::{Map, Value as Json};
use store::NewTrace;

/// The size limit of an event in bytes; a larger one loses its long fields.
const EVENT: usize = 64 * 1024;
/// A field that is longer is left out of an event that is too large.
const FIELD: usize = 1024;
/// The length limit of a searched word in characters.
const WORD: usize = 256;
/// The field that marks self-reported events.
const SELF_REPORTED: &str = "self_reported";
/// The field that marks events without their long fields.
const CUT: &str = "cut";
/// Where the name of an agent may stand in the metadata.
const AGENTS: [&str; 4] = ["agent", "agent.name", "gen_ai.agent.name", "agent_name"];

/// Whose an event is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin<'a> {
    /// Whose.
    pub(crate) owner: &'a str,
    /// In which sandbox.
    pub(crate) sandbox: Option<&'a str>,
}

/// The events of a body. What is no list of events is taken for one event.
pub(super) fn events(body: Json) -> Vec<Json> {
    match body {
        Json::Object(mut fields) if fields.contains_key("events") => match fields.remove("events") {
            Some(Json::Array(events)) => events,
            Some(Json::Null) | None => Vec::new(),
            Some(other) => vec![other],
        },
        Json::Object(fields) if fields.is_empty() => Vec::new(),
        Json::Array(events) => events,
        Json::Null => Vec::new(),
        other => vec![other],
    }
}

/// The row of an event; `None` when it is too large even without its long fields.
pub(super) fn row(event: Json, origin: Origin<'_>, now: Timestamp) -> Option<NewTrace> {
    let fields = fitting(marked(event))?;
    let text = |name: &str| fields.get(name).and_then(Json::as_str).map(word).unwrap_or_default();
    let span_id = text("span_id");
    let parent_span_id = text("parent_span_id");
    let root_span_id = match text("root_span_id") {
        // What has nothing around it is the root.
        empty if empty.is_empty() && parent_span_id.is_empty() => span_id.clone(),
        root => root,
    };
    Some(NewTrace {
        owner: origin.owner.to_owned(),
        run: None,
        scenario: None,
        sandbox: origin.sandbox.map(ToOwned::to_owned),
        agent: agent(&fields),
        self_reported: true,
        at: fields.get("ts").and_then(moment).unwrap_or(now),
        event_type: text("event_type"),
        tool: text("tool"),
        phase: text("phase"),
        status: text("status"),
        span_id,
        parent_span_id,
        root_span_id,
        duration_ms: fields.get("duration_ms").and_then(milliseconds),
        body: Json::Object(fields),
    })
}

/// The event with our mark, whatever it says itself. One that is no object becomes one.
fn marked(event: Json) -> Map<String, Json> {
    let mut fields = match event {
        Json::Object(fields) => fields,
        other => Map::from_iter([("event".to_owned(), other)]),
    };
    fields.insert(SELF_REPORTED.to_owned(), true.into());
    fields
}

/// The event; without its long fields when it is too large, and nothing when it still is.
fn fitting(mut fields: Map<String, Json>) -> Option<Map<String, Json>> {
    let size = |value: &Json| serde_json::to_string(value).map_or(usize::MAX, |text| text.len());
    if size(&Json::Object(fields.clone())) <= EVENT {
        return Some(fields);
    }
    fields.retain(|name, value| name.len() + size(value) <= FIELD);
    fields.insert(CUT.to_owned(), true.into());
    (size(&Json::Object(fields.clone())) <= EVENT).then_some(fields)
}

/// The beginning of a word. NUL is no character of a database.
fn word(text: &str) -> String {
    text.chars().filter(|character| *character != '\0').take(WORD).collect()
}

fn agent(fields: &Map<String, Json>) -> String {
    let metadata = fields.get("metadata").and_then(Json::as_object);
    let named = AGENTS.iter().find_map(|name| metadata?.get(*name)?.as_str());
    fields.get("agent").and_then(Json::as_str).or(named).map(word).unwrap_or_default()
}

/// A time of RFC 3339, with or without its offset, or seconds or milliseconds since 1970.
fn moment(value: &Json) -> Option<Timestamp> {
    /// Seconds that are larger than this would be after the year 5000: they are milliseconds.
    const SECONDS: f64 = 1e11;
    match value {
        Json::String(text) => text.parse().ok().or_else(|| format!("{text}Z").parse().ok()),
        Json::Number(number) => {
            let number = number.as_f64()?;
            let milliseconds = if number.abs() < SECONDS { number * 1000.0 } else { number };
            #[expect(clippy::cast_possible_truncation, reason = "a float becomes the nearest number that there is")]
            Timestamp::from_millisecond(milliseconds as i64).ok()
        }
        _ => None,
    }
}

fn milliseconds(value: &Json) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is a number of milliseconds, and not below 0"
    )]
    let whole = |number: f64| (number >= 0.0).then_some(number as u64);
    let number = value.as_u64().or_else(|| value.as_f64().and_then(whole))?;
    // What a database holds.
    Some(number.min(i64::MAX as u64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ORIGIN: Origin<'static> = Origin { owner: "alice", sandbox: Some("sb-1") };

    #[test]
    fn whatever_is_sent_becomes_events() {
        assert_eq!(events(json!({"events": [1, {}]})), [json!(1), json!({})]);
        assert_eq!(events(json!([{"tool": "t"}])), [json!({"tool": "t"})]);
        assert_eq!(events(json!({"tool": "t"})), [json!({"tool": "t"})]);
        assert_eq!(events(json!({"events": {"tool": "t"}})), [json!({"tool": "t"})]);
        for none in [json!({}), json!(null), json!({"events": null}), json!({"events": []})] {
            assert!(events(none.clone()).is_empty(), "{none}");
        }
    }

    #[test]
    fn an_event_becomes_a_row() {
        let event = json!({
            "ts": "2026-01-02T03:04:05.5+00:00", "event_type": "tool_call", "tool": "read", "phase": "end", "status": "ok",
            "span_id": "a", "parent_span_id": "", "root_span_id": "", "duration_ms": 12.9, "metadata": {"agent.name": "codex"},
            "self_reported": false,
        });
        let row = row(event, ORIGIN, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(row.at, "2026-01-02T03:04:05.5Z".parse().unwrap());
        assert_eq!((row.root_span_id.as_str(), row.duration_ms, row.agent.as_str()), ("a", Some(12), "codex"));
        assert_eq!((row.owner.as_str(), row.sandbox.as_deref()), ("alice", Some("sb-1")));
        assert_eq!(row.body["self_reported"], true);
    }

    #[test]
    fn odd_events_are_kept_as_they_are() {
        for odd in [json!("odd"), json!(7), json!({"ts": [], "duration_ms": -1, "tool": {}, "span_id": 5}), json!([[]])]
        {
            let row = row(odd.clone(), ORIGIN, Timestamp::UNIX_EPOCH).unwrap();
            assert_eq!((row.at, row.duration_ms, row.tool.as_str()), (Timestamp::UNIX_EPOCH, None, ""), "{odd}");
        }
        let row =
            row(json!({"duration_ms": u64::MAX, "ts": 1e300, "tool": "a\0b"}), ORIGIN, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!((row.duration_ms, row.tool.as_str()), (Some(i64::MAX as u64), "ab"));
    }

    #[test]
    fn a_large_event_keeps_its_short_fields() {
        let large = json!({"tool": "t", "output": "x".repeat(EVENT)});
        let row = row(large, ORIGIN, Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(row.body, json!({"tool": "t", "self_reported": true, "cut": true}));
        let many: Map<String, Json> = (0..9000).map(|number| (format!("field {number}"), json!(1))).collect();
        assert_eq!(super::row(Json::Object(many), ORIGIN, Timestamp::UNIX_EPOCH), None);
    }

    #[test]
    fn times_are_read_as_clients_write_them() {
        let second = "1970-01-01T00:00:01Z".parse().ok();
        for (ts, expected) in [
            (json!("1970-01-01T00:00:01Z"), second),
            (json!("1970-01-01T00:00:01"), second),
            (json!(1), second),
            (json!(1_700_000_000_000_u64), "2023-11-14T22:13:20Z".parse().ok()),
            (json!("now"), None),
            (json!(null), None),
        ] {
            assert_eq!(moment(&ts), expected, "{ts}");
        }
    }
}
