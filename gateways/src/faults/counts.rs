//! The calls and faults of one rule.

use scenario::chaos::{Past, fires};
use scenario::plan::Seed;
use scenario::spec::sections::Trigger;

use super::bucket::Bucket;

/// The calls and faults of one rule.
#[derive(Debug)]
pub(super) struct Counts {
    /// The number of calls it was about.
    pub(super) matched: u64,
    /// Its faults.
    pub(super) past: Past,
    /// Time of the last call.
    pub(super) last_ms: Option<u64>,
    /// True when the last call came within a millisecond of the one before.
    pub(super) is_close: bool,
    /// The place of its last fault in the list of all.
    pub(super) last_firing: Option<usize>,
    /// The calls that are allowed, for a rule that limits their rate.
    bucket: Option<Bucket>,
}

impl Counts {
    pub(super) fn new(bucket: Option<Bucket>) -> Self {
        Self { matched: 0, past: Past::default(), last_ms: None, is_close: false, last_firing: None, bucket }
    }

    /// Decides if the rule faults this call.
    pub(super) fn fires(&mut self, trigger: &Trigger, seed: Seed, rule: &str, call: u64, at_ms: u64) -> bool {
        let is_allowed = self.bucket.as_mut().is_some_and(|bucket| bucket.take(at_ms));
        !is_allowed && fires(trigger, seed, rule, call, at_ms, self.past)
    }

    /// Takes its last fault back.
    pub(super) fn take_back(&mut self) {
        self.past.fired = self.past.fired.saturating_sub(1);
        if self.past.fired == 0 {
            self.past.first_fired_ms = None;
        }
    }
}
