//! Log of the agent's reports, bounded.

use serde_json::{Map, Value as Json};

use super::limits::{ApiLimits, SHORT_FIELD_BYTES};
use crate::redact::Redactor;

/// Approximate size of a value besides its text.
const VALUE_BYTES: usize = 64;
/// Field that marks a report of the agent itself.
const SELF_REPORTED: &str = "self_reported";
/// Field with the arrival time of the event, in milliseconds since the agent started.
const RECEIVED_AT_MS: &str = "received_at_ms";
/// Field that marks an event whose long fields are missing.
const CUT: &str = "cut";

/// The events of one sandbox, in the order in which they came. They are kept as they were sent, because the agent may read
/// them again, and must not see the markers of redaction. Secrets are taken out when the events become evidence.
#[derive(Debug)]
pub(super) struct TraceLog {
    events: Vec<Json>,
    /// Number of events that may still be kept.
    events_left: usize,
    bytes_left: usize,
    event_bytes: usize,
    counted: u64,
    closed: bool,
}

impl TraceLog {
    pub(super) fn new(limits: &ApiLimits) -> Self {
        Self {
            events: Vec::new(),
            events_left: limits.events,
            bytes_left: limits.events_bytes,
            event_bytes: limits.event_bytes,
            counted: 0,
            closed: false,
        }
    }

    /// Keeps an event or counts it, and says whether either was done. Once the log is full it stays full, so that the kept
    /// events are the first ones without a gap.
    pub(super) fn record(&mut self, event: Json, received_at_ms: u64, redactor: &Redactor) -> bool {
        if self.closed {
            return false;
        }
        let event = marked(event, received_at_ms);
        let fitting = self.fit(event, redactor).filter(|_| self.counted == 0 && self.events_left > 0);
        match fitting.filter(|(_, size)| *size <= self.bytes_left) {
            Some((event, size)) => {
                self.events_left -= 1;
                self.bytes_left -= size;
                self.events.push(event);
            }
            None => self.counted += 1,
        }
        true
    }

    /// Ends the log: whatever is recorded afterwards is ignored.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// The events as they were sent.
    pub(super) fn events(&self) -> &[Json] {
        &self.events
    }

    /// Returns the approximate size of the events in memory.
    pub(super) fn size(&self) -> usize {
        self.events.iter().map(size).sum()
    }

    /// The events without secrets.
    pub(super) fn redacted(&self, redactor: &Redactor) -> Vec<Json> {
        self.events.iter().map(|event| redacted(event, redactor)).collect()
    }

    /// Returns the number of events that were counted only.
    pub(super) fn counted(&self) -> u64 {
        self.counted
    }

    /// The event with its size; without its long fields when it is too large, and nothing when it still is.
    fn fit(&self, event: Map<String, Json>, redactor: &Redactor) -> Option<(Json, usize)> {
        let event = Json::Object(event);
        let size = kept_size(&event, redactor);
        if size <= self.event_bytes {
            return Some((event, size));
        }
        let Json::Object(mut fields) = event else { return None };
        fields.retain(|name, value| name.len() + kept_size(value, redactor) <= SHORT_FIELD_BYTES);
        fields.insert(CUT.to_owned(), true.into());
        let event = Json::Object(fields);
        let size = kept_size(&event, redactor);
        (size <= self.event_bytes).then_some((event, size))
    }
}

/// The event with our marks. One that is no object becomes one.
fn marked(event: Json, received_at_ms: u64) -> Map<String, Json> {
    let mut fields = match event {
        Json::Object(fields) => fields,
        other => Map::from_iter([("event".to_owned(), other)]),
    };
    fields.insert(SELF_REPORTED.to_owned(), true.into());
    fields.insert(RECEIVED_AT_MS.to_owned(), received_at_ms.into());
    fields
}

