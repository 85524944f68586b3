//! Cells to an experiment.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::cells::{Bars, Cell, CellVerdict, Status, cells, earned, status};
use super::contract::{self, ContractScore, ContractVerdict};
use super::early_stop::EarlyStop;
use super::judges::{self, JudgeScore};
use super::mutations::{self, MutationScore};
use super::overall::{self, OverallScore, Parts};
use super::replays::{self, ReplayScore};
use crate::count_noun;
use crate::plan::{CellId, Plan, Purpose, Scenario, ScenarioId};
use crate::result::{RowStatus, ScenarioResult};
use crate::spec::Spec;
use crate::spec::sections::{MinPassRate, Scoring};
use crate::spec::types::Fraction;
use crate::statistics::{CONFIDENCE, Interval, count, wilson};

/// The caller's requirements on an experiment besides the spec.
#[derive(Debug, Clone, Copy, Default)]
pub struct ScoreOptions {
    /// A pass rate that every cell must reach, besides its own bar. It can only make passing harder.
    pub min_pass_rate: Option<f64>,
    /// Whether the caller asked for a number of replicas, so that no cell stops early.
    pub has_fixed_replicas: bool,
    /// Whether the run has ended by itself: what has no result was not needed, and will have none.
    pub is_over: bool,
}

/// The basis for scoring a run: a spec with its contract, or bars alone where the spec cannot be read any more.
#[derive(Debug, Clone, Copy)]
pub struct ScoredBy<'a> {
    scoring: &'a Scoring,
    spec: Option<&'a Spec>,
}

impl<'a> From<&'a Spec> for ScoredBy<'a> {
    fn from(spec: &'a Spec) -> Self {
        Self { scoring: &spec.scoring, spec: Some(spec) }
    }
}

impl<'a> From<&'a Scoring> for ScoredBy<'a> {
    fn from(scoring: &'a Scoring) -> Self {
        Self { scoring, spec: None }
    }
}

