//! `GET /v1/metrics/experiments/{id}`: the numbers, in both shapes that clients read.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use scenario::metric::Metric;
use scenario::report::Report;
use scenario::score::Metrics;
use serde::Serialize;
use serde_json::{Value, json};
use store::{Experiment, NewTrace, Run, RunKind, TraceFilter};
use utoipa::ToSchema;

use super::find;
use crate::app::App;
use crate::auth::Reader;
use crate::error::{ApiError, ErrorBody};
use crate::extract::At;
use crate::results::report_of;

/// The most traces that are read for the breakdown by tool.
const MOST_TRACES: usize = 20_000;
/// The number of traces read at once.
const AT_ONCE: u64 = 1000;
/// The most runs of a trend.
const MOST_RUNS: usize = 100;

/// The numbers of an experiment.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MetricsBody {
    /// The experiment.
    experiment_id: String,
    /// The newest run as a whole.
    summary: SummaryBody,
    /// Tool calls by tool: `count`, `mean_ms` and `error_rate`.
    #[schema(value_type = Object)]
    tool_breakdown: Value,
    /// The cost of each run, oldest first.
    cost_trend: Vec<CostPoint>,
    /// The pass rate of each run, oldest first.
    pass_rate_trend: Vec<PassRatePoint>,
    /// The same numbers, by name.
    metrics: BTreeMap<&'static str, f64>,
}

/// A run as a whole.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SummaryBody {
    /// The number of its scenarios.
    total_runs: u64,
    /// The share of judged scenarios that passed, from 0 to 1.
    pass_rate: f64,
    /// Their total cost.
    total_cost_usd: f64,
    /// The mean cost of one.
    mean_cost_per_run_usd: f64,
    /// The mean duration of one.
    mean_wall_ms: u64,
    /// The 95th percentile of the duration.
    p95_wall_ms: u64,
    /// Calls of tools.
    total_tool_calls: u64,
    /// The share of successful ones, from 0 to 1.
    tool_success_rate: f64,
}

/// The cost of a run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CostPoint {
    /// The run.
    run_id: String,
    /// Its cost.
    cost_usd: f64,
    /// When it began.
    #[schema(format = DateTime)]
    ts: String,
}

/// The pass rate of a run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PassRatePoint {
    /// The run.
    run_id: String,
    /// The share of judged scenarios that passed, from 0 to 1.
    pass_rate: f64,
    /// When it began.
    #[schema(format = DateTime)]
    ts: String,
}

/// The numbers of an experiment
///
/// Those of its newest run, and how they changed from run to run.
#[utoipa::path(get, path = "/v1/metrics/experiments/{id}", tag = "experiments",
    params(("id" = String, Path, description = "The experiment's id")),
    responses((status = 200, body = MetricsBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub(crate) async fn metrics(
    State(app): State<App>,
    Reader(caller): Reader,
    At(id): At<String>,
) -> Result<Json<MetricsBody>, ApiError> {
    let experiment = find(&app, &caller, &id).await?;
    let runs = app.store.runs(experiment.id).await?;
    let newest = runs.first();
    let report = newest_report(&app, &experiment, newest).await?;
    let acted = runs.iter().filter(|run| run.kind == RunKind::Acted).take(MOST_RUNS);
    let scored: Vec<_> = acted.filter_map(|run| Some((run, &run.score.as_ref()?.metrics))).collect();
    let run_id = |run: &Run| format!("{}-{}", run.id.experiment, run.id.number);
    let cost = |(run, metrics): &(&Run, &Metrics)| CostPoint {
        run_id: run_id(run),
        cost_usd: metrics.total_cost_usd,
        ts: run.created_at.to_string(),
    };
    let pass_rate = |(run, metrics): &(&Run, &Metrics)| PassRatePoint {
        run_id: run_id(run),
        pass_rate: metrics.pass_rate,
        ts: run.created_at.to_string(),
    };
    Ok(Json(MetricsBody {
        experiment_id: experiment.id.to_string(),
        tool_breakdown: tools(&app, newest).await?,
        cost_trend: scored.iter().rev().map(cost).collect(),
        pass_rate_trend: scored.iter().rev().map(pass_rate).collect(),
        metrics: by_name(report.as_ref()),
        summary: summary(report.as_ref()),
    }))
}

/// The report of a run, finished or not.
async fn newest_report(app: &App, experiment: &Experiment, run: Option<&Run>) -> Result<Option<Report>, ApiError> {
    let Some(run) = run else { return Ok(None) };
    report_of(app, experiment, run, None).await.map(Some)
}

fn summary(report: Option<&Report>) -> SummaryBody {
    let nothing = Metrics::default();
    let metrics = report.map_or(&nothing, |report| &report.score.metrics);
    SummaryBody {
        total_runs: report.map_or(0, |report| report.score.total as u64),
        pass_rate: metrics.pass_rate,
        total_cost_usd: metrics.total_cost_usd,
        mean_cost_per_run_usd: metrics.mean_cost_per_run_usd,
        mean_wall_ms: metrics.mean_wall_ms,
        p95_wall_ms: metrics.p95_wall_ms,
        total_tool_calls: report.map_or(0, Report::tool_calls),
        tool_success_rate: metrics.tool_success_rate,
    }
}

/// Every metric that has a value. Before the first run, all are 0, because clients insist on numbers.
fn by_name(report: Option<&Report>) -> BTreeMap<&'static str, f64> {
    let value = |metric: Metric| report.map_or(Some(0.0), |report| metric.in_report(report));
    Metric::all().filter_map(|metric| Some((metric.name, value(metric)?))).collect()
}

/// Which tools the agents of a run called, as far as traces say so.
async fn tools(app: &App, run: Option<&Run>) -> Result<Value, ApiError> {
    let Some(run) = run else { return Ok(Value::Object(serde_json::Map::new())) };
    let filter = TraceFilter { run: Some(run.id), ..TraceFilter::default() };
    let (mut events, mut after) = (Vec::new(), None);
    while events.len() < MOST_TRACES {
        let traces = app.store.traces(&filter, after, AT_ONCE).await?;
        after = traces.last().map(|trace| trace.number);
        let is_last = (traces.len() as u64) < AT_ONCE;
        events.extend(traces.into_iter().map(|stored| call(&stored.trace)));
        if is_last {
            break;
        }
    }
    Ok(scenario::trace::metrics(&events)["tool_breakdown"].take())
}

/// Reduces a trace to what metrics need.
fn call(trace: &NewTrace) -> Value {
    json!({
        "event_type": trace.event_type,
        "phase": trace.phase,
        "tool": trace.tool,
        "status": trace.status,
        "duration_ms": trace.duration_ms,
    })
}
