//! Replicas to cells.

use std::collections::HashMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::composite::reaches;
use super::early_stop::{EarlyStop, SequentialDecision, SequentialScore};
use crate::plan::{CellId, CellKey, Plan, Scenario};
use crate::result::{RowStatus, ScenarioResult};
use crate::spec::sections::{MinPassRate, ReplicaAggregation, Scoring};
use crate::statistics::{
    CONFIDENCE, Interval, Share, clopper_pearson, count, lower_bound, pass_curve, power_of, upper_bound, wilson,
};

/// The status of a scenario beside the other replicas of its cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It passed.
    Pass,
    /// It failed.
    Fail,
    /// It failed, and another replica of its cell passed.
    Flaky,
    /// It could not be judged.
    Error,
}

impl Status {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Flaky => "flaky",
            Self::Error => "error",
        }
    }
}

/// The combined result of the replicas of one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The cell.
    pub id: CellId,
    /// Its key, by which it is found again in other runs: its parameters and its chaos cell.
    #[serde(flatten)]
    pub key: CellKey,
    /// The verdict on the cell.
    pub verdict: CellVerdict,
    /// Number of planned replicas.
    pub planned: usize,
    /// How many passed. Of a cell that stopped early, only the replicas up to there count.
    pub passed: usize,
    /// Number of replicas that failed.
    pub failed: usize,
    /// Number of replicas that could not be judged.
    pub errors: usize,
    /// The share of judged replicas that passed; `None` when none was judged.
    pub pass_rate: Option<f64>,
    /// The range in which the true pass rate lies with 95 % confidence: Wilson's interval, or the confidence sequence of a cell that
    /// stops early.
    pub interval: Option<Interval>,
    /// 1 when every judged replica passed, else 0; `None` when none was judged.
    pub pass_k: Option<u8>,
    /// The range in which the chance lies that as many replicas all pass: the exact bounds of the pass rate, to the power of their
    /// number.
    #[serde(default)]
    pub pass_k_interval: Option<Interval>,
    /// pass^1, pass^2, … up to the number of judged replicas, and to 100.
    pub pass_curve: Vec<f64>,
    /// The mean composite of the judged replicas; `None` when none was judged.
    pub mean_composite: Option<f64>,
    /// True if it is judged by the contract alone, so that its verdict does not decide about the experiment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_contract: bool,
    /// The bounds by which it came to its verdict, when it has to show its bar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<ShownBar>,
    /// How it came to its verdict, when it stops as soon as its bar is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential: Option<SequentialScore>,
}

/// A pass rate that a cell has to show, and what it shows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ShownBar {
    /// The pass rate that is asked for.
    pub at_least: f64,
    /// The confidence with which each of the two bounds holds.
    pub confidence: f64,
    /// The exact lower bound of the pass rate. The bar is reached when it is not below it.
    pub low: f64,
    /// The exact upper bound. The bar is missed when it is below it.
    pub high: f64,
}

impl ShownBar {
    fn of(share: Share, scoring: &Scoring) -> Option<Self> {
        let shown = scoring.min_pass_rate.as_ref().and_then(MinPassRate::shown)?;
        let (at_least, confidence) = (shown.at_least.get(), shown.confidence.get());
        let (low, high) = (lower_bound(share, confidence), upper_bound(share, confidence));
        Some(Self { at_least, confidence, low, high })
    }

    fn verdict(&self) -> CellVerdict {
        match (reaches(self.low, self.at_least), reaches(self.high, self.at_least)) {
            (true, _) => CellVerdict::Pass,
            (false, true) => CellVerdict::Undecided,
            (false, false) => CellVerdict::Fail,
        }
    }

    /// What it shows, in words.
    #[must_use]
    pub fn words(&self) -> String {
        let Self { at_least, confidence, low, high } = self;
        let word = match self.verdict() {
            CellVerdict::Pass => "reached",
            CellVerdict::Fail => "missed",
            _ => "undecided",
        };
        format!("bar {at_least} {word}: rate {low:.3}–{high:.3}, each bound with {} % confidence", percent(*confidence))
    }
}

/// A share as percent, without digits that say nothing.
fn percent(share: f64) -> f64 {
    (share * 10_000.0).round() / 100.0
}

impl Cell {
    /// How it came to its verdict, in words, when its bar has to be shown or stops it early.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        let stopped = self.sequential.as_ref().map(SequentialScore::words);
        stopped.or_else(|| self.shown.as_ref().map(ShownBar::words))
    }

    /// The range in which the chance lies, with this confidence, that as many replicas as were judged all pass; `None` when none was.
    pub(super) fn pass_k_range(&self, confidence: f64) -> Option<Interval> {
        let share = Share { passed: self.passed, judged: self.passed + self.failed };
        let range = match &self.sequential {
            // What stopped early has bounds that hold whenever it stops.
            Some(sequential) if share.judged > 0 => Some(sequential.range(share, confidence)),
            Some(_) => None,
            None => clopper_pearson(share, confidence),
        };
        range.map(|range| power_of(range, share.judged))
    }

    /// True when the experiment fails with it: unless the contract judges it, or it is a mutation, which has a bar of its own.
    #[must_use]
    pub fn decides(&self) -> bool {
        !self.of_contract && self.key.purpose.mutation().is_none()
    }
}

