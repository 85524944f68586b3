//! Finds traces.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{ExperimentId, TraceFilter};
use utoipa::{IntoParams, ToSchema};

use super::shown::row;
use crate::app::App;
use crate::auth::Reader;
use crate::error::{ApiError, ErrorBody};
use crate::extract::QueryParams;
use crate::fields;
use crate::page::{Envelope, PageQuery};

/// The most rows of a page: some are long.
const MOST: u64 = 200;

/// Which traces. What is empty is not asked for.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct TracesQuery {
    /// Of which experiment.
    experiment_id: Option<String>,
    /// In which sandbox.
    sandbox_id: Option<String>,
    /// Of which agent.
    agent: Option<String>,
    /// The kind: `tool_call`, `llm_call`, `tool_use`, `eval`.
    event_type: Option<String>,
    /// Which tool.
    tool: Option<String>,
    /// Since when: a time, or how long ago, such as `24h`.
    #[param(example = "24h")]
    since: Option<String>,
}

/// Something that an agent did. All that the event said stands beside these.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TraceBody {
    /// Its number.
    id: u64,
    /// When it happened.
    #[schema(format = DateTime)]
    created_at: String,
    /// The kind.
    event_type: String,
    /// The tool.
    tool: String,
    /// Which part of it.
    phase: String,
    /// The status.
    status: String,
    /// The duration.
    duration_ms: u64,
    /// Its span.
    span_id: String,
    /// The span around it.
    parent_span_id: String,
    /// The span around all.
    root_span_id: String,
    /// The agent's name.
    agent: String,
    /// The sandbox; empty when it was in none.
    sandbox_id: String,
    /// The experiment; empty when it was in none.
    experiment_id: String,
    /// The scenario; empty when it was in none.
    scenario_id: String,
    /// True for self-reported traces.
    self_reported: bool,
    /// More about it.
    #[schema(value_type = Object)]
    metadata: Value,
    /// Its cost.
    #[schema(value_type = Object)]
    cost: Value,
}

/// Traces of agents, newest first
#[utoipa::path(get, path = "/v1/traces", tag = "traces", params(TracesQuery, PageQuery),
    responses((status = 200, body = Envelope<TraceBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody)))]
pub(crate) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    QueryParams(query): QueryParams<TracesQuery>,
    QueryParams(page): QueryParams<PageQuery>,
) -> Result<Json<Envelope<Value>>, ApiError> {
    let Ok(experiment) = wanted(query.experiment_id.as_deref()).map(str::parse::<ExperimentId>).transpose() else {
        // Whatever is no id is the id of nothing.
        return Ok(Json(Envelope { items: Vec::new(), next_cursor: String::new(), count: 0 }));
    };
    let since = wanted(query.since.as_deref()).map(|since| fields::since(since, app.clock.now())).transpose()?;
    let filter = TraceFilter {
        owner: caller.sees(),
        experiment,
        sandbox: wanted(query.sandbox_id.as_deref()),
        agent: wanted(query.agent.as_deref()),
        event_type: wanted(query.event_type.as_deref()),
        tool: wanted(query.tool.as_deref()),
        since,
        newest_first: true,
        ..TraceFilter::default()
    };
    found(&app, &filter, &page).await.map(Json)
}

/// Returns a filter's word, unless it is empty.
pub(super) fn wanted(asked: Option<&str>) -> Option<&str> {
    asked.filter(|asked| !asked.is_empty())
}

/// A part of what was found.
pub(super) async fn found(app: &App, filter: &TraceFilter<'_>, page: &PageQuery) -> Result<Envelope<Value>, ApiError> {
    let most = page.most().min(MOST);
    let after = page.after().map(str::parse::<u64>).transpose();
    let after = after.map_err(|_| ApiError::invalid("this `cursor` is none of this list"))?;
    let mut rows = app.store.traces(filter, after, most + 1).await?;
    let more = rows.len() as u64 > most;
    rows.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    let next_cursor = rows.last().filter(|_| more).map(|last| last.number.to_string()).unwrap_or_default();
    let items: Vec<_> = rows.into_iter().map(row).collect();
    Ok(Envelope { next_cursor, count: items.len(), items })
}
