//! One cell of a contract's matrix: a rule in a world.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::super::cells::{CellVerdict, TrialOutcome, decide_together};
use super::outcome::Outcome;
use super::outcome_counts::OutcomeCounts;
use super::{World, id};
use crate::plan::{Plan, Purpose, Scenario, ScenarioId};
use crate::result::{Caveat, InvariantResult, ScenarioResult};
use crate::spec::Spec;
use crate::spec::sections::{ContractInvariant, Scoring, Severity};
use crate::verdict;

/// A rule of a contract in a world.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContractCell {
    /// The rule.
    pub invariant: String,
    /// The name of the chaos cell; empty where the spec has none.
    pub scenario: String,
    /// The parameters.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub parameters: IndexMap<String, Json>,
    /// The severity of the rule.
    pub severity: Severity,
    /// Its status.
    pub status: CellStatus,
    /// The outcome; `None` in a world without faults, and where it was not judged.
    #[serde(default)]
    pub outcome: Option<Outcome>,
    /// The outcomes of its runs.
    #[serde(default, skip_serializing_if = "OutcomeCounts::is_empty")]
    pub outcome_counts: OutcomeCounts,
    /// The reason why it does not hold, or could not be told.
    #[serde(default)]
    pub reason: String,
    /// The number of runs in which it was judged.
    pub trials: usize,
    /// The number of those in which it held.
    pub held: usize,
    /// The share of runs in which it held, less its share in the world without faults that has the same parameters, from −1 to 1;
    /// `None` in a world without faults, and when it was not judged in both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference_to_clean: Option<f64>,
    /// The number of faults that fired in its runs.
    #[serde(default)]
    pub faults_fired: u64,
    /// The longest that an agent took in its runs.
    #[serde(default)]
    pub latency_ms: u64,
    /// The tokens of its runs.
    #[serde(default)]
    pub tokens: u64,
    /// Its runs.
    pub scenarios: Vec<ScenarioId>,
    /// The first of its runs that says why it does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown_by: Option<ScenarioId>,
}

/// The status of a rule in a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellStatus {
    /// It holds.
    Pass,
    /// It does not.
    Fail,
    /// It is not judged in this world.
    Skipped,
    /// It holds in a world with faults of which none fired. It counts as holding.
    Vacuous,
    /// The same, where a fault had to fire.
    Inconclusive,
    /// It could not be judged.
    Error,
    /// Not all of its runs have ended.
    Pending,
}

impl CellStatus {
    /// True when it holds; `None` when that was not judged.
    #[must_use]
    pub const fn holds(self) -> Option<bool> {
        match self {
            Self::Pass | Self::Vacuous => Some(true),
            Self::Fail => Some(false),
            Self::Skipped | Self::Inconclusive | Self::Error | Self::Pending => None,
        }
    }

    /// Returns true if it should have been judged and could not be.
    #[must_use]
    pub const fn is_unjudged(self) -> bool {
        matches!(self, Self::Inconclusive | Self::Error)
    }

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Skipped => "skipped",
            Self::Vacuous => "vacuous",
            Self::Inconclusive => "inconclusive",
            Self::Error => "error",
            Self::Pending => "pending",
        }
    }
}

/// The result of a rule in one run.
struct Trial<'a> {
    status: CellStatus,
    reason: String,
    result: &'a ScenarioResult,
}

/// The cell of a rule in a world; `None` when it would be judged there and the plan has no run for it.
pub(super) fn cell(
    spec: &Spec,
    scoring: &Scoring,
    rule: &ContractInvariant,
    world: &World,
    plan: &Plan,
    results: &[&ScenarioResult],
) -> Option<ContractCell> {
    let mut cell = ContractCell {
        invariant: id(rule).to_owned(),
        scenario: world.chaos.clone(),
        parameters: world.parameters.clone(),
        severity: rule.rule.severity,
        status: CellStatus::Skipped,
        outcome: None,
        outcome_counts: OutcomeCounts::default(),
        reason: String::new(),
        trials: 0,
        held: 0,
        difference_to_clean: None,
        faults_fired: 0,
        latency_ms: 0,
        tokens: 0,
        scenarios: Vec::new(),
        shown_by: None,
    };
    let faults = spec.chaos_of(&world.chaos);
    if !rule.rule.when.holds_in(&faults) {
        cell.reason = format!("judged only when {}", rule.rule.when);
        return Some(cell);
    }
    let planned: Vec<_> =
        plan.scenarios.iter().filter(|scenario| world.has(scenario) && is_of(spec, scenario, rule)).collect();
    if planned.is_empty() {
        return None;
    }
    cell.scenarios = planned.iter().map(|scenario| scenario.id.clone()).collect();
    let trials: Vec<_> = results.iter().filter(|row| cell.scenarios.contains(&row.scenario.id)).collect();
    let trials: Vec<Trial<'_>> = trials.into_iter().map(|row| trial(rule, row)).collect();
    cell.trials = trials.iter().filter(|trial| trial.status.holds().is_some()).count();
    cell.held = trials.iter().filter(|trial| trial.status.holds() == Some(true)).count();
    cell.faults_fired = trials.iter().filter_map(|trial| trial.result.faults_fired).sum();
    cell.latency_ms = trials.iter().map(|trial| trial.result.wall_ms).max().unwrap_or(0);
    cell.tokens = trials.iter().map(|trial| trial.result.usage.tokens()).sum();
    (cell.status, cell.reason) = together(scoring, &planned, &trials);
    cell.shown_by =
        trials.iter().find(|trial| trial.status == cell.status).map(|trial| trial.result.scenario.id.clone());
    if faults.has_faults() {
        cell.outcome = Outcome::of_rule(rule, cell.status, trials.iter().map(|trial| trial.result));
        let of_trial = |trial: &Trial<'_>| Outcome::of_rule(rule, trial.status, std::iter::once(trial.result));
        cell.outcome_counts = trials.iter().filter_map(of_trial).collect();
    }
    Some(cell)
}

