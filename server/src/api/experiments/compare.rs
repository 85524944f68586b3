//! `POST /v1/experiments/compare`.

use axum::Json;
use axum::extract::State;
use scenario::regression::{
    Change, ComparedMetric, Direction, Finding, Gate, Measure, MeasureChange, RunComparison, Share, SuiteChange,
    compare_metrics,
};
use scenario::report::Report;
use scenario::statistics::Interval;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{find, require_run};
use crate::app::App;
use crate::auth::{Caller, Reader};
use crate::error::{ApiError, ErrorBody};
use crate::extract::JsonBody;
use crate::results::report_of;

/// Which experiments.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CompareBody {
    /// The baseline.
    baseline_id: String,
    /// The candidate.
    candidate_id: String,
    /// How much the mean pass rate of all specs may differ and count as equivalent, from 0 to 1; 0.05 when it is left out.
    #[serde(default)]
    margin: Option<f64>,
    /// The measures that count as a regression when they became worse: `composite`, `cost` and `time`.
    #[serde(default)]
    gate: Vec<String>,
}

/// Two experiments side by side.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ComparisonBody {
    /// The baseline.
    baseline_id: String,
    /// The candidate.
    candidate_id: String,
    /// Every number, side by side.
    metrics: Vec<MetricBody>,
    /// True when a pass rate dropped by more than chance explains.
    regressed: bool,
    /// Regressions, a line each.
    regressions: Vec<String>,
    /// All of it in one sentence.
    summary: String,
    /// Everything that changed: regressions first, then what is unclear, then what became better.
    findings: Vec<FindingBody>,
    /// Cells and invariants that only the baseline has.
    removed: Vec<String>,
    /// The mean pass rate of all specs against a margin; `null` when nothing was judged on both sides.
    suite: Option<SuiteBody>,
    /// Scores, times, tokens and cost of all cells.
    measures: Vec<MeasureBody>,
    /// Differences between the worlds of the two: backend, images, versions of the spec, the agent and the scoring, models.
    different_world: Vec<String>,
    /// Cells that only the candidate has.
    only_now: Vec<String>,
}

/// Something that changed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FindingBody {
    /// `regressed`, `different_world`, `insufficient_evidence` or `improved`.
    #[schema(value_type = String, example = "insufficient_evidence")]
    change: Change,
    /// The cell; all of them together without it.
    cell: Option<String>,
    /// The invariant; the whole scenario without it.
    invariant: Option<String>,
    /// Passed and judged scenarios of the baseline.
    before: ShareBody,
    /// The number that passes.
    now: ShareBody,
    /// The probability of a drop like this one, or a larger one, if nothing had changed.
    chance: Option<f64>,
    /// The number of replicas per run that would find such a drop in 80 of 100 comparisons, where these are not enough.
    replicas_to_tell: Option<usize>,
    /// Why it is counted so, in words.
    why: String,
}

/// Passed of judged.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ShareBody {
    /// The number that passed.
    passed: usize,
    /// The number that was judged.
    judged: usize,
}

impl From<Finding> for FindingBody {
    fn from(finding: Finding) -> Self {
        let Finding { change, cell, invariant, before, now, chance, replicas_to_tell, why, .. } = finding;
        let share = |share: Share| ShareBody { passed: share.passed, judged: share.judged };
        Self { change, cell, invariant, before: share(before), now: share(now), chance, replicas_to_tell, why }
    }
}

/// All specs together.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SuiteBody {
    /// How many specs were judged on both sides.
    specs: usize,
    /// The mean of their pass rates before.
    before: f64,
    /// The mean of their pass rates now.
    now: f64,
    /// The difference.
    difference: f64,
    /// The range in which the true difference lies, if there is one.
    interval: Option<IntervalBody>,
    /// How sure that is.
    confidence: f64,
    /// How likely chance alone would make a drop like this one, or a larger one.
    chance: f64,
    /// The difference that counts as none.
    margin: f64,
    /// `worse`, `better`, `equivalent` or `inconclusive`.
    verdict: &'static str,
    /// Whether there are enough specs to tell a drop from chance.
    enough_specs: bool,
    /// All of it in words.
    words: String,
}

impl From<SuiteChange> for SuiteBody {
    fn from(suite: SuiteChange) -> Self {
        let words = suite.words();
        let SuiteChange { specs, before, now, difference, interval, confidence, chance, margin, verdict, enough_specs } =
            suite;
        let (interval, verdict) = (interval.map(IntervalBody::from), verdict.word());
        Self { specs, before, now, difference, interval, confidence, chance, margin, verdict, enough_specs, words }
    }
}

/// The range in which a number lies.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct IntervalBody {
    /// Its lower end.
    low: f64,
    /// Its upper end.
    high: f64,
}

impl From<Interval> for IntervalBody {
    fn from(Interval { low, high }: Interval) -> Self {
        Self { low, high }
    }
}