/// The verdict on a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellVerdict {
    /// It passed, whatever the replicas that could not be judged would have said.
    Pass,
    /// It failed, whatever they would have said.
    Fail,
    /// Its replicas are too few to tell if it reaches its bar.
    Undecided,
    /// It depends on replicas that could not be judged.
    Error,
    /// Not all replicas have ended.
    Pending,
}

impl CellVerdict {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Undecided => "undecided",
            Self::Error => "error",
            Self::Pending => "pending",
        }
    }
}

/// How cells come to their verdicts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bars<'a> {
    /// The spec's own bars.
    pub(super) scoring: &'a Scoring,
    /// A pass rate that every cell must reach besides.
    pub(super) floor: Option<f64>,
    /// The rule by which cells stop early.
    pub(super) early_stop: Option<EarlyStop>,
}

/// Groups the results by cell, in the order of the plan. `results` has at most one result for each planned scenario, in the same
/// order.
pub(super) fn cells(
    plan: &Plan,
    results: &[&ScenarioResult],
    bars: Bars<'_>,
    is_of_contract: impl Fn(&Scenario) -> bool,
) -> Vec<Cell> {
    let by_id: HashMap<_, _> = results.iter().map(|result| (&result.scenario.id, *result)).collect();
    let mut groups: IndexMap<&CellId, Group<'_>> = IndexMap::new();
    for scenario in &plan.scenarios {
        let group = groups.entry(&scenario.cell).or_insert_with(|| Group { first: scenario, replicas: Vec::new() });
        group.replicas.push(by_id.get(&scenario.id).copied());
    }
    let made = |group: &Group<'_>| Cell { of_contract: is_of_contract(group.first), ..cell(group, bars) };
    groups.values().map(made).collect()
}

/// The replicas of one cell, in the order of the plan; `None` for those that have not ended.
struct Group<'a> {
    first: &'a Scenario,
    replicas: Vec<Option<&'a ScenarioResult>>,
}

impl<'a> Group<'a> {
    fn rows(&self) -> impl Iterator<Item = (usize, &'a ScenarioResult)> {
        self.replicas.iter().enumerate().filter_map(|(place, row)| Some((place, (*row)?)))
    }
}

fn cell(group: &Group<'_>, bars: Bars<'_>) -> Cell {
    match bars.early_stop.filter(|early_stop| early_stop.applies_to(group.first)) {
        Some(early_stop) => stopping_cell(group, bars, early_stop),
        None => {
            let rows: Vec<_> = group.rows().map(|(_, row)| row).collect();
            let verdict = verdict(group.replicas.len(), &rows, bars.scoring, bars.floor);
            let cell = summed_up(group, &rows, verdict);
            let share = Share { passed: cell.passed, judged: cell.passed + cell.failed };
            Cell { shown: ShownBar::of(share, bars.scoring), ..cell }
        }
    }
}

/// A cell that stops when its bar is decided. What ran besides has no part in it.
fn stopping_cell(group: &Group<'_>, bars: Bars<'_>, early_stop: EarlyStop) -> Cell {
    let course = early_stop.course(group.replicas.iter().map(|row| row.map(|row| row.status)));
    let ended: Vec<_> = group.rows().map(|(place, _)| place).collect();
    let sequential = early_stop.sum_up(&course, group.replicas.len(), &ended);
    let counts = |place: usize| !course.is_over || place < course.followed;
    let rows: Vec<_> = group.rows().filter(|(place, _)| counts(*place)).map(|(_, row)| row).collect();
    let has_errors = rows.iter().any(|row| row.status == RowStatus::Error);
    let is_above_floor = bars.floor.is_none_or(|floor| reaches(course.counted.rate(), floor));
    let verdict = match sequential.decision {
        Some(SequentialDecision::Reached) if is_above_floor => CellVerdict::Pass,
        Some(SequentialDecision::Reached | SequentialDecision::Missed) => CellVerdict::Fail,
        Some(SequentialDecision::Undecided) if has_errors => CellVerdict::Error,
        Some(SequentialDecision::Undecided) => CellVerdict::Undecided,
        None => CellVerdict::Pending,
    };
    let interval = (course.counted.judged > 0).then_some(sequential.confidence_sequence);
    let cell = Cell { interval, sequential: Some(sequential), ..summed_up(group, &rows, verdict) };
    Cell { pass_k_interval: cell.pass_k_range(CONFIDENCE), ..cell }
}

