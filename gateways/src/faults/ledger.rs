//! The counts of all rules, and the list of all faults in the order in which they were decided.

use scenario::evidence::{FaultMark, Firing};

use super::counts::Counts;

/// The most faults that are kept; later ones are counted.
const KEPT: usize = 10_000;

/// The counts of all rules, and all faults.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// The counts of the rules, those of one kind after those of another.
    pub(super) counts: Vec<Counts>,
    pub(super) firings: Vec<Firing>,
    pub(super) only_counted: u64,
    pub(super) phase: Phase,
}

/// The time of the agent, outside of which nothing is faulted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Phase {
    /// The world is being built.
    #[default]
    Before,
    /// The agent acts.
    During,
    /// The agent has ended.
    After,
}

impl Ledger {
    /// Counts a call of a rule, and gives its number. When it is the one that was faulted before, the agent tried again.
    pub(super) fn count(&mut self, rule: usize, at_ms: u64, target: &str) -> u64 {
        let counts = &mut self.counts[rule];
        counts.matched += 1;
        let is_close = counts.last_ms.replace(at_ms) == Some(at_ms) && counts.matched > 1;
        counts.is_close = is_close;
        if let Some(firing) = counts.last_firing.and_then(|index| self.firings.get_mut(index)) {
            if is_close {
                firing.close_to_another |= firing.at_ms == at_ms;
            }
            if firing.target == target && firing.retried_after_ms.is_none() {
                firing.retried_after_ms = Some(at_ms.saturating_sub(firing.at_ms));
            }
        }
        counts.matched
    }

    pub(super) fn fire(
        &mut self,
        rule: usize,
        mark: &FaultMark,
        target: String,
        at_ms: u64,
        retry_after_ms: Option<u64>,
    ) {
        let counts = &mut self.counts[rule];
        counts.past.fired += 1;
        counts.past.first_fired_ms.get_or_insert(at_ms);
        if self.firings.len() == KEPT {
            self.only_counted += 1;
            counts.last_firing = None;
            return;
        }
        counts.last_firing = Some(self.firings.len());
        self.firings.push(Firing {
            rule: mark.rule.clone(),
            mode: mark.mode.clone(),
            target,
            call: mark.call,
            at_ms,
            close_to_another: counts.is_close,
            retry_after_ms,
            retried_after_ms: None,
        });
    }

    /// Takes the last fault of a rule back.
    pub(super) fn take_back(&mut self, rule: usize, mark: &FaultMark) {
        self.counts[rule].take_back();
        let is_it = |firing: &Firing| firing.rule == mark.rule && firing.call == mark.call;
        match self.firings.iter().rposition(is_it) {
            Some(index) => self.forget(index),
            None => self.only_counted = self.only_counted.saturating_sub(1),
        }
    }

    /// Takes a fault out of the list. The places of later ones change with it.
    fn forget(&mut self, index: usize) {
        self.firings.remove(index);
        for counts in &mut self.counts {
            counts.last_firing = match counts.last_firing {
                Some(last) if last == index => None,
                Some(last) if last > index => Some(last - 1),
                last => last,
            };
        }
    }
}
