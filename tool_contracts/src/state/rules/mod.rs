//! The automata of rules over the whole session: one for each rule, with an instance for each value that it is kept
//! apart for.
//!
//! An effect that restricts is counted as soon as a call is released, and taken back when the call did not happen. One
//! that permits is counted when a call committed.

mod answers;
mod counted;
mod duties;
mod earliest;
mod instances;
mod leaves;

use serde_json::Value as Json;

use super::OpenCall;
use crate::call::Call;
use crate::read::rule::{RuleKind, SessionRule};
pub(crate) use answers::Answers;
pub(crate) use counted::CountedCalls;
pub(crate) use duties::{Duties, Duty, Progress};
pub(crate) use earliest::EarliestCalls;
pub(crate) use instances::instances;
pub(crate) use leaves::{LeafMatch, Leaves};

/// The state of one rule.
#[derive(Debug, Clone)]
pub(crate) struct RuleState {
    /// True once a call came that the rule is about.
    pub(crate) is_triggered: bool,
    pub(crate) automaton: Automaton,
}

/// The memory of a rule, by its kind.
#[derive(Debug, Clone)]
pub(crate) enum Automaton {
    Precedence(EarliestCalls),
    Quota(CountedCalls),
    Obligation(Duties),
    /// The leaves that each flow's tool gave, in the order of the flows.
    DataFlow(Vec<Leaves>),
    WorldState(Answers),
}

impl RuleState {
    /// The state before the first call.
    pub(crate) fn new(rule: &SessionRule) -> Self {
        let automaton = match &rule.kind {
            RuleKind::Precedence(_) => Automaton::Precedence(EarliestCalls::default()),
            RuleKind::Quota(_) => Automaton::Quota(CountedCalls::default()),
            RuleKind::Obligation(_) => Automaton::Obligation(Duties::default()),
            RuleKind::DataFlow(rule) => Automaton::DataFlow(vec![Leaves::default(); rule.flows.len()]),
            RuleKind::WorldState(_) => Automaton::WorldState(Answers::default()),
        };
        Self { is_triggered: false, automaton }
    }

    /// Notes that a call was attempted. Obligations are triggered when they begin, and flows need something to flow.
    pub(crate) fn attempt(&mut self, rule: &SessionRule, call: &Call, is_released: bool) {
        let is_about = rule.subject().name == call.tool;
        self.is_triggered |= is_about
            && match &self.automaton {
                Automaton::Obligation(_) => false,
                Automaton::DataFlow(flows) => flows.iter().any(|leaves| !leaves.is_empty()),
                Automaton::Precedence(_) | Automaton::Quota(_) | Automaton::WorldState(_) => true,
            };
        if !is_released {
            self.forget_answer(&call.id);
        }
    }

    /// Counts a call that was released: it may have happened from now on.
    pub(crate) fn release(&mut self, rule: &SessionRule, id: &str, open: &OpenCall) {
        match (&rule.kind, &mut self.automaton) {
            (RuleKind::Quota(rule), Automaton::Quota(counted)) if rule.tool.name == open.tool => {
                counted.add(&instances(rule.per.as_ref(), &open.arguments), id);
            }
            (RuleKind::Obligation(rule), Automaton::Obligation(duties)) => duties.release(rule, id, open),
            _ => {}
        }
    }

    /// Undoes the counting of a call, because it did not happen or had other arguments.
    pub(crate) fn withdraw(&mut self, id: &str) {
        match &mut self.automaton {
            Automaton::Quota(counted) => counted.remove(id),
            Automaton::Obligation(duties) => duties.withdraw(id),
            Automaton::Precedence(_) | Automaton::DataFlow(_) | Automaton::WorldState(_) => {}
        }
    }

    /// Forgets the world's answer for a call that is over.
    pub(crate) fn forget_answer(&mut self, id: &str) {
        if let Automaton::WorldState(answers) = &mut self.automaton {
            answers.forget(id);
        }
    }

    /// Applies what counts against later calls: the call committed, or may have.
    pub(crate) fn restrict(&mut self, rule: &SessionRule, id: &str, open: &OpenCall, output: Option<&Json>) {
        match (&rule.kind, &mut self.automaton) {
            (_, Automaton::Obligation(duties)) => self.is_triggered |= duties.confirm(id),
            (RuleKind::DataFlow(rule), Automaton::DataFlow(flows)) => {
                let from = rule.flows.iter().zip(flows).filter(|(flow, _)| flow.from.name == open.tool);
                from.for_each(|(_, leaves)| leaves.add(id, output));
            }
            _ => {}
        }
    }

    /// Applies what counts for later calls: the call committed.
    pub(crate) fn permit(&mut self, rule: &SessionRule, id: &str, open: &OpenCall) {
        match (&rule.kind, &mut self.automaton) {
            (RuleKind::Precedence(rule), Automaton::Precedence(earliest)) if rule.prior.name == open.tool => {
                earliest.add(&instances(rule.same.as_ref(), &open.arguments), open.step, id);
            }
            (RuleKind::Obligation(rule), Automaton::Obligation(duties)) => duties.discharge(rule, open),
            _ => {}
        }
    }
}
