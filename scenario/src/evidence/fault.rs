//! Faults that were injected, and the proof that each took effect.

use serde::{Deserialize, Serialize};

use crate::count_noun;

/// A fault, in the record of the exchange that it hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultMark {
    /// The rule, by its place in the spec: `tool_faults[0]`.
    pub rule: String,
    /// The rule's mode.
    pub mode: String,
    /// The number of the call among those of the rule, from 1.
    pub call: u64,
    /// True when the request reached the service all the same. One that did not changed nothing there, and no assertion counts it.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub reached: bool,
}

/// The faults of one attempt: every rule with its counts, and every fault in the order in which they happened.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FaultRecord {
    /// Every rule of the scenario, in the order of the spec.
    pub rules: Vec<RuleCount>,
    /// The faults, up to the number that is kept.
    pub firings: Vec<Firing>,
    /// Number of faults after that, which were only counted.
    #[serde(skip_serializing_if = "is_zero")]
    pub only_counted: u64,
    /// The context attacks of the scenario, and whether they took effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attacks: Vec<AttackRecord>,
    /// The way back of every target that a fault hit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recoveries: Vec<Recovery>,
    /// Changes that a service accepted more than once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub duplicates: Vec<Duplicate>,
}

/// The way back of a target after its first fault.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Recovery {
    /// The target: `shop:POST /refunds`, or `model`.
    pub target: String,
    /// The time of the first fault, in milliseconds since the agent started.
    pub first_fault_ms: u64,
    /// The number of calls after it, up to the one that worked.
    pub calls: u64,
    /// The time until a call worked that no fault hit, in milliseconds; `None` when none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u64>,
}

/// A change that a service accepted more than once: the same method, path, query and body, or the same row of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Duplicate {
    /// The target: `shop:POST /refunds`, or `db:row of public.payments`.
    pub target: String,
    /// Number of times that it was accepted.
    pub count: u64,
}

/// A context attack, and its effects.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AttackRecord {
    /// The attack, by its place in the spec.
    pub rule: String,
    /// Its type.
    pub kind: String,
    /// The places at which its canary turned up.
    pub took_effect: Vec<AttackEffect>,
    /// True when its text has no canary, so that its effect cannot be seen.
    #[serde(skip_serializing_if = "super::is_false")]
    pub not_scored: bool,
}

/// A place at which the canary of an attack turned up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AttackEffect {
    /// The place: `http NAME`, `database NAME`, `service NAME`, `egress`, `dns`, `file PATH`, `tool NAME`, or `stdout`.
    pub place: String,
    /// Number of times.
    pub count: u64,
}

/// The counts of one rule.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RuleCount {
    /// The rule, by its place in the spec.
    pub rule: String,
    /// Its mode.
    pub mode: String,
    /// The calls that it is about: what `tool` or `service` says, or `model`.
    pub target: String,
    /// The number of calls it was about.
    pub matched: u64,
    /// The number of calls it faulted.
    pub fired: u64,
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Firing {
    /// The rule, by its place in the spec.
    pub rule: String,
    /// The rule's mode.
    pub mode: String,
    /// The call that it hit: `shop:POST /refunds`, `db:update orders`, `cache:connect`, or `model`.
    pub target: String,
    /// The number of the call among those of the rule, from 1.
    pub call: u64,
    /// Time of the fault, in milliseconds since the agent started.
    pub at_ms: u64,
    /// True when another call of the rule came within a millisecond, so that another run may number them the other way round.
    #[serde(skip_serializing_if = "super::is_false")]
    pub close_to_another: bool,
    /// The delay that was requested of the agent, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Time until the agent repeated the same call, in milliseconds; `None` when it never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retried_after_ms: Option<u64>,
}

impl FaultRecord {
    /// True when there are rules and none of them faulted anything, so that nothing was put to the test.
    #[must_use]
    pub fn is_vacuous(&self) -> bool {
        !self.rules.is_empty() && self.rules.iter().all(|rule| rule.fired == 0)
    }

    /// The faults in one line for people; `None` when there were none.
    #[must_use]
    pub fn summary(&self) -> Option<String> {
        let fired = self.rules.iter().filter(|rule| rule.fired > 0);
        let rules: Vec<_> = fired.map(|rule| format!("{} of {} by {}", rule.fired, rule.mode, rule.rule)).collect();
        let verb = if self.total() == 1 { "was" } else { "were" };
        (self.total() > 0)
            .then(|| format!("{} {verb} injected: {}", count_noun(self.total(), "fault"), rules.join(", ")))
    }

    /// Returns the total number of faults.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.rules.iter().fold(0, |total, rule| total.saturating_add(rule.fired))
    }
}

impl Firing {
    /// Returns true if the agent waited as long as requested before it made the call again; `None` when no delay was
    /// requested, or the agent never made the call again.
    #[must_use]
    pub fn kept_retry_after(&self) -> Option<bool> {
        Some(self.retried_after_ms? >= self.retry_after_ms?)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::{FaultRecord, Firing, RuleCount};

    #[test]
    fn a_record_is_vacuous_when_it_has_rules_and_no_fault() {
        let record = |fired: &[u64]| FaultRecord {
            rules: fired.iter().map(|fired| RuleCount { fired: *fired, ..RuleCount::default() }).collect(),
            ..FaultRecord::default()
        };
        assert!(!record(&[]).is_vacuous());
        assert!(record(&[0, 0]).is_vacuous());
        assert!(!record(&[0, 1]).is_vacuous());
        assert_eq!(record(&[2, 3]).total(), 5);
        assert_eq!(record(&[0]).summary(), None);
        let one =
            RuleCount { rule: "tool_faults[0]".to_owned(), mode: "error".to_owned(), fired: 1, ..RuleCount::default() };
        let record = FaultRecord { rules: vec![one], ..FaultRecord::default() };
        assert_eq!(record.summary().as_deref(), Some("1 fault was injected: 1 of error by tool_faults[0]"));
    }

    #[test]
    fn a_wait_is_kept_when_it_is_long_enough() {
        let kept = |asked, waited| {
            Firing { retry_after_ms: asked, retried_after_ms: waited, ..Firing::default() }.kept_retry_after()
        };
        assert_eq!((kept(Some(1000), Some(1000)), kept(Some(1000), Some(10))), (Some(true), Some(false)));
        assert_eq!((kept(None, Some(5)), kept(Some(5), None)), (None, None));
    }
}
