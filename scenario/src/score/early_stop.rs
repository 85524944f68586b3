//! Cells that stop when their bar is decided: which replicas count, and which are not needed any more.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::ScoreOptions;
use crate::count_noun;
use crate::plan::{CellId, Plan, Purpose, Scenario, ScenarioId};
use crate::result::{RowStatus, ScenarioResult};
use crate::spec::Spec;
use crate::statistics::sequential::{Course, Decision, Method, Replica, Rule};
use crate::statistics::{Interval, Share};

/// How a cell that stops early came to its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SequentialScore {
    /// The test.
    pub method: Method,
    /// The pass rate that is asked for.
    pub bar: f64,
    /// How far below it a rate is that had to be found; `None` when any rate below it had to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// The chance that a cell at its bar is called missed.
    pub alpha: f64,
    /// The chance that a cell below its bar is called reached.
    pub beta: f64,
    /// The decision; `None` while replicas are to come.
    pub decision: Option<SequentialDecision>,
    /// How many replicas had ended, in the order of the plan, when it fell.
    pub stopped_after: usize,
    /// How many replicas ended besides, because they ran at the same time. They have no part in the decision.
    pub surplus: usize,
    /// How many planned replicas were not needed.
    pub not_needed: usize,
    /// The range of pass rates that is left, whenever the replicas were stopped.
    pub confidence_sequence: Interval,
    /// The reason for the decision.
    pub why: String,
}

/// What became of a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SequentialDecision {
    /// It is reached.
    Reached,
    /// It is missed.
    Missed,
    /// All replicas have ended without a decision.
    Undecided,
}

impl SequentialDecision {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Reached => "reached",
            Self::Missed => "missed",
            Self::Undecided => "undecided",
        }
    }
}

impl SequentialScore {
    /// Where it stopped and why, in words.
    #[must_use]
    pub fn words(&self) -> String {
        let ran = count_noun(self.stopped_after, "replica");
        let Interval { low, high } = self.confidence_sequence;
        let decision = match self.decision {
            Some(decision) => format!("bar {} {} after {ran}", self.bar, decision.word()),
            None => format!("bar {} not decided yet, after {ran}", self.bar),
        };
        let besides = [(self.surplus, "surplus"), (self.not_needed, "not needed")];
        let besides =
            besides.iter().filter(|(number, _)| *number > 0).map(|(number, what)| format!(", {what} {number}"));
        format!(
            "{decision} ({}: {}); rate {low:.3}–{high:.3}{}",
            self.method.name(),
            self.why,
            besides.collect::<String>()
        )
    }

    /// The range of pass rates that these replicas leave with this confidence, whenever they were stopped.
    pub(super) fn range(&self, share: Share, confidence: f64) -> Interval {
        let either_side = (1.0 - confidence) / 2.0;
        let Self { bar, margin, .. } = *self;
        Rule { bar, margin, alpha: either_side, beta: either_side }.confidence_sequence(share)
    }
}

/// The rule by which cells of an experiment stop early. Scoring and the queue ask the same one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EarlyStop {
    rule: Rule,
    judges_own_invariants: bool,
    is_over: bool,
}

impl EarlyStop {
    /// The rule of a spec; `None` when it has a fixed number of replicas, or the caller asked for one.
    #[must_use]
    pub fn of(spec: &Spec, options: ScoreOptions) -> Option<Self> {
        let until = spec.parallelism.replicas.until().filter(|_| !options.has_fixed_replicas)?;
        let rule = until.rule(&spec.scoring)?;
        Some(Self { rule, judges_own_invariants: !spec.invariants.is_empty(), is_over: options.is_over })
    }

    /// Tells if the cell of a scenario stops early: not those of mutations, and of rules of a contract.
    #[must_use]
    pub fn applies_to(&self, scenario: &Scenario) -> bool {
        match scenario.purpose {
            Purpose::Everything => self.judges_own_invariants,
            Purpose::Replay(_) => true,
            Purpose::Invariant(_) | Purpose::Mutation(_) | Purpose::Baseline(_) => false,
        }
    }

