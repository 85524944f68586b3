//! `POST /v1/experiments/{id}/scenarios/{scenario}/kill` and `/filter`: interventions in sessions under tool contracts.

use std::collections::BTreeSet;

use axum::extract::State;
use http::StatusCode;
use scenario::intervention::{Intervention, KillReach, SessionChange};
use serde::Deserialize;
use store::RunState;
use utoipa::ToSchema;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, Schema};

use super::RunQuery;
use super::details::FoundScenario;
use crate::app::App;
use crate::auth::{Caller, Submitter};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, JsonBody, QueryParams};
use crate::fields;

/// The most characters of a reason.
const REASON: usize = 500;
/// The most characters of a session's id.
const SESSION: usize = 200;
/// The most tools of a filter.
const MOST_TOOLS: usize = 1000;
/// The name that is written down where nobody says who intervenes and no key has an owner.
const NOBODY: &str = "unknown";

/// A kill.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct KillRequest {
    /// The session, as records and states call it; the one that the agent began with, without it.
    session: Option<String>,
    /// The sessions that are killed.
    #[schema(schema_with = reaches)]
    scope: KillReach,
    /// The reason, for the records.
    #[schema(max_length = 500)]
    reason: String,
}

/// A filter of tools.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct FilterRequest {
    /// The session, as records and states call it; the one that the agent began with, without it.
    #[serde(default)]
    session: Option<String>,
    /// The only tools that may be used; `null` for all that the rules allow.
    tools: Option<BTreeSet<String>>,
}

/// The words of a kill's scope in the description of the API.
fn reaches() -> Schema {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(KillReach::ALL.map(KillReach::word))).into()
}

/// Kill a session under tool contracts while its scenario is run
///
/// The worker takes it within a few seconds. Killed is final, also for a later attempt of the scenario: every later call is refused
/// (`session_killed`), and a held one is denied. Whether a workflow has the scope `subtree` is known to it alone; what it refuses stands in the
/// session's records.
#[utoipa::path(post, path = "/v1/experiments/{id}/scenarios/{scenario}/kill", tag = "experiments", request_body = KillRequest,
    params(("id" = String, Path, description = "The experiment's id"), ("scenario" = String, Path, description = "The scenario's id"), RunQuery),
    responses((status = 202), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody)))]
pub(crate) async fn kill(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At((id, scenario)): At<(String, String)>,
    QueryParams(query): QueryParams<RunQuery>,
    JsonBody(request): JsonBody<KillRequest>,
) -> Result<StatusCode, ApiError> {
    let KillRequest { session, scope, reason } = request;
    let change = SessionChange::Kill { scope, reason: fields::text(reason, "reason", REASON)? };
    intervene(&app, &caller, (&id, &scenario, query.run), session, change).await
}

/// Let a session use some tools only, or all again, while its scenario is run
#[utoipa::path(post, path = "/v1/experiments/{id}/scenarios/{scenario}/filter", tag = "experiments", request_body = FilterRequest,
    params(("id" = String, Path, description = "The experiment's id"), ("scenario" = String, Path, description = "The scenario's id"), RunQuery),
    responses((status = 202), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody)))]
pub(crate) async fn filter(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At((id, scenario)): At<(String, String)>,
    QueryParams(query): QueryParams<RunQuery>,
    JsonBody(request): JsonBody<FilterRequest>,
) -> Result<StatusCode, ApiError> {
    if request.tools.as_ref().is_some_and(|tools| tools.len() > MOST_TOOLS) {
        return Err(ApiError::invalid(format!("`tools` may have {MOST_TOOLS} names")));
    }
    let change = SessionChange::Filter { tools: request.tools };
    intervene(&app, &caller, (&id, &scenario, query.run), request.session, change).await
}

/// Makes an intervention known, over the API or on the page.
pub(crate) async fn intervene(
    app: &App,
    caller: &Caller,
    (id, scenario, run): (&str, &str, Option<u32>),
    session: Option<String>,
    change: SessionChange,
) -> Result<StatusCode, ApiError> {
    let found = FoundScenario::find(app, caller, id, scenario, run).await?;
    if found.stored.result.is_some() || found.run.state != RunState::Open {
        return Err(ApiError::conflict("the scenario has ended, and so have its sessions"));
    }
    let spec = store::spec_of(&app.store, &found.run).await?;
    if spec.tool_contracts.is_none() {
        return Err(ApiError::conflict("the spec has no `tool_contracts`, so that the scenario has no session"));
    }
    let session = session.map(|session| fields::text(session, "session", SESSION)).transpose()?;
    let by = if caller.owner.is_empty() { NOBODY } else { &caller.owner };
    let intervention = Intervention { session, change, by: by.to_owned() };
    app.store.intervene(found.run.id, scenario, &intervention, app.clock.now()).await?;
    Ok(StatusCode::ACCEPTED)
}