/// A score, a time, tokens or a cost.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MeasureBody {
    /// `composite`, `time`, `tokens`, `cost` or `resilience`.
    measure: &'static str,
    /// The mean before: of the means of cells, which weigh the same.
    before: f64,
    /// The mean now.
    now: f64,
    /// By how much it changed.
    difference: f64,
    /// The range in which the true difference lies, if there is one.
    interval: Option<IntervalBody>,
    /// How sure that is.
    confidence: f64,
    /// How likely chance alone would make it as much worse, or more.
    chance: f64,
    /// `worse`, `better` or `inconclusive`.
    verdict: &'static str,
    /// Whether it counts as a regression when it is worse.
    gates: bool,
    /// All of it in words.
    words: String,
}

impl From<MeasureChange> for MeasureBody {
    fn from(change: MeasureChange) -> Self {
        let words = change.words();
        let MeasureChange { measure, before, now, difference, interval, confidence, chance, verdict, gates, .. } =
            change;
        let interval = interval.map(IntervalBody::from);
        Self {
            measure: measure.word(),
            before,
            now,
            difference,
            interval,
            confidence,
            chance,
            verdict: verdict.word(),
            gates,
            words,
        }
    }
}

/// What the body asks for.
fn gate(body: &CompareBody) -> Result<Gate, ApiError> {
    let known = || Measure::GATEABLE.map(Measure::word).join("`, `");
    let unknown = |word: &String| {
        ApiError::invalid(format!(
            "there is no gate `{}`; there are `{}`",
            scenario::untrusted::line(word, 60),
            known()
        ))
    };
    let measures = body.gate.iter().map(|word| Measure::gateable(word).ok_or_else(|| unknown(word)));
    Gate::new(body.margin, measures.collect::<Result<_, _>>()?)
        .ok_or_else(|| ApiError::invalid("`margin` is a share from 0 to 1".to_owned()))
}

/// A number of both experiments.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MetricBody {
    /// Which one.
    name: &'static str,
    /// The value of the baseline.
    baseline: f64,
    /// The value of the candidate.
    candidate: f64,
    /// By how much it changed.
    delta: f64,
    /// `better`, `worse` or `same`.
    #[schema(value_type = String, example = "better")]
    direction: Direction,
}

impl From<ComparedMetric> for MetricBody {
    fn from(metric: ComparedMetric) -> Self {
        let ComparedMetric { metric, baseline, candidate, delta, direction } = metric;
        Self { name: metric.name, baseline, candidate, delta, direction }
    }
}

/// Compare two experiments that have ended
///
/// The newest runs of both, by the same rules as `touchstone compare`. A drop of a pass rate is a regression when chance is an
/// unlikely reason for it, among all comparisons; otherwise it is called insufficient evidence, with the number of replicas that
/// would tell. Scores, times and costs count as a regression only where `gate` names them. Every other number is told, and decides
/// nothing.
#[utoipa::path(post, path = "/v1/experiments/compare", tag = "experiments", request_body = CompareBody,
    responses((status = 200, body = ComparisonBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
        (status = 413, body = ErrorBody)))]
pub(crate) async fn compare(
    State(app): State<App>,
    Reader(caller): Reader,
    JsonBody(body): JsonBody<CompareBody>,
) -> Result<Json<ComparisonBody>, ApiError> {
    let gate = gate(&body)?;
    let baseline = ended(&app, &caller, &body.baseline_id).await?;
    let candidate = ended(&app, &caller, &body.candidate_id).await?;
    let metrics = compare_metrics(&baseline.score, &candidate.score).into_iter().map(MetricBody::from).collect();
    let comparison = RunComparison::gated(&body.baseline_id, &[baseline], &[candidate], &gate);
    let CompareBody { baseline_id, candidate_id, .. } = body;
    Ok(Json(ComparisonBody {
        baseline_id,
        candidate_id,
        metrics,
        regressed: comparison.regressed(),
        regressions: comparison.regressions(),
        summary: comparison.summary(),
        findings: comparison.findings.into_iter().map(FindingBody::from).collect(),
        suite: comparison.suite.map(SuiteBody::from),
        measures: comparison.measures.into_iter().map(MeasureBody::from).collect(),
        removed: comparison.removed,
        different_world: comparison.worlds,
        only_now: comparison.only_now,
    }))
}

/// Reads the report of an experiment that has ended.
async fn ended(app: &App, caller: &Caller, id: &str) -> Result<Report, ApiError> {
    let experiment = find(app, caller, id).await?;
    let run = require_run(app, &experiment, None).await?;
    if run.score.is_none() {
        return Err(ApiError::conflict(format!("the experiment `{}` has not ended", experiment.id)));
    }
    let _room = app.heavy.acquire().await.map_err(|_| ApiError::busy("the server is ending"))?;
    report_of(app, &experiment, &run, None).await
}