    /// The replicas of a cell, in the order of the plan, if it stops early.
    pub fn replicas<'a>(&self, plan: &'a Plan, cell: &CellId) -> impl Iterator<Item = &'a Scenario> + use<'a> {
        let (cell, this) = (cell.clone(), *self);
        plan.scenarios.iter().filter(move |scenario| scenario.cell == cell && this.applies_to(scenario))
    }

    /// The scenarios of this cell that have no say any more, whatever is still to come.
    pub fn not_needed<'a>(
        &self,
        plan: &'a Plan,
        cell: &CellId,
        statuses: &HashMap<ScenarioId, RowStatus>,
    ) -> impl Iterator<Item = &'a Scenario> + use<'a> {
        let status = |scenario: &Scenario| statuses.get(&scenario.id).copied();
        let course = self.course(self.replicas(plan, cell).map(status));
        self.replicas(plan, cell).skip(course.needed)
    }

    /// Follows the replicas of a cell, in the order of the plan.
    pub(super) fn course(&self, statuses: impl IntoIterator<Item = Option<RowStatus>>) -> Course {
        let replica = |status| match status {
            Some(RowStatus::Pass) => Replica::Passed,
            Some(RowStatus::Fail) => Replica::Failed,
            Some(RowStatus::Error) => Replica::LeftOut,
            None if self.is_over => Replica::LeftOut,
            None => Replica::Open,
        };
        Course::follow(&self.rule, &statuses.into_iter().map(replica).collect::<Vec<_>>())
    }

    /// The plan and the results without the replicas that have no part in a decision.
    pub(super) fn counted<'a>(&self, plan: &Plan, ended: &[&'a ScenarioResult]) -> (Plan, Vec<&'a ScenarioResult>) {
        let statuses: HashMap<_, _> = ended.iter().map(|row| (&row.scenario.id, row.status)).collect();
        let mut cells: IndexMap<&CellId, Vec<&Scenario>> = IndexMap::new();
        for scenario in &plan.scenarios {
            cells.entry(&scenario.cell).or_default().push(scenario);
        }
        let mut left_out = HashSet::new();
        for planned in cells.values().filter(|planned| planned.first().is_some_and(|first| self.applies_to(first))) {
            let course = self.course(planned.iter().map(|scenario| statuses.get(&scenario.id).copied()));
            let counts = if course.is_over { course.followed } else { planned.len() };
            let is_missing = |scenario: &&&Scenario| self.is_over && !statuses.contains_key(&scenario.id);
            left_out.extend(planned.iter().skip(counts).map(|scenario| &scenario.id));
            left_out.extend(planned.iter().filter(is_missing).map(|scenario| &scenario.id));
        }
        let scenarios = plan.scenarios.iter().filter(|scenario| !left_out.contains(&scenario.id)).cloned().collect();
        let counted = ended.iter().filter(|row| !left_out.contains(&row.scenario.id)).copied().collect();
        (Plan { spec_id: plan.spec_id.clone(), seed: plan.seed, scenarios }, counted)
    }

    /// Sums up a cell of which these replicas have ended, by their places in the plan.
    pub(super) fn sum_up(&self, course: &Course, planned: usize, ended: &[usize]) -> SequentialScore {
        let stopped_after = ended.iter().filter(|place| **place < course.followed).count();
        let surplus = if course.is_over { ended.len() - stopped_after } else { 0 };
        let decision = match course.decision {
            Some(Decision::Reached) => Some(SequentialDecision::Reached),
            Some(Decision::Missed) => Some(SequentialDecision::Missed),
            None => course.is_over.then_some(SequentialDecision::Undecided),
        };
        SequentialScore {
            method: self.rule.method(),
            bar: self.rule.bar,
            margin: self.rule.margin,
            alpha: self.rule.alpha,
            beta: self.rule.beta,
            decision,
            stopped_after,
            surplus,
            not_needed: if course.is_over { planned - ended.len() } else { 0 },
            confidence_sequence: self.rule.confidence_sequence(course.counted),
            why: self.rule.reason(course.counted),
        }
    }
}
