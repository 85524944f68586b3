//! The records of a session, within bounds.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::Now;
use crate::record::{RecordLog, RecordTime};

/// The most records that are kept; the rest are counted.
const KEPT_RECORDS: usize = 50_000;
/// The most bytes of records that are kept: 64 MiB.
const KEPT_BYTES: usize = 64 * 1024 * 1024;

/// Removes secrets from a text.
pub type Redact = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// The records of a session.
#[derive(Debug, Clone, Default)]
pub struct Log {
    /// The records that are kept, from the first.
    pub records: Vec<Json>,
    /// Records beyond those. The chain of hashes ends before them.
    pub only_counted: u64,
    /// The hash of the last record that is kept.
    pub last_hash: Option<String>,
}

/// Writes the records of a session.
pub(super) struct SessionLog {
    chain: RecordLog,
    redact: Redact,
    log: Log,
    bytes: usize,
}

impl SessionLog {
    pub(super) fn new(session: &str, redact: Redact) -> Self {
        Self { chain: RecordLog::new(session), redact, log: Log::default(), bytes: 0 }
    }

    pub(super) fn log(&self) -> &Log {
        &self.log
    }

    /// Adds a record. Secrets are taken out before it is hashed, and fields without a value are left out.
    pub(super) fn add(&mut self, now: &Now, kind: &str, fields: Json) {
        if self.log.records.len() >= KEPT_RECORDS || self.bytes >= KEPT_BYTES {
            self.log.only_counted += 1;
            return;
        }
        let mut map = Map::from_iter([("at_ms".to_owned(), now.at_ms.into())]);
        if let Json::Object(fields) = fields {
            map.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
        }
        map.values_mut().for_each(|value| redact_value(value, &*self.redact));
        let record = self.chain.add(RecordTime { ts: &now.ts, kind }, &map);
        self.bytes += record.to_string().len();
        self.log.records.push(record);
        self.log.last_hash = self.chain.last_hash().map(ToOwned::to_owned);
    }
}

/// Removes secrets from every string of a value, and from the names of its fields.
fn redact_value(value: &mut Json, redact: &dyn Fn(&str) -> String) {
    match value {
        Json::String(text) => *text = redact(text),
        Json::Array(items) => items.iter_mut().for_each(|item| redact_value(item, redact)),
        Json::Object(map) => {
            let fields = std::mem::take(map);
            for (name, mut value) in fields {
                redact_value(&mut value, redact);
                map.insert(redact(&name), value);
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

impl fmt::Debug for SessionLog {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SessionLog").field("records", &self.log.records.len()).finish_non_exhaustive()
    }
}
