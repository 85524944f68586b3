//! `GET /v1/specs/{id}/flaky`: what flips although nothing was changed.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use scenario::flaky::{FlakyTable, table};
use serde::Deserialize;
use serde_json::Value;
use store::{ComparableFilter, past_runs};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::specs::missing;
use crate::app::App;
use crate::auth::{Caller, Reader};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, QueryParams};

/// The number of runs that are looked at where nobody says.
const USUAL: u64 = 20;
/// The most runs that are looked at.
const MOST: u64 = 100;

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(flaky))
}

/// The number of runs.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct FlakyQuery {
    /// The number of the last comparable runs that are looked at: 20 without it, at most 100.
    #[param(minimum = 1, maximum = 100)]
    pub(crate) last: Option<u64>,
}

/// Find what is flaky in a spec, over its last comparable runs
///
/// A line for each cell and each of its invariants, with what became of it in each run, how often it flipped between runs of the
/// same text and seed, how often replicas differed, since which run, and whether the agent or its world is the reason.
#[utoipa::path(get, path = "/v1/specs/{id}/flaky", tag = "specs",
    params(("id" = String, Path, description = "The spec's id"), FlakyQuery),
    responses((status = 200, body = Object), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn flaky(
    State(app): State<App>,
    Reader(caller): Reader,
    At(id): At<String>,
    QueryParams(query): QueryParams<FlakyQuery>,
) -> Result<Json<Value>, ApiError> {
    let table = flaky_table(&app, &caller, &id, query.last).await?;
    if table.runs.is_empty() {
        return Err(missing(&id));
    }
    serde_json::to_value(table).map(Json).map_err(|error| ApiError::internal(error.to_string()))
}

/// Finds what is flaky in a spec, over the last comparable runs that a caller sees.
pub(crate) async fn flaky_table(
    app: &App,
    caller: &Caller,
    id: &str,
    last: Option<u64>,
) -> Result<FlakyTable, ApiError> {
    let most = last.unwrap_or(USUAL).clamp(1, MOST);
    let filter = ComparableFilter { owner: caller.sees(), spec_id: id, before: None, since: None, most };
    let _room = app.heavy.acquire().await.map_err(|_| ApiError::busy("the server is ending"))?;
    let runs = past_runs(&app.store, filter).await?;
    Ok(table(id, runs, &BTreeMap::new()))
}
