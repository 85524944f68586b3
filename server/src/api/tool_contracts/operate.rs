//! What people do with a session: labels, the filter, decisions on held calls, and its end.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::Deserialize;
use store::DecisionKind;
use tool_contracts::Code;
use tool_contracts::remote::{ApprovalTold, RemoteAnswer, RemoteRequest};
use utoipa::ToSchema;

use super::body::StepBody;
use super::standing::{found, take};
use crate::api::approvals::decide::{DecisionRequest, decider};
use crate::app::App;
use crate::auth::{Caller, Submitter};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, JsonBody};
use crate::fields;

/// The most tools of a filter.
const MOST_TOOLS: usize = 1000;
/// The most characters of the reason of a kill.
const REASON: usize = 500;

/// A label.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct LabelRequest {
    /// The label. Labels are only added.
    label: String,
}

/// A filter of tools.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct FilterRequest {
    /// The only tools that may be used; `null` for all that the rules allow.
    tools: Option<BTreeSet<String>>,
}

/// A kill.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct KillRequest {
    /// `session`. Such a session belongs to no workflow, so it has no other scope.
    #[serde(default)]
    scope: KillWord,
    /// The reason.
    #[serde(default)]
    reason: String,
}

/// The scope of a kill.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum KillWord {
    /// The session.
    #[default]
    Session,
    /// The session and those that it handed work to.
    Subtree,
    /// All sessions of its workflow.
    Workflow,
}

/// Add a label to a session
#[utoipa::path(post, path = "/v1/tool-contracts/sessions/{id}/labels", tag = "tool contracts", request_body = LabelRequest,
    params(("id" = String, Path, description = "The session's id")),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub(crate) async fn label(
    State(app): State<App>,
    caller: Caller,
    At(id): At<String>,
    JsonBody(request): JsonBody<LabelRequest>,
) -> Result<StatusCode, ApiError> {
    found(&app, &caller, &id, true).await?;
    let label = fields::name(&request.label, "label")?;
    done(&app, &id, RemoteRequest::Label { label, origin: "api".to_owned() }).await
}

/// Let a session use some tools only, or all again
///
/// A manual filter refuses every other tool (`manual_filter`), whatever the rules say. It needs a key: an agent does not widen what
/// it may do.
#[utoipa::path(post, path = "/v1/tool-contracts/sessions/{id}/filter", tag = "tool contracts", request_body = FilterRequest,
    params(("id" = String, Path, description = "The session's id")),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub(crate) async fn filter(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
    JsonBody(FilterRequest { tools }): JsonBody<FilterRequest>,
) -> Result<StatusCode, ApiError> {
    found(&app, &caller, &id, true).await?;
    if tools.as_ref().is_some_and(|tools| tools.len() > MOST_TOOLS) {
        return Err(ApiError::invalid(format!("`tools` may have {MOST_TOOLS} names")));
    }
    done(&app, &id, RemoteRequest::Filter { tools }).await
}

/// Decide on the held call of a session
///
/// As with [approvals](#tag/approvals) of scenarios: for exactly the arguments whose hash is named, and once. It needs a key: a
/// session's token does not approve its own calls.
#[utoipa::path(post, path = "/v1/tool-contracts/sessions/{id}/decision", tag = "tool contracts", request_body = DecisionRequest,
    params(("id" = String, Path, description = "The session's id")),
    responses((status = 200, body = StepBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
        (status = 410, body = ErrorBody), (status = 412, body = ErrorBody)))]
pub(crate) async fn decide(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
    JsonBody(request): JsonBody<DecisionRequest>,
) -> Result<Json<StepBody>, ApiError> {
    found(&app, &caller, &id, true).await?;
    let wanted = request.wanted();
    let made = decider(&caller, &wanted)?;
    let (is_approved, args_hash) = (wanted.decision == DecisionKind::Approve, wanted.args_hash);
    let told = ApprovalTold { is_approved, args_hash, by: made.by, note: made.note };
    match take(&app, &id, &RemoteRequest::Approval(told)).await? {
        RemoteAnswer::Step(step) => Ok(Json(StepBody::from(&step))),
        RemoteAnswer::Model(_) | RemoteAnswer::Done => Err(ApiError::internal("an answer of another kind")),
    }
}

/// Kill a session
///
/// Killed is final: every later call is refused (`session_killed`), and a held one is denied.
#[utoipa::path(post, path = "/v1/tool-contracts/sessions/{id}/kill", tag = "tool contracts", request_body = KillRequest,
    params(("id" = String, Path, description = "The session's id")),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub(crate) async fn kill(
    State(app): State<App>,
    caller: Caller,
    At(id): At<String>,
    JsonBody(request): JsonBody<KillRequest>,
) -> Result<StatusCode, ApiError> {
    found(&app, &caller, &id, true).await?;
    let refused = |status, code: Code| Err(ApiError::kill_refused(status, code.name(), code.explanation()));
    match request.scope {
        KillWord::Session => {}
        KillWord::Subtree => return refused(StatusCode::CONFLICT, Code::KillScopeDisabled),
        KillWord::Workflow => return refused(StatusCode::FORBIDDEN, Code::KillNotPermitted),
    }
    let cause = match fields::text(request.reason, "reason", REASON)? {
        reason if reason.trim().is_empty() => "killed over the API".to_owned(),
        reason => reason,
    };
    done(&app, &id, RemoteRequest::Kill { cause }).await
}

/// Close a session
///
/// Then it is judged what can only be judged at the end; its findings are in the log.
#[utoipa::path(post, path = "/v1/tool-contracts/sessions/{id}/close", tag = "tool contracts",
    params(("id" = String, Path, description = "The session's id")),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub(crate) async fn close(State(app): State<App>, caller: Caller, At(id): At<String>) -> Result<StatusCode, ApiError> {
    found(&app, &caller, &id, true).await?;
    done(&app, &id, RemoteRequest::Close).await
}

async fn done(app: &App, id: &str, request: RemoteRequest) -> Result<StatusCode, ApiError> {
    take(app, id, &request).await?;
    Ok(StatusCode::NO_CONTENT)
}