impl<'a> ScoredBy<'a> {
    /// The bars of cells with a fixed number of replicas: a spec whose cells stop early has that bar for them as well.
    fn bars(self) -> Cow<'a, Scoring> {
        let until = self.spec.and_then(|spec| spec.parallelism.replicas.until());
        match until.and_then(|until| until.bar).and_then(|bar| Fraction::new(bar.get())) {
            Some(bar) if self.scoring.min_pass_rate.is_none() => {
                Cow::Owned(Scoring { min_pass_rate: Some(MinPassRate::Observed(bar)), ..self.scoring.clone() })
            }
            _ => Cow::Borrowed(self.scoring),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The combined result of all scenarios.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExperimentScore {
    /// The verdict on the experiment.
    pub verdict: ExperimentVerdict,
    /// How many scenarios are planned, without those that are not needed. When all have ended, the four numbers below add up to it.
    pub total: usize,
    /// Number of scenarios that passed.
    pub passed: usize,
    /// Number of scenarios that failed, with no replica of their cell passing.
    pub failed: usize,
    /// Number of scenarios that failed while another replica of their cell passed.
    pub flaky: usize,
    /// Number of scenarios that could not be judged.
    pub errors: usize,
    /// How many were not run, because their cells were decided without them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_needed: usize,
    /// The status of each scenario that has ended, in the order of the plan.
    pub statuses: IndexMap<ScenarioId, Status>,
    /// The cells, in the order of the plan.
    pub cells: Vec<Cell>,
    /// The score of the contract; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contract: Option<ContractScore>,
    /// The score of the mutations; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutations: Option<MutationScore>,
    /// The score of the replays; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replays: Option<ReplayScore>,
    /// The overall score; `None` for a spec that neither weighs parts nor has mutations or replays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overall: Option<OverallScore>,
    /// The judges of each invariant that asks models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<JudgeScore>,
    /// Rates, times and costs of the scenarios that were judged.
    pub metrics: Metrics,
}

/// The verdict on an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExperimentVerdict {
    /// Every cell passed and nothing went wrong.
    Pass,
    /// A cell failed.
    Fail,
    /// No cell failed, but a scenario could not be judged, a cell is undecided, or there is none.
    Error,
    /// Not all scenarios have ended.
    Pending,
}

impl ExperimentVerdict {
    /// The word for it in reports.
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

impl ExperimentScore {
    /// The exit code of a command that reports this experiment. A failure goes before an error, also while other
    /// scenarios have not ended.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        let contract = self.contract.as_ref().map(|contract| contract.verdict);
        let bars =
            [self.mutations.as_ref().map(|score| score.verdict), self.overall.as_ref().map(|score| score.verdict)];
        let failed = contract == Some(ContractVerdict::Fail)
            || any(&self.cells, CellVerdict::Fail)
            || bars.contains(&Some(CellVerdict::Fail));
        match self.verdict {
            _ if failed => 1,
            ExperimentVerdict::Pass => 0,
            ExperimentVerdict::Fail => 1,
            ExperimentVerdict::Error | ExperimentVerdict::Pending => 4,
        }
    }
}

/// Rates, times and costs of the scenarios that were judged.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Metrics {
    /// passed / (passed + failed + flaky); 0 when nothing was judged.
    pub pass_rate: f64,
    /// The range in which the true pass rate lies with 95 % confidence; `None` when nothing was judged.
    pub pass_rate_interval: Option<Interval>,
    /// The share of cells of which every judged replica passed.
    pub mean_pass_k: f64,
    /// The range in which the mean chance lies that as many replicas of a cell all pass: the mean of the bounds of all cells, which
    /// hold together with 95 % confidence.
    #[serde(default)]
    pub mean_pass_k_interval: Option<Interval>,
    /// pass^1, pass^2, …: the mean over all cells with judged replicas, as far as each has enough.
    pub pass_curve: Vec<f64>,
    /// The mean composite; a scenario that a limit failed adds 0.
    pub mean_composite: f64,
    /// The mean time of a scenario.
    pub mean_wall_ms: u64,
    /// The time that 95 of 100 scenarios do not exceed.
    pub p95_wall_ms: u64,
    /// The mean number of tool calls.
    pub mean_tool_calls: f64,
    /// The mean number of tokens.
    pub mean_tokens: u64,
    /// All tokens.
    pub total_tokens: u64,
    /// Total cost of all scenarios; scenarios without a known price count 0.
    pub total_cost_usd: f64,
    /// Scenarios that used tokens of a model without a known price.
    #[serde(default)]
    pub unpriced: usize,
    /// Mean cost per scenario.
    pub mean_cost_per_run_usd: f64,
    /// Total cost divided by the number of scenarios that passed; `None` when none passed.
    pub cost_per_success_usd: Option<f64>,
    /// The tokens of all scenarios, for each that passed; `None` when none passed.
    pub tokens_per_success: Option<f64>,
    /// The share of tool calls that were not answered with an error; 1 when there was none.
    pub tool_success_rate: f64,
    /// Number of `forbidden` rules that were violated, over all scenarios.
    pub side_effect_violations: u64,
}

