//! `after`: the first step in which a call committed, for each instance.

use std::collections::{BTreeMap, BTreeSet};

/// The earliest committed calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct EarliestCalls(BTreeMap<String, (u64, String)>);

impl EarliestCalls {
    pub(super) fn add(&mut self, instances: &BTreeSet<String>, step: u64, id: &str) {
        for instance in instances {
            let earliest = self.0.entry(instance.clone()).or_insert_with(|| (step, id.to_owned()));
            if step < earliest.0 {
                *earliest = (step, id.to_owned());
            }
        }
    }

    /// True when a call of the instance committed in a step before this one.
    pub(crate) fn has(&self, instance: &str, before: u64) -> bool {
        self.0.get(instance).is_some_and(|(step, _)| *step < before)
    }

    /// True when a call of any instance committed in a step before this one.
    pub(crate) fn has_any(&self, before: u64) -> bool {
        self.0.values().any(|(step, _)| *step < before)
    }
}