/// Returns the size of the event with or without its secrets, whichever is larger: markers may be longer than the
/// secrets.
fn kept_size(value: &Json, redactor: &Redactor) -> usize {
    size(value).max(size(&redacted(value, redactor)))
}

/// Returns the approximate size of a value in memory.
fn size(value: &Json) -> usize {
    VALUE_BYTES
        + match value {
            Json::String(text) => text.len(),
            Json::Array(items) => items.iter().map(size).sum(),
            Json::Object(fields) => fields.iter().map(|(name, value)| VALUE_BYTES + name.len() + size(value)).sum(),
            _ => 0,
        }
}

/// The value without secrets, wherever in it they stand.
fn redacted(value: &Json, redactor: &Redactor) -> Json {
    match value {
        Json::String(text) => redactor.text(text).into(),
        Json::Number(number) => {
            let text = number.to_string();
            let without = redactor.text(&text);
            if without == text { value.clone() } else { without.into() }
        }
        Json::Array(items) => items.iter().map(|item| redacted(item, redactor)).collect(),
        Json::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (redactor.text(name), redacted(value, redactor)));
            Json::Object(fields.collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value as Json, json};

    use super::TraceLog;
    use crate::api::ApiLimits;
    use crate::redact::Redactor;

    fn log(limits: ApiLimits, events: impl IntoIterator<Item = Json>) -> TraceLog {
        let mut log = TraceLog::new(&limits);
        for event in events {
            assert!(log.record(event, 7, &Redactor::none()));
        }
        log
    }

    #[test]
    fn an_event_is_marked_whatever_it_says() {
        let log = log(ApiLimits::default(), [json!({"tool": "t", "self_reported": false}), json!("odd")]);
        let marked = [
            json!({"tool": "t", "self_reported": true, "received_at_ms": 7}),
            json!({"event": "odd", "self_reported": true, "received_at_ms": 7}),
        ];
        assert_eq!(log.events(), marked);
    }

    #[test]
    fn events_beyond_the_number_or_the_bytes_are_counted_without_a_gap() {
        let few = log(ApiLimits { events: 2, ..ApiLimits::default() }, vec![json!({}); 5]);
        assert_eq!((few.events().len(), few.counted()), (2, 3));
        let limits = ApiLimits { events_bytes: 1_000, ..ApiLimits::default() };
        let large = log(limits, [json!({}), json!({"output": "x".repeat(900)}), json!({})]);
        assert_eq!((large.events().len(), large.counted()), (1, 2));
    }

    #[test]
    fn a_large_event_keeps_its_short_fields() {
        let limits = ApiLimits { event_bytes: 2_000, ..ApiLimits::default() };
        let log = log(limits, [json!({"tool": "t", "output": "x".repeat(2_000)})]);
        assert_eq!(log.events()[0], json!({"tool": "t", "self_reported": true, "received_at_ms": 7, "cut": true}));
    }

    #[test]
    fn evidence_has_no_secrets_and_the_agent_sees_no_marker() {
        let secrets = BTreeMap::from([("KEY".to_owned(), "s3cret-1".to_owned()), ("PIN".to_owned(), "123456".into())]);
        let redactor = Redactor::new(&secrets, "k");
        let mut log = TraceLog::new(&ApiLimits::default());
        log.record(json!({"output": {"s3cret-1": ["a s3cret-1", 51_234_567]}}), 0, &redactor);
        assert!(!Json::from(log.events()).to_string().contains("redacted"));
        let kept = Json::from(log.redacted(&redactor)).to_string();
        assert!(!kept.contains("s3cret") && !kept.contains("123456"), "{kept}");
        assert_eq!(kept.matches("[redacted:KEY:k]").count(), 2, "{kept}");
    }

    #[test]
    fn nothing_is_recorded_after_the_end() {
        let mut log = log(ApiLimits::default(), []);
        log.close();
        assert!(!log.record(json!({}), 0, &Redactor::none()));
        assert_eq!((log.events().len(), log.counted()), (0, 0));
    }
}
