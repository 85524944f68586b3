//! Records: a session written down line by line, each line with the hash of the one before it.

use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use crate::call::Call;
use crate::canonical::{canonical, hash, hash_text};
use crate::decide::Decision;
use crate::redaction::redacted;

/// The hash before the first record.
const START: &str = "sha256:0";

/// A log of one session.
#[derive(Debug, Clone, Default)]
pub struct RecordLog {
    session: String,
    next_seq: u64,
    last_hash: Option<String>,
}

/// The fields that every record of a session has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordTime<'a> {
    /// The time, as RFC 3339; it is passed in.
    pub ts: &'a str,
    /// The kind: `session_opened`, `decision`, `commit`, …
    pub kind: &'a str,
}

/// A log that was changed after it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokenLog {
    /// A line is not a record.
    #[error("line {line} is not a record")]
    NotARecord {
        /// The line, from 1.
        line: usize,
    },
    /// A line does not follow the one before it, or is not what was hashed.
    #[error("line {line} was changed, or one before it is missing")]
    Changed {
        /// The line, from 1.
        line: usize,
    },
    /// The last line is not the last one that was written.
    #[error("lines are missing at the end")]
    Truncated,
}

impl RecordLog {
    /// A log with nothing in it.
    #[must_use]
    pub fn new(session: &str) -> Self {
        Self { session: session.to_owned(), ..Self::default() }
    }

    /// Adds a record and returns it. Strings are redacted before they are hashed.
    pub fn add(&mut self, time: RecordTime<'_>, fields: &Map<String, Json>) -> Json {
        let prev = self.last_hash.clone().unwrap_or_else(|| START.to_owned());
        let mut record = Map::new();
        record.insert("seq".to_owned(), self.next_seq.into());
        record.insert("ts".to_owned(), time.ts.into());
        record.insert("kind".to_owned(), time.kind.into());
        record.insert("session".to_owned(), self.session.clone().into());
        record.extend(fields.iter().map(|(key, value)| (key.clone(), redacted(value))));
        record.insert("prev".to_owned(), prev.into());
        let own = hash(&Json::Object(record.clone()));
        record.insert("hash".to_owned(), own.clone().into());
        self.next_seq += 1;
        self.last_hash = Some(own);
        Json::Object(record)
    }

    /// The hash of the last record, which the result of the run keeps: a log that ends earlier was cut off.
    #[must_use]
    pub fn last_hash(&self) -> Option<&str> {
        self.last_hash.as_deref()
    }
}

/// Checks that nothing in a log was changed, left out or cut off.
///
/// # Errors
/// At the first line that is not as it was written.
pub fn check_log(lines: &str, last_hash: &str) -> Result<(), BrokenLog> {
    let mut prev = START.to_owned();
    for (place, text) in lines.lines().enumerate() {
        let line = place + 1;
        let record: Json = serde_json::from_str(text).map_err(|_| BrokenLog::NotARecord { line })?;
        let Json::Object(mut record) = record else { return Err(BrokenLog::NotARecord { line }) };
        let own = record.shift_remove("hash");
        let follows = record.get("prev").and_then(Json::as_str) == Some(prev.as_str());
        let counts = record.get("seq").and_then(Json::as_u64) == Some(place as u64);
        let computed = hash(&Json::Object(record));
        if !follows || !counts || own.as_ref().and_then(Json::as_str) != Some(computed.as_str()) {
            return Err(BrokenLog::Changed { line });
        }
        prev = computed;
    }
    if prev == last_hash { Ok(()) } else { Err(BrokenLog::Truncated) }
}

/// The fields of a decision's record.
#[must_use]
pub fn decision_fields(call: &Call, decision: &Decision, contract: &str) -> Map<String, Json> {
    let fields = json!({
        "call": call.id,
        "tool": call.tool,
        "args_hash": hash_text(&canonical(&call.arguments)),
        "verdict": decision.verdict,
        "layer": decision.layer,
        "reasons": decision.reasons,
        "contract": contract,
    });
    match fields {
        Json::Object(map) => map,
        _ => Map::new(),
    }
}

/// A part of a record as JSON.
#[must_use]
pub fn field(value: &impl Serialize) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, json};

    use super::{BrokenLog, RecordLog, RecordTime, check_log};

    fn log(count: usize) -> (Vec<String>, String) {
        let mut log = RecordLog::new("s-1");
        let time = RecordTime { ts: "2026-11-15T23:40:01.120Z", kind: "commit" };
        let fields = |place: usize| Map::from_iter([("call".to_owned(), json!(format!("call-{place}")))]);
        let lines = (0..count).map(|place| log.add(time, &fields(place)).to_string()).collect();
        (lines, log.last_hash().expect("a record").to_owned())
    }

    #[test]
    fn a_log_is_right_as_it_was_written() {
        let (lines, last) = log(5);
        assert_eq!(check_log(&lines.join("\n"), &last), Ok(()));
    }

    #[test]
    fn a_line_that_is_missing_or_moved_is_found() {
        let (lines, last) = log(5);
        assert_eq!(check_log(&lines[..4].join("\n"), &last), Err(BrokenLog::Truncated));
        assert_eq!(check_log(&lines[1..].join("\n"), &last), Err(BrokenLog::Changed { line: 1 }));
        let mut swapped = lines.clone();
        swapped.swap(1, 2);
        assert_eq!(check_log(&swapped.join("\n"), &last), Err(BrokenLog::Changed { line: 2 }));
    }

    #[test]
    fn secrets_are_redacted_before_they_are_hashed() {
        let mut log = RecordLog::new("s-1");
        let fields = Map::from_iter([("found".to_owned(), json!({"value": "Bearer abcdefghijklmnop123"}))]);
        let line = log.add(RecordTime { ts: "t", kind: "decision" }, &fields).to_string();
        assert!(!line.contains("abcdefghijklmnop123") && line.contains("[REDACTED:bearer]"), "{line}");
        assert_eq!(check_log(&line, log.last_hash().expect("a record")), Ok(()));
    }

    proptest! {
        #[test]
        fn any_edit_breaks_the_chain(line in 0usize..4, at in 0usize..200, sign in "[a-z0-9]") {
            let (mut lines, last) = log(4);
            let place = at % lines[line].len();
            let before = lines[line].clone();
            lines[line].replace_range(place..=place, &sign);
            prop_assume!(lines[line] != before);
            prop_assert!(check_log(&lines.join("\n"), &last).is_err());
        }
    }
}
