//! Reads fields of records without trusting their types: records of other versions have other fields.

use serde_json::Value as Json;

/// A record, or a part of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a>(pub(super) &'a Json);

impl<'a> Record<'a> {
    /// The kind of record.
    pub(super) fn kind(self) -> &'a str {
        self.text("kind").unwrap_or_default()
    }

    /// The text under a key; `None` when there is none, or an empty one.
    pub(super) fn text(self, key: &str) -> Option<&'a str> {
        self.0.get(key).and_then(Json::as_str).filter(|text| !text.is_empty())
    }

    /// The text under a key; empty when there is none.
    pub(super) fn owned(self, key: &str) -> String {
        self.text(key).unwrap_or_default().to_owned()
    }

    /// The number under a key.
    pub(super) fn number(self, key: &str) -> Option<u64> {
        self.0.get(key).and_then(Json::as_u64)
    }

    /// The boolean under a key.
    pub(super) fn flag(self, key: &str) -> Option<bool> {
        self.0.get(key).and_then(Json::as_bool)
    }

    /// The values of the list under a key; nothing when there is none.
    pub(super) fn list(self, key: &str) -> impl Iterator<Item = &'a Json> {
        self.0.get(key).and_then(Json::as_array).into_iter().flatten()
    }

    /// The records in the list under a key.
    pub(super) fn records(self, key: &str) -> impl Iterator<Item = Self> {
        self.list(key).map(Self)
    }

    /// A value as a person reads it: a text without quotes.
    pub(super) fn plain(value: &Json) -> String {
        value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
    }
}