impl World {
    /// Returns true if a scenario is run in it.
    pub(super) fn has(&self, scenario: &Scenario) -> bool {
        let is_of_world = matches!(scenario.purpose, Purpose::Everything | Purpose::Invariant(_));
        is_of_world && self.chaos == scenario.chaos && self.parameters == scenario.parameters
    }
}

/// Returns true if a rule is judged in a scenario.
fn is_of(spec: &Spec, scenario: &Scenario, rule: &ContractInvariant) -> bool {
    match &scenario.purpose {
        Purpose::Invariant(of) => of == id(rule),
        Purpose::Mutation(_) | Purpose::Replay(_) | Purpose::Baseline(_) => false,
        Purpose::Everything => {
            let is_rule = |name: &str| name == id(rule) && !spec.invariants.contains_key(name);
            scenario.judged(spec).iter().any(|judged| is_rule(judged.name))
        }
    }
}

/// Judges a rule by one run. An agent that broke a limit is judged by what it left, as one that crashed; an offence against the
/// sandbox or a `forbidden` rule leaves nothing that could be judged in its favour.
fn trial<'a>(rule: &ContractInvariant, result: &'a ScenarioResult) -> Trial<'a> {
    let found = result.invariants.iter().find(|one| one.name == id(rule));
    let violated = result.forbidden.iter().find(|rule| rule.violated);
    let (status, reason) = match (found, violated, result.offences.first()) {
        (_, Some(violated), _) => (CellStatus::Fail, format!("forbidden `{}`: {}", violated.rule, violated.details)),
        (_, _, Some(offence)) => (CellStatus::Fail, offence.clone()),
        (Some(found), None, None) => by_verdict(found, result),
        (None, None, None) => (CellStatus::Error, why(result)),
    };
    Trial { status, reason, result }
}

fn by_verdict(found: &InvariantResult, result: &ScenarioResult) -> (CellStatus, String) {
    let vacuous = || result.caveats.iter().find(|caveat| matches!(caveat, Caveat::Vacuous { .. })).map(Caveat::message);
    let verdict = &found.verdict;
    match verdict.outcome {
        verdict::Outcome::Failed => (CellStatus::Fail, verdict.message.clone()),
        verdict::Outcome::Errored(_) => (CellStatus::Error, verdict.message.clone()),
        verdict::Outcome::Passed if result.is_inconclusive() => (CellStatus::Inconclusive, why(result)),
        verdict::Outcome::Passed => match vacuous() {
            Some(message) => (CellStatus::Vacuous, message),
            None => (CellStatus::Pass, String::new()),
        },
    }
}

fn why(result: &ScenarioResult) -> String {
    result.error.as_ref().map_or_else(|| "the rule was not judged".to_owned(), ToString::to_string)
}

/// Puts all runs of a cell together: those of one prompt as `scoring.replica_aggregation` says, and a rule must hold for every
/// prompt.
fn together(scoring: &Scoring, planned: &[&Scenario], trials: &[Trial<'_>]) -> (CellStatus, String) {
    let mut by_prompt: IndexMap<Option<u32>, usize> = IndexMap::new();
    for scenario in planned {
        *by_prompt.entry(scenario.prompt).or_default() += 1;
    }
    let of_prompts = by_prompt.iter().map(|(prompt, planned)| {
        let of: Vec<_> = trials.iter().filter(|trial| trial.result.scenario.prompt == *prompt).collect();
        of_prompt(scoring, *planned, &of)
    });
    // The worst first: what fails for one prompt fails.
    const ORDER: [CellStatus; 6] = [
        CellStatus::Fail,
        CellStatus::Pending,
        CellStatus::Error,
        CellStatus::Inconclusive,
        CellStatus::Pass,
        CellStatus::Vacuous,
    ];
    let place = |status: CellStatus| ORDER.iter().position(|one| *one == status).unwrap_or(ORDER.len());
    of_prompts.min_by_key(|(status, _)| place(*status)).unwrap_or((CellStatus::Pending, String::new()))
}

/// Puts the runs of a cell with one prompt together.
fn of_prompt(scoring: &Scoring, planned: usize, trials: &[&Trial<'_>]) -> (CellStatus, String) {
    let outcomes = trials.iter().map(|trial| match trial.status.holds() {
        Some(true) => TrialOutcome::Held,
        Some(false) => TrialOutcome::Missed,
        None => TrialOutcome::Unknown,
    });
    let first = |status: CellStatus| trials.iter().find(|trial| trial.status == status);
    let reason = |status: CellStatus| first(status).map(|trial| trial.reason.clone()).unwrap_or_default();
    match decide_together(planned, &outcomes.collect::<Vec<_>>(), scoring) {
        CellVerdict::Pending => (CellStatus::Pending, String::new()),
        CellVerdict::Fail => (CellStatus::Fail, reason(CellStatus::Fail)),
        CellVerdict::Undecided => {
            (CellStatus::Inconclusive, "too few runs to tell if it holds often enough".to_owned())
        }
        CellVerdict::Error if first(CellStatus::Error).is_none() => {
            (CellStatus::Inconclusive, reason(CellStatus::Inconclusive))
        }
        CellVerdict::Error => (CellStatus::Error, reason(CellStatus::Error)),
        CellVerdict::Pass if first(CellStatus::Pass).is_none() => (CellStatus::Vacuous, reason(CellStatus::Vacuous)),
        CellVerdict::Pass => (CellStatus::Pass, String::new()),
    }
}