/// Scores an experiment by the available results. Results of scenarios that are not planned do not count, and of
/// several results of one scenario only the last does.
#[must_use]
pub fn score<'a>(
    plan: &Plan,
    by: impl Into<ScoredBy<'a>>,
    results: &[ScenarioResult],
    options: ScoreOptions,
) -> ExperimentScore {
    let by = by.into();
    let last: HashMap<&ScenarioId, &ScenarioResult> =
        results.iter().map(|result| (&result.scenario.id, result)).collect();
    let ended: Vec<&ScenarioResult> =
        plan.scenarios.iter().filter_map(|scenario| last.get(&scenario.id).copied()).collect();
    let is_of_contract = |scenario: &Scenario| match &scenario.purpose {
        Purpose::Invariant(_) => true,
        Purpose::Mutation(_) | Purpose::Replay(_) => false,
        Purpose::Everything | Purpose::Baseline(_) => by.spec.is_some_and(|spec| spec.invariants.is_empty()),
    };
    let scoring = by.bars();
    let early_stop = by.spec.and_then(|spec| EarlyStop::of(spec, options));
    let bars = Bars { scoring: &scoring, floor: options.min_pass_rate, early_stop };
    let cells = cells(plan, &ended, bars, is_of_contract);
    let by_id: HashMap<&CellId, &Cell> = cells.iter().map(|cell| (&cell.id, cell)).collect();
    let passed: HashSet<&CellId> =
        ended.iter().filter(|row| row.status == RowStatus::Pass).map(|row| &row.scenario.cell).collect();
    let beside = |cell: &CellId| (by_id.get(cell).copied(), passed.contains(cell));
    let status_of = |row: &ScenarioResult| {
        let (cell, any_passed) = beside(&row.scenario.cell);
        status(row, cell, any_passed)
    };
    let statuses: IndexMap<ScenarioId, Status> =
        ended.iter().map(|row| (row.scenario.id.clone(), status_of(row))).collect();
    let of = |wanted| statuses.values().filter(|status| **status == wanted).count();
    let errors = of(Status::Error);
    let contract = by.spec.and_then(|spec| match early_stop {
        Some(early_stop) => {
            let (plan, counted) = early_stop.counted(plan, &ended);
            contract::score(&plan, spec, &scoring, &counted)
        }
        None => contract::score(plan, spec, &scoring, &ended),
    });
    let mutations = mutations::score(by.spec, &cells, &ended);
    let replays = replays::score(&cells, &ended);
    let parts = Parts { mutations: mutations.as_ref(), contract: contract.as_ref(), replays: replays.as_ref() };
    let overall = by.spec.and_then(|spec| overall::score(spec, &cells, parts));
    let bars = [mutations.as_ref().map(|score| score.verdict), overall.as_ref().map(|score| score.verdict)];
    let not_needed: usize = cells.iter().filter_map(|cell| cell.sequential.as_ref()).map(|cell| cell.not_needed).sum();
    ExperimentScore {
        verdict: verdict(&cells, contract.as_ref(), bars, errors),
        total: plan.scenarios.len() - not_needed,
        passed: of(Status::Pass),
        failed: of(Status::Fail),
        flaky: of(Status::Flaky),
        errors,
        not_needed,
        judges: judges::scores(&ended),
        metrics: metrics(&ended, &cells),
        contract,
        mutations,
        replays,
        overall,
        statuses,
        cells,
    }
}

/// The verdict of the cells that decide by themselves, of the contract, and of the bars for mutations and the overall score.
fn verdict(
    cells: &[Cell],
    contract: Option<&ContractScore>,
    bars: [Option<CellVerdict>; 2],
    errors: usize,
) -> ExperimentVerdict {
    let contract = contract.map(|contract| contract.verdict);
    let pending = cells.iter().any(|cell| cell.verdict == CellVerdict::Pending);
    if pending || contract == Some(ContractVerdict::Pending) {
        ExperimentVerdict::Pending
    } else if any(cells, CellVerdict::Fail)
        || contract == Some(ContractVerdict::Fail)
        || bars.contains(&Some(CellVerdict::Fail))
    {
        ExperimentVerdict::Fail
    } else if errors > 0
        || cells.is_empty()
        || any(cells, CellVerdict::Error)
        || any(cells, CellVerdict::Undecided)
        || contract == Some(ContractVerdict::Error)
    {
        ExperimentVerdict::Error
    } else {
        ExperimentVerdict::Pass
    }
}

/// Returns true if a cell that decides by itself has this verdict.
fn any(cells: &[Cell], verdict: CellVerdict) -> bool {
    cells.iter().any(|cell| cell.decides() && cell.verdict == verdict)
}

impl Metrics {
    /// The bounds of pass^k in words, after its value; nothing when cells have one replica, of which they say nothing more than the
    /// pass rate does.
    #[must_use]
    pub fn pass_k_bounds(&self) -> String {
        match self.mean_pass_k_interval {
            Some(Interval { low, high }) if self.pass_curve.len() > 1 => format!(" (95 %: {low:.3}–{high:.3})"),
            _ => String::new(),
        }
    }

    /// Formats the cost of all scenarios for people: an unknown cost is not shown as zero.
    #[must_use]
    pub fn cost(&self) -> String {
        match self.unpriced {
            0 => format!("${:.4}", self.total_cost_usd),
            some => {
                format!("${:.4} and {} whose model has no price", self.total_cost_usd, count_noun(some, "scenario"))
            }
        }
    }
}

