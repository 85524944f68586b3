//! `POST /v1/baselines/{name}` and `DELETE /v1/baselines/{name}`.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use scenario::count_noun;
use scenario::report::read;
use serde::Deserialize;
use serde_json::Value;
use store::{NewBaseline, SaveTerms, Saved, baseline_candidate};
use utoipa::{IntoParams, ToSchema};

use super::body::BaselineBody;
use super::read::missing;
use super::{BranchQuery, named};
use crate::api::experiments::{find, require_run};
use crate::app::App;
use crate::auth::{Caller, Submitter};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, JsonBody, QueryParams};
use crate::fields;

/// The number of runs that are kept at once.
const RUNS: usize = 500;
/// The number of characters that a remark may have.
const REASON: usize = 1000;

/// Runs that are to be kept as a baseline.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct SaveBody {
    /// Experiments by their ids; `ID#RUN` means another run than the newest one.
    #[schema(example = json!(["01997a00-0000-7000-8000-000000000000"]))]
    experiments: Vec<String>,
    /// Reports, as `touchstone ci -o FILE.json` writes them.
    #[schema(value_type = Vec<Object>)]
    reports: Vec<Value>,
    /// True when runs are kept that failed, are incomplete, or are smaller than those that they replace. It is written down.
    force: bool,
    /// True when a gate has let the runs pass with their failures in quarantine. Smaller ones are refused all the same.
    passed_gate: bool,
    /// A remark about why.
    reason: String,
}

/// Selects a spec.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct SpecQuery {
    /// Only the line of the spec with this id.
    spec_id: Option<String>,
}

/// Keep runs as a baseline
///
/// Each takes the place of the line of its spec; other lines stay. When one of them failed, has errors, is incomplete, or is
/// smaller than the one that it would replace, none is kept, and the answer is 409 with the reasons.
#[utoipa::path(post, path = "/v1/baselines/{name}", tag = "baselines", request_body = SaveBody,
    params(("name" = String, Path, description = "The baseline's name: letters, digits, `.`, `_` and `-`"), BranchQuery),
    responses((status = 201, body = Vec<BaselineBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
        (status = 413, body = ErrorBody)))]
pub(crate) async fn save(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(name): At<String>,
    QueryParams(query): QueryParams<BranchQuery>,
    JsonBody(body): JsonBody<SaveBody>,
) -> Result<(StatusCode, Json<Vec<BaselineBody>>), ApiError> {
    let owner = caller.acts_for(query.owner.as_deref())?;
    let name = named(&name, query.branch.as_deref())?;
    let new = candidates(&app, &caller, &body).await?;
    let terms = SaveTerms {
        saved_by: caller.key,
        reason: fields::text(body.reason, "reason", REASON)?,
        force: body.force,
        passed_gate: body.passed_gate,
    };
    match app.store.save_baseline(&owner, &name, &new, &terms, app.clock.now()).await? {
        Saved::Kept(lines) => Ok((StatusCode::CREATED, Json(lines.into_iter().map(BaselineBody::from).collect()))),
        Saved::Refused(refusals) => {
            let reasons: Vec<_> = refusals.iter().map(ToString::to_string).collect();
            Err(ApiError::refused(reasons.join("; ")))
        }
    }
}

/// Remove a baseline, or its line of one spec
#[utoipa::path(delete, path = "/v1/baselines/{name}", tag = "baselines",
    params(("name" = String, Path, description = "The baseline's name"), BranchQuery, SpecQuery),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn remove(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(name): At<String>,
    QueryParams(query): QueryParams<BranchQuery>,
    QueryParams(spec): QueryParams<SpecQuery>,
) -> Result<StatusCode, ApiError> {
    let owner = caller.acts_for(query.owner.as_deref())?;
    let name = named(&name, query.branch.as_deref())?;
    match app.store.remove_baseline(&owner, &name, spec.spec_id.as_deref()).await? {
        0 => Err(missing(&name)),
        _ => Ok(StatusCode::NO_CONTENT),
    }
}

/// The runs and reports that are to be kept.
async fn candidates(app: &App, caller: &Caller, body: &SaveBody) -> Result<Vec<NewBaseline>, ApiError> {
    if body.experiments.len() + body.reports.len() > RUNS {
        return Err(ApiError::too_large(format!("at most {} can be kept at once", count_noun(RUNS, "run"))));
    }
    let mut new = Vec::new();
    for (index, value) in body.reports.iter().enumerate() {
        let report = read(value.clone()).map_err(|error| ApiError::invalid(format!("reports[{index}]: {error}")))?;
        new.push(NewBaseline { report, digest: None, is_whole: true });
    }
    let _room = app.heavy.acquire().await.map_err(|_| ApiError::busy("the server is ending"))?;
    for word in &body.experiments {
        let (id, number) = run_of(word)?;
        let experiment = find(app, caller, id).await?;
        let run = require_run(app, &experiment, number).await?;
        new.push(baseline_candidate(&app.store, &experiment, &run).await?);
    }
    Ok(new)
}

/// The id and the number of the run in `ID` or `ID#RUN`.
fn run_of(word: &str) -> Result<(&str, Option<u32>), ApiError> {
    let Some((id, number)) = word.split_once('#') else { return Ok((word, None)) };
    let number = number.parse().ok().filter(|number| *number > 0);
    let shown = scenario::untrusted::line(word, 100);
    let wrong = || ApiError::invalid(format!("`experiments` has `{shown}`: behind `#` is no number of a run"));
    Ok((id, Some(number.ok_or_else(wrong)?)))
}
