//! The records of a workflow: handoffs and kills.

use serde_json::{Map, Value as Json};
use tool_contracts::Now;
use tool_contracts::record::{RecordLog, RecordTime};

use crate::redact::Redactor;

/// The most records that are kept.
const KEPT_RECORDS: usize = 50_000;

/// Writes the records of a workflow, each with the hash of the one before it.
pub(super) struct WorkflowLog {
    chain: RecordLog,
    redactor: Redactor,
    records: Vec<Json>,
}

impl WorkflowLog {
    pub(super) fn new(redactor: Redactor) -> Self {
        Self { chain: RecordLog::new("workflow"), redactor, records: Vec::new() }
    }

    /// Adds a record. Secrets are taken out before it is hashed, and fields without a value are left out.
    pub(super) fn add(&mut self, now: &Now, kind: &str, fields: &Json) {
        if self.records.len() >= KEPT_RECORDS {
            return;
        }
        let text = self.redactor.text(&fields.to_string());
        let mut map = Map::from_iter([("at_ms".to_owned(), now.at_ms.into())]);
        match serde_json::from_str(&text) {
            Ok(Json::Object(fields)) => map.extend(fields.into_iter().filter(|(_, value)| !value.is_null())),
            _ => drop(map.insert("text".to_owned(), text.into())),
        }
        self.records.push(self.chain.add(RecordTime { ts: &now.ts, kind }, &map));
    }

    pub(super) fn records(&self) -> &[Json] {
        &self.records
    }
}