fn metrics(results: &[&ScenarioResult], cells: &[Cell]) -> Metrics {
    let judged: Vec<&ScenarioResult> = results.iter().copied().filter(|row| row.is_judged()).collect();
    let passed = judged.iter().filter(|row| row.status == RowStatus::Pass).count();
    let n = judged.len();
    let mean = |total: f64| if n == 0 { 0.0 } else { total / count(n) };
    let sum =
        |number: fn(&ScenarioResult) -> u64| judged.iter().fold(0, |total: u64, row| total.saturating_add(number(row)));
    let per_success = |total: f64| (passed > 0).then(|| total / count(passed));
    let (calls, failed_calls) = (sum(|row| row.tool_calls), sum(|row| row.tool_errors));
    let total_tokens = sum(|row| row.usage.tokens());
    // A sum of no floats would be -0.
    let total_cost_usd = judged.iter().filter_map(|row| row.usage.cost()).fold(0.0, |total, cost| total + cost);
    Metrics {
        pass_rate: mean(count(passed)),
        pass_rate_interval: wilson(passed, n),
        mean_pass_k: mean_pass_k(cells),
        mean_pass_k_interval: mean_pass_k_interval(cells),
        pass_curve: curve(cells),
        mean_composite: mean(judged.iter().map(|row| earned(row)).sum()),
        mean_wall_ms: whole(mean(float(sum(|row| row.wall_ms)))),
        p95_wall_ms: percentile(judged.iter().map(|row| row.wall_ms).collect(), 95),
        mean_tool_calls: mean(float(calls)),
        mean_tokens: whole(mean(float(total_tokens))),
        total_tokens,
        total_cost_usd: dollars(total_cost_usd),
        unpriced: judged.iter().filter(|row| row.usage.tokens() > 0 && row.usage.cost().is_none()).count(),
        mean_cost_per_run_usd: dollars(mean(total_cost_usd)),
        cost_per_success_usd: per_success(total_cost_usd).map(dollars),
        tokens_per_success: per_success(float(total_tokens)),
        tool_success_rate: if calls == 0 { 1.0 } else { 1.0 - float(failed_calls.min(calls)) / float(calls) },
        side_effect_violations: judged
            .iter()
            .map(|row| row.forbidden.iter().filter(|rule| rule.violated).count() as u64)
            .sum(),
    }
}

/// An amount without the noise of floating point.
fn dollars(amount: f64) -> f64 {
    (amount * 1e9).round() / 1e9
}

/// The share of cells of which every judged replica passed, among those with a judged replica.
fn mean_pass_k(cells: &[Cell]) -> f64 {
    let known: Vec<_> = cells.iter().filter_map(|cell| cell.pass_k).collect();
    if known.is_empty() { 0.0 } else { known.iter().map(|pass_k| f64::from(*pass_k)).sum::<f64>() / count(known.len()) }
}

/// The mean of the bounds of pass^k, each so wide that all of them hold together with 95 % confidence.
fn mean_pass_k_interval(cells: &[Cell]) -> Option<Interval> {
    let known = cells.iter().filter(|cell| cell.pass_k.is_some()).count();
    let each = 1.0 - (1.0 - CONFIDENCE) / count(known.max(1));
    let ranges: Vec<_> = cells.iter().filter_map(|cell| cell.pass_k_range(each)).collect();
    let mean = |end: fn(&Interval) -> f64| ranges.iter().map(end).sum::<f64>() / count(ranges.len());
    (!ranges.is_empty()).then(|| Interval { low: mean(|range| range.low), high: mean(|range| range.high) })
}

/// The mean pass^j over all cells, for every j that every cell has replicas for.
fn curve(cells: &[Cell]) -> Vec<f64> {
    let curves: Vec<_> = cells.iter().map(|cell| &cell.pass_curve).filter(|curve| !curve.is_empty()).collect();
    let shortest = curves.iter().map(|curve| curve.len()).min().unwrap_or(0);
    (0..shortest).map(|j| curves.iter().map(|curve| curve[j]).sum::<f64>() / count(curves.len())).collect()
}

/// The smallest number that `share` of 100 do not exceed; 0 for none.
fn percentile(mut numbers: Vec<u64>, share: usize) -> u64 {
    numbers.sort_unstable();
    let rank = (numbers.len() * share).div_ceil(100);
    numbers.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds and tokens are far below 2^53")]
fn float(number: u64) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "means of counts are neither negative nor large"
)]
fn whole(number: f64) -> u64 {
    number.round() as u64
}
