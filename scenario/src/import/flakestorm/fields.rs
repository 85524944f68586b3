//! The keys of a map in the file, and its place.

use serde_json::{Map, Value as Json};

use super::Import;
use crate::spec::diagnostic::did_you_mean;

/// A map of the file.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    map: &'a Map<String, Json>,
    place: String,
}

impl<'a> Fields<'a> {
    /// The map at a place; `None` when it is none.
    pub(super) fn new(value: &'a Json, place: impl Into<String>) -> Option<Self> {
        Some(Self { map: value.as_object()?, place: place.into() })
    }

    /// The place of a key.
    pub(super) fn place(&self, key: &str) -> String {
        if self.place.is_empty() { key.to_owned() } else { format!("{}.{key}", self.place) }
    }

    /// The value of a key. Nothing is as good as no key.
    pub(super) fn get(&self, key: &str) -> Option<&'a Json> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key)?.as_str()
    }

    /// The map below a key.
    pub(super) fn section(&self, key: &str) -> Option<Self> {
        Self::new(self.get(key)?, self.place(key))
    }

    /// The maps of a list below a key; anything else in it is noted.
    pub(super) fn list(&self, key: &str, import: &mut Import) -> Vec<Self> {
        let items = self.get(key).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut maps = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let place = format!("{}[{index}]", self.place(key));
            match Self::new(item, place.as_str()) {
                Some(map) => maps.push(map),
                None => import.note(&place, "left out: it is no map"),
            }
        }
        maps
    }

    /// The texts of a list below a key; anything else in it is noted.
    pub(super) fn texts(&self, key: &str, import: &mut Import) -> Vec<&'a str> {
        let items = self.get(key).and_then(Json::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut texts = Vec::new();
        for (index, item) in items.iter().enumerate() {
            match item.as_str().filter(|text| !text.trim().is_empty()) {
                Some(text) => texts.push(text),
                None => import.note(&format!("{}[{index}]", self.place(key)), "left out: it is no text"),
            }
        }
        texts
    }

    /// The keys with their values.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a String, &'a Json)> {
        self.map.iter()
    }

    /// These of its keys, as they are.
    pub(super) fn only(&self, keys: &[&str]) -> Map<String, Json> {
        keys.iter().filter_map(|key| Some(((*key).to_owned(), self.get(key)?.clone()))).collect()
    }

    /// Notes keys that mean nothing in Flakestorm, which ignores them.
    pub(super) fn note_unknown(&self, known: &[&str], import: &mut Import) {
        for key in self.map.keys().filter(|key| !known.contains(&key.as_str())) {
            let meant = did_you_mean(key, known.iter().copied()).map(|meant| format!("; {meant}")).unwrap_or_default();
            import.note(&self.place(key), format!("left out: Flakestorm knows no such key and ignores it{meant}"));
        }
    }
}
