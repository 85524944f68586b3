//! Replicas to cells.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::composite::reaches;
use crate::plan::{CellId, CellKey, Plan, Scenario};
use crate::result::{RowStatus, ScenarioResult};
use crate::spec::sections::{ReplicaAggregation, Scoring};
use crate::statistics::{Interval, count, pass_curve, wilson};

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

/// What the replicas of one cell say together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The cell.
    pub id: CellId,
    /// Its key, by which it is found again in other runs: its parameters and its chaos cell.
    #[serde(flatten)]
    pub key: CellKey,
    /// Whether it passed.
    pub verdict: CellVerdict,
    /// How many replicas are planned.
    pub planned: usize,
    /// How many passed.
    pub passed: usize,
    /// How many failed.
    pub failed: usize,
    /// How many could not be judged.
    pub errors: usize,
    /// The share of judged replicas that passed; `None` when none was judged.
    pub pass_rate: Option<f64>,
    /// The range in which the true pass rate lies with 95 % confidence.
    pub interval: Option<Interval>,
    /// 1 when every judged replica passed, else 0; `None` when none was judged.
    pub pass_k: Option<u8>,
    /// pass^1, pass^2, … up to the number of judged replicas, and to 100.
    pub pass_curve: Vec<f64>,
    /// The mean composite of the judged replicas; `None` when none was judged.
    pub mean_composite: Option<f64>,
    /// Whether it is judged by the contract alone, so that its verdict does not decide about the experiment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_contract: bool,
}

impl Cell {
    /// True when the experiment fails with it: unless the contract judges it, or it is a mutation, which has a bar of its own.
    #[must_use]
    pub fn decides(&self) -> bool {
        !self.of_contract && self.key.purpose.mutation().is_none()
    }
}

/// Whether a cell passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellVerdict {
    /// It passed, whatever the replicas that could not be judged would have said.
    Pass,
    /// It failed, whatever they would have said.
    Fail,
    /// It hangs on replicas that could not be judged.
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
            Self::Error => "error",
            Self::Pending => "pending",
        }
    }
}

/// Groups the results by cell, in the order of the plan. `results` has at most one result for each planned scenario.
pub(super) fn cells(
    plan: &Plan,
    results: &[&ScenarioResult],
    scoring: &Scoring,
    floor: Option<f64>,
    is_of_contract: impl Fn(&Scenario) -> bool,
) -> Vec<Cell> {
    let mut groups: IndexMap<&CellId, Group<'_>> = IndexMap::new();
    for scenario in &plan.scenarios {
        let group =
            groups.entry(&scenario.cell).or_insert_with(|| Group { first: scenario, planned: 0, rows: Vec::new() });
        group.planned += 1;
    }
    for result in results {
        if let Some(group) = groups.get_mut(&result.scenario.cell) {
            group.rows.push(result);
        }
    }
    let made = |group: &Group<'_>| Cell { of_contract: is_of_contract(group.first), ..cell(group, scoring, floor) };
    groups.values().map(made).collect()
}

/// The scenarios of one cell.
struct Group<'a> {
    first: &'a Scenario,
    planned: usize,
    rows: Vec<&'a ScenarioResult>,
}

fn cell(group: &Group<'_>, scoring: &Scoring, floor: Option<f64>) -> Cell {
    let rows = group.rows.as_slice();
    let of = |status| rows.iter().filter(|row| row.status == status).count();
    let (passed, failed, errors) = (of(RowStatus::Pass), of(RowStatus::Fail), of(RowStatus::Error));
    let judged = passed + failed;
    let share = |total: f64| (judged > 0).then(|| total / count(judged));
    Cell {
        id: group.first.cell.clone(),
        key: group.first.key(),
        verdict: verdict(group.planned, rows, scoring, floor),
        planned: group.planned,
        passed,
        failed,
        errors,
        pass_rate: share(count(passed)),
        interval: wilson(passed, judged),
        pass_k: (judged > 0).then(|| u8::from(failed == 0)),
        pass_curve: pass_curve(passed, judged),
        mean_composite: share(rows.iter().filter(|row| row.is_judged()).map(|row| earned(row)).sum()),
        of_contract: false,
    }
}

/// What a row adds to the mean: its composite, unless a limit or offence failed it.
pub(super) fn earned(row: &ScenarioResult) -> f64 {
    if row.limits.is_empty() && row.offences.is_empty() { row.composite } else { 0.0 }
}

/// What the replicas of a cell say together.
fn verdict(planned: usize, rows: &[&ScenarioResult], scoring: &Scoring, floor: Option<f64>) -> CellVerdict {
    let outcome = |row: &&ScenarioResult| match row.status {
        RowStatus::Pass => (Some(true), earned(row)),
        RowStatus::Fail => (Some(false), earned(row)),
        RowStatus::Error => (None, 0.0),
    };
    decide(planned, &rows.iter().map(outcome).collect::<Vec<_>>(), scoring, floor)
}

/// What one run of a contract's cell says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrialOutcome {
    /// The rule held.
    Held,
    /// It did not.
    Missed,
    /// It could not be told.
    Unknown,
}

/// What the runs of a contract's cell say together.
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
        holds(&known.collect::<Vec<_>>(), scoring, floor)
    };
    match (with(true), with(false)) {
        (true, true) => CellVerdict::Pass,
        (false, false) => CellVerdict::Fail,
        _ => CellVerdict::Error,
    }
}

/// Whether replicas with these outcomes and composites pass together. A floor can only make it harder.
fn holds(outcomes: &[(bool, f64)], scoring: &Scoring, floor: Option<f64>) -> bool {
    let passed = outcomes.iter().filter(|(passed, _)| *passed).count();
    let rate = count(passed) / count(outcomes.len().max(1));
    let own = match scoring.aggregation() {
        ReplicaAggregation::All => passed == outcomes.len(),
        ReplicaAggregation::Any => passed > 0,
        ReplicaAggregation::Majority => passed * 2 > outcomes.len(),
        ReplicaAggregation::Mean => {
            let mean = outcomes.iter().map(|(_, composite)| composite).sum::<f64>() / count(outcomes.len().max(1));
            // Rows that failed outright, by a gate or a violation, do not add up to a pass, whatever the threshold is.
            passed > 0 && reaches(mean, scoring.pass_threshold.get())
        }
        ReplicaAggregation::MinPassRate => {
            reaches(rate, scoring.min_pass_rate.map_or(1.0, crate::spec::types::Fraction::get))
        }
    };
    own && floor.is_none_or(|floor| reaches(rate, floor))
}

/// A row's status beside the other replicas of its cell. Rows keep their own status until the cell is complete.
pub(super) fn status(row: &ScenarioResult, cell: Option<&Cell>) -> Status {
    let complete = cell.is_some_and(|cell| cell.verdict != CellVerdict::Pending);
    match row.status {
        RowStatus::Pass => Status::Pass,
        RowStatus::Fail if complete && cell.is_some_and(|cell| cell.passed > 0) => Status::Flaky,
        RowStatus::Fail => Status::Fail,
        RowStatus::Error => Status::Error,
    }
}
