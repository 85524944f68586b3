//! `POST /v1/approvals/{id}/decision`.

use axum::Json;
use axum::extract::State;
use scenario::untrusted;
use serde::Deserialize;
use store::{Approval, Decided, Decision, DecisionKind, MadeDecision};
use utoipa::ToSchema;
use utoipa::openapi::schema::Type;
use utoipa::openapi::{ObjectBuilder, Schema};

use super::body::ApprovalBody;
use super::find;
use crate::app::App;
use crate::auth::{Caller, Submitter};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, JsonBody};
use crate::fields;

/// The most characters of a note.
const NOTE: usize = 2000;
/// The name that is written down where nobody says who decided and no key has an owner.
const NOBODY: &str = "unknown";

/// A decision.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct DecisionRequest {
    /// The decision: the call may go on, or is refused.
    #[schema(schema_with = decision_words)]
    decision: DecisionKind,
    /// The hash of the arguments that were looked at: `args_hash` of the approval.
    args_hash: String,
    /// The name of who decides; the key's owner without it.
    #[serde(default)]
    by: Option<String>,
    /// The reason, for the records.
    #[serde(default)]
    note: Option<String>,
}

impl DecisionRequest {
    /// The decision that is wanted.
    pub(crate) fn wanted(self) -> Wanted {
        let Self { decision, args_hash, by, note } = self;
        Wanted { decision, args_hash, by: by.unwrap_or_default(), note: note.unwrap_or_default() }
    }
}

/// The words of a decision in the description of the API.
fn decision_words() -> Schema {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["approve", "deny"])).into()
}

/// A decision that somebody wants to make, over the API or on the page.
pub(crate) struct Wanted {
    /// The decision.
    pub(crate) decision: DecisionKind,
    /// The hash of the arguments that were looked at.
    pub(crate) args_hash: String,
    /// The name of who decides, as they say; empty for the key's owner.
    pub(crate) by: String,
    /// The note of who decided.
    pub(crate) note: String,
}

/// Decide on a call that waits
///
/// A decision is for one call with exactly the arguments whose hash is named, and the first one counts. 409 when it was
/// decided or withdrawn before, 410 when the deadline has passed, 412 when the hash is another one.
#[utoipa::path(post, path = "/v1/approvals/{id}/decision", tag = "approvals", request_body = DecisionRequest,
    params(("id" = String, Path, description = "The approval's id")),
    responses((status = 200, body = ApprovalBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
        (status = 410, body = ErrorBody), (status = 412, body = ErrorBody), (status = 413, body = ErrorBody)))]
pub(crate) async fn decide(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
    JsonBody(request): JsonBody<DecisionRequest>,
) -> Result<Json<ApprovalBody>, ApiError> {
    let approval = write_decision(&app, &caller, &id, request.wanted()).await?;
    Ok(Json(ApprovalBody::of(&approval, app.clock.now())))
}

/// The one who decides, with their note.
pub(crate) fn decider(caller: &Caller, wanted: &Wanted) -> Result<MadeDecision, ApiError> {
    let by = match wanted.by.trim() {
        "" if caller.owner.is_empty() => NOBODY.to_owned(),
        "" => caller.owner.clone(),
        by => fields::name(by, "by")?,
    };
    Ok(MadeDecision { by, key: caller.key.clone(), note: fields::text(wanted.note.clone(), "note", NOTE)? })
}

/// Writes a decision down, or says why it does not count.
pub(crate) async fn write_decision(app: &App, caller: &Caller, id: &str, wanted: Wanted) -> Result<Approval, ApiError> {
    let approval = find(app, caller, id).await?;
    let made = decider(caller, &wanted)?;
    let decision = Decision { kind: wanted.decision, arguments_hash: wanted.args_hash, made };
    match app.store.decide_approval(&approval.new.id, &decision, app.clock.now()).await? {
        Decided::Decided(approval) => Ok(*approval),
        Decided::Unknown => Err(ApiError::not_found("its experiment was removed")),
        Decided::NotPending(approval) => Err(ApiError::conflict(ended(&approval))),
        Decided::Expired(approval) => {
            Err(ApiError::gone(format!("its deadline, {}, has passed", approval.new.deadline)))
        }
        Decided::OtherArguments(_) => {
            let message =
                "`args_hash` is not that of the held call: look at the call again, and decide on what it says now";
            Err(ApiError::precondition_failed(message))
        }
    }
}

fn ended(approval: &Approval) -> String {
    let status = approval.status.word();
    match &approval.decision {
        Some(made) => format!("it is {status} already, by {}", untrusted::line(&made.by, 100)),
        None => format!("it is {status}: its session ended, and nothing waits any more"),
    }
}
