//! `GET /v1/baselines` and `GET /v1/baselines/{name}`.

use axum::Json;
use axum::extract::State;
use scenario::baseline::BaselineName;
use scenario::report::json_value;
use serde::Deserialize;
use serde_json::Value;
use store::BaselineLine;
use utoipa::IntoParams;

use super::body::{BaselineBody, BaselineReports};
use super::{BranchQuery, named};
use crate::app::App;
use crate::auth::Reader;
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, QueryParams};

/// Selects baselines.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Only the baseline of this name, with its branches.
    name: Option<String>,
    /// The owner, for keys with the scope `admin`; all that the key sees otherwise.
    owner: Option<String>,
}

/// Selects reports.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReportsQuery {
    /// True when the reports are wanted too.
    reports: bool,
}

/// All baselines, with a line for each spec
///
/// They are sorted by name; the lines of a baseline come before those of its branches.
#[utoipa::path(get, path = "/v1/baselines", tag = "baselines", params(ListQuery),
    responses((status = 200, body = Vec<BaselineBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody)))]
pub(crate) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    QueryParams(query): QueryParams<ListQuery>,
) -> Result<Json<Vec<BaselineBody>>, ApiError> {
    let owner = caller.looks_at(query.owner.as_deref())?;
    let lines = app.store.baselines(owner.as_deref(), query.name.as_deref()).await?;
    Ok(Json(lines.into_iter().map(BaselineBody::from).collect()))
}

/// A baseline, with its reports when they are wanted
///
/// Of a branch: its own lines, and for specs that it kept nothing of the lines of the baseline itself.
#[utoipa::path(get, path = "/v1/baselines/{name}", tag = "baselines",
    params(("name" = String, Path, description = "The baseline's name"), BranchQuery, ReportsQuery),
    responses((status = 200, body = BaselineReports), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn one(
    State(app): State<App>,
    Reader(caller): Reader,
    At(name): At<String>,
    QueryParams(branch): QueryParams<BranchQuery>,
    QueryParams(reports): QueryParams<ReportsQuery>,
) -> Result<Json<BaselineReports>, ApiError> {
    let owner = caller.acts_for(branch.owner.as_deref())?;
    let name = named(&name, branch.branch.as_deref())?;
    let lines = app.store.baseline(&owner, &name).await?;
    if lines.is_empty() {
        return Err(missing(&name));
    }
    let experiments = if reports.reports { Some(values(&app, &lines).await?) } else { None };
    Ok(Json(BaselineReports {
        name: name.name().to_owned(),
        branch: name.branch().map(ToOwned::to_owned),
        lines: lines.into_iter().map(BaselineBody::from).collect(),
        experiments,
    }))
}

async fn values(app: &App, lines: &[BaselineLine]) -> Result<Vec<Value>, ApiError> {
    let _room = app.heavy.acquire().await.map_err(|_| ApiError::busy("the server is ending"))?;
    let mut values = Vec::new();
    for line in lines {
        values.push(json_value(&app.store.baseline_report(line).await?));
    }
    Ok(values)
}

/// That there is no such baseline.
pub(super) fn missing(name: &BaselineName) -> ApiError {
    ApiError::not_found(format!("there is no baseline `{name}`; `touchstone baseline save {name}` makes one"))
}
