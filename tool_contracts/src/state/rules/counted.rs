//! `at_most`: the calls of each instance that happened or may happen.

use std::collections::{BTreeMap, BTreeSet};

/// The ids of counted calls, in the order of their release.
#[derive(Debug, Clone, Default)]
pub(crate) struct CountedCalls(BTreeMap<String, Vec<String>>);

impl CountedCalls {
    pub(super) fn add(&mut self, instances: &BTreeSet<String>, id: &str) {
        for instance in instances {
            self.0.entry(instance.clone()).or_default().push(id.to_owned());
        }
    }

    pub(super) fn remove(&mut self, id: &str) {
        self.0.values_mut().for_each(|ids| ids.retain(|other| other != id));
        self.0.retain(|_, ids| !ids.is_empty());
    }

    /// The calls of an instance.
    pub(crate) fn of(&self, instance: &str) -> &[String] {
        self.0.get(instance).map_or(&[], Vec::as_slice)
    }
}