fn summed_up(group: &Group<'_>, rows: &[&ScenarioResult], verdict: CellVerdict) -> Cell {
    let of = |status| rows.iter().filter(|row| row.status == status).count();
    let (passed, failed, errors) = (of(RowStatus::Pass), of(RowStatus::Fail), of(RowStatus::Error));
    let judged = passed + failed;
    let share = |total: f64| (judged > 0).then(|| total / count(judged));
    Cell {
        id: group.first.cell.clone(),
        key: group.first.key(),
        verdict,
        planned: group.replicas.len(),
        passed,
        failed,
        errors,
        pass_rate: share(count(passed)),
        interval: wilson(passed, judged),
        pass_k: (judged > 0).then(|| u8::from(failed == 0)),
        pass_k_interval: clopper_pearson(Share { passed, judged }, CONFIDENCE).map(|range| power_of(range, judged)),
        pass_curve: pass_curve(passed, judged),
        mean_composite: share(rows.iter().filter(|row| row.is_judged()).map(|row| earned(row)).sum()),
        of_contract: false,
        shown: None,
        sequential: None,
    }
}

/// Returns the part of a row in the mean: its composite, or 0 if a limit or offence failed it.
pub(super) fn earned(row: &ScenarioResult) -> f64 {
    if row.limits.is_empty() && row.offences.is_empty() { row.composite } else { 0.0 }
}

/// Combines the replicas of a cell into a verdict.
fn verdict(planned: usize, rows: &[&ScenarioResult], scoring: &Scoring, floor: Option<f64>) -> CellVerdict {
    let outcome = |row: &&ScenarioResult| match row.status {
        RowStatus::Pass => (Some(true), earned(row)),
        RowStatus::Fail => (Some(false), earned(row)),
        RowStatus::Error => (None, 0.0),
    };
    decide(planned, &rows.iter().map(outcome).collect::<Vec<_>>(), scoring, floor)
}

/// The outcome of one run of a contract's cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrialOutcome {
    /// The rule held.
    Held,
    /// It did not.
    Missed,
    /// The outcome is unknown.
    Unknown,
}

/// Combines the runs of a contract's cell into a verdict.
pub(super) fn decide_together(planned: usize, trials: &[TrialOutcome], scoring: &Scoring) -> CellVerdict {
    let outcome = |trial: &TrialOutcome| match trial {
        TrialOutcome::Held => (Some(true), 1.0),
        TrialOutcome::Missed => (Some(false), 0.0),
        TrialOutcome::Unknown => (None, 0.0),
    };
    decide(planned, &trials.iter().map(outcome).collect::<Vec<_>>(), scoring, None)
}

/// The verdict when every replica that could not be judged had passed, and when every one had failed.
fn decide(planned: usize, outcomes: &[(Option<bool>, f64)], scoring: &Scoring, floor: Option<f64>) -> CellVerdict {
    if outcomes.len() < planned {
        return CellVerdict::Pending;
    }
    let with = |errors_pass: bool| {
        let known = outcomes.iter().map(|(passed, earned)| match passed {
            Some(passed) => (*passed, *earned),
            None => (errors_pass, f64::from(u8::from(errors_pass))),
        });
        judge(&known.collect::<Vec<_>>(), scoring, floor)
    };
    match (with(true), with(false)) {
        (best, worst) if best == worst => best,
        _ => CellVerdict::Error,
    }
}

/// What replicas with these outcomes and composites say together. A floor can only make passing harder.
fn judge(outcomes: &[(bool, f64)], scoring: &Scoring, floor: Option<f64>) -> CellVerdict {
    let share = Share { passed: outcomes.iter().filter(|(passed, _)| *passed).count(), judged: outcomes.len() };
    let is_below_floor = floor.is_some_and(|floor| !reaches(share.rate(), floor));
    match ShownBar::of(share, scoring) {
        _ if is_below_floor => CellVerdict::Fail,
        Some(shown) => shown.verdict(),
        None if holds(outcomes, share, scoring) => CellVerdict::Pass,
        None => CellVerdict::Fail,
    }
}

/// Whether replicas with these outcomes and composites pass together.
fn holds(outcomes: &[(bool, f64)], share: Share, scoring: &Scoring) -> bool {
    match scoring.aggregation() {
        ReplicaAggregation::All => share.passed == share.judged,
        ReplicaAggregation::Any => share.passed > 0,
        ReplicaAggregation::Majority => share.passed * 2 > share.judged,
        ReplicaAggregation::Mean => {
            let mean = outcomes.iter().map(|(_, composite)| composite).sum::<f64>() / count(outcomes.len().max(1));
            // Rows that failed outright, by a gate or a violation, do not add up to a pass, whatever the threshold is.
            share.passed > 0 && reaches(mean, scoring.pass_threshold.get())
        }
        ReplicaAggregation::MinPassRate => {
            reaches(share.rate(), scoring.min_pass_rate.as_ref().map_or(1.0, |bar| bar.bar().get()))
        }
    }
}

/// A row's status beside the other replicas of its cell, one of which may have passed. Rows keep their own status until the cell is
/// complete.
pub(super) fn status(row: &ScenarioResult, cell: Option<&Cell>, any_passed: bool) -> Status {
    let complete = cell.is_some_and(|cell| cell.verdict != CellVerdict::Pending);
    match row.status {
        RowStatus::Pass => Status::Pass,
        RowStatus::Fail if complete && any_passed => Status::Flaky,
        RowStatus::Fail => Status::Fail,
        RowStatus::Error => Status::Error,
    }
}
