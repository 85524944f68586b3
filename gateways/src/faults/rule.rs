//! The rules of one kind of fault, and the decision on one call.

use std::time::Duration;

use scenario::chaos::jitter;
use scenario::evidence::{FaultMark, RuleCount};
use scenario::plan::Seed;
use scenario::spec::sections::Trigger;

use super::counts::Counts;
use super::ledger::{Ledger, Phase};
use super::mode::FaultMode;

/// A rule of the spec.
#[derive(Debug)]
pub(super) struct Rule<Matcher, Mode> {
    /// Its place in the spec.
    pub(super) id: String,
    /// The calls that it is about, in words.
    pub(super) target: String,
    /// The calls that it is about.
    pub(super) matcher: Matcher,
    /// Trigger that chooses which of them are faulted.
    pub(super) trigger: Trigger,
    /// The fault.
    pub(super) mode: Mode,
}

/// All rules of one kind, such as `tool_faults`.
#[derive(Debug)]
pub(super) struct RuleSet<Matcher, Mode> {
    pub(super) rules: Vec<Rule<Matcher, Mode>>,
    /// The place of the first rule's counts in the ledger.
    pub(super) offset: usize,
    pub(super) seed: Seed,
}

/// The decision on one call.
#[derive(Debug, Clone)]
pub struct Decision<Mode> {
    /// The delay of its answer.
    pub delay: Duration,
    /// The pauses within the body of its answer.
    pub pauses: Pauses,
    /// The fault that decides about its answer.
    pub fault: Option<Fault<Mode>>,
    /// The mark of the last rule that only delayed it.
    pub slowed: Option<FaultMark>,
}

/// Pauses within the body of an answer, whose head comes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pauses {
    /// The pause before its first part.
    pub first: Duration,
    /// The pause before each part, the first included.
    pub each: Duration,
}

/// A fault that hits a call.
#[derive(Debug, Clone)]
pub struct Fault<Mode> {
    /// The effect.
    pub mode: Mode,
    /// The mark for the record of the call.
    pub mark: FaultMark,
    /// Seed of the scenario, for random choices.
    pub seed: Seed,
    /// The index of its rule in the ledger.
    pub(super) rule: usize,
}

impl Pauses {
    /// True when nothing pauses.
    #[must_use]
    pub fn is_none(self) -> bool {
        self.first.is_zero() && self.each.is_zero()
    }

    /// Adds those of another rule.
    fn add(&mut self, other: Self) {
        self.first = self.first.saturating_add(other.first);
        self.each = self.each.saturating_add(other.each);
    }
}

impl<Mode> Decision<Mode> {
    /// Makes a decision without a fault.
    #[must_use]
    pub fn none() -> Self {
        Self { delay: Duration::ZERO, pauses: Pauses::default(), fault: None, slowed: None }
    }

    /// The mark for the record of the call.
    #[must_use]
    pub fn mark(&self) -> Option<FaultMark> {
        self.fault.as_ref().map(|fault| fault.mark.clone()).or_else(|| self.slowed.clone())
    }
}

impl<Matcher, Mode: FaultMode + Clone> RuleSet<Matcher, Mode> {
    /// Takes rules, and gives each a place in the ledger.
    pub(super) fn new(rules: impl Iterator<Item = Rule<Matcher, Mode>>, seed: Seed, ledger: &mut Ledger) -> Self {
        let rules: Vec<_> = rules.collect();
        let offset = ledger.counts.len();
        ledger.counts.extend(rules.iter().map(|rule| Counts::new(rule.mode.bucket())));
        Self { rules, offset, seed }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// True when some rule's matcher says so.
    pub(super) fn any(&self, is_about: impl Fn(&Matcher) -> bool) -> bool {
        self.rules.iter().any(|rule| is_about(&rule.matcher))
    }

    /// Applies the rules in order: each that matches counts the call, delays add up, and the first other one that fires
    /// decides.
    pub(super) fn decide(
        &self,
        ledger: &mut Ledger,
        at_ms: u64,
        target: &str,
        is_about: impl Fn(&Matcher) -> bool,
    ) -> Decision<Mode> {
        let mut decision = Decision::none();
        if ledger.phase != Phase::During {
            return decision;
        }
        for (index, rule) in self.rules.iter().enumerate().filter(|(_, rule)| is_about(&rule.matcher)) {
            let place = self.offset + index;
            let call = ledger.count(place, at_ms, target);
            let is_decided = decision.fault.is_some();
            if is_decided || !ledger.counts[place].fires(&rule.trigger, self.seed, &rule.id, call, at_ms) {
                continue;
            }
            let reached = rule.mode.reaches();
            let mark = FaultMark { rule: rule.id.clone(), mode: rule.mode.word().to_owned(), call, reached };
            ledger.fire(place, &mark, target.to_owned(), at_ms, rule.mode.retry_after_ms());
            match (rule.mode.delay(), rule.mode.pauses()) {
                (Some((delay, most)), _) => {
                    decision.delay += Duration::from_millis(delay + jitter(self.seed, &rule.id, call, most));
                    decision.slowed = Some(mark);
                }
                (None, Some(pauses)) => {
                    decision.pauses.add(pauses);
                    decision.slowed = Some(mark);
                }
                (None, None) => {
                    decision.fault = Some(Fault { mode: rule.mode.clone(), mark, seed: self.seed, rule: place });
                }
            }
        }
        decision
    }

    /// Counts a call of one rule, and gives its fault when the rule fires.
    pub(super) fn fire_one(&self, ledger: &mut Ledger, index: usize, at_ms: u64, target: &str) -> Option<Fault<Mode>> {
        let (rule, place) = (&self.rules[index], self.offset + index);
        let call = ledger.count(place, at_ms, target);
        let mode = rule.mode.clone();
        let mark = FaultMark { rule: rule.id.clone(), mode: mode.word().to_owned(), call, reached: mode.reaches() };
        ledger.counts[place].fires(&rule.trigger, self.seed, &rule.id, call, at_ms).then(|| {
            ledger.fire(place, &mark, target.to_owned(), at_ms, None);
            Fault { mode, mark, seed: self.seed, rule: place }
        })
    }

    /// Counts a rule as having faulted its only call, before the agent started.
    pub(super) fn fire_at_start(&self, ledger: &mut Ledger, is_it: impl Fn(&Rule<Matcher, Mode>) -> bool) {
        for (index, rule) in self.rules.iter().enumerate().filter(|(_, rule)| is_it(rule)) {
            let place = self.offset + index;
            let call = ledger.count(place, 0, &rule.target);
            let mark = FaultMark { rule: rule.id.clone(), mode: rule.mode.word().to_owned(), call, reached: true };
            ledger.fire(place, &mark, rule.target.clone(), 0, None);
        }
    }

    /// The counts of every rule, for the evidence.
    pub(super) fn counts<'a>(&'a self, ledger: &'a Ledger) -> impl Iterator<Item = RuleCount> + 'a {
        self.rules.iter().zip(&ledger.counts[self.offset..]).map(|(rule, counts)| RuleCount {
            rule: rule.id.clone(),
            mode: rule.mode.word().to_owned(),
            target: rule.target.clone(),
            matched: counts.matched,
            fired: counts.past.fired,
        })
    }
}
