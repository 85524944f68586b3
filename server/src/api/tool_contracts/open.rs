//! Sessions of agents that run somewhere else: opened, listed, looked at and removed.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{ContractSession, NewContractSession, NewKey, Scope};
use tool_contracts::options::{Fallback, Mode, ResponseGate};
use tool_contracts::remote::RemoteTerms;
use utoipa::ToSchema;

use super::body::{Files, HeldBody};
use super::evaluate::Unmatched;
use super::standing::{found, look, opened, progress, sealed_terms};
use crate::app::App;
use crate::auth::{Caller, Reader, SANDBOX_PREFIX, Submitter, hash};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, JsonBody, QueryParams};
use crate::page::{Listing, PageQuery};

/// The most sessions that an owner may have.
const MOST_SESSIONS: u64 = 1000;
/// The most labels, and variables of `env`.
const MOST_NAMES: usize = 100;

/// A session that is to be opened.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct OpenRequest {
    /// The files of the contracts.
    files: Files,
    /// The way in which decisions take effect: `observe` (computed, and everything goes on) or `govern`.
    #[serde(default)]
    mode: ModeWord,
    /// The fate of a response with refused calls.
    #[serde(default)]
    gate: GateWord,
    /// What calls of tools without a contract come to.
    #[serde(default)]
    unmatched: Unmatched,
    /// The one on whose behalf the agent acts. It is sealed, and never shown again.
    #[serde(default)]
    principal: Option<Value>,
    /// The values of `equals_env`.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// JSON Schemas of tools' arguments, by the names of the tools.
    #[serde(default)]
    #[schema(value_type = std::collections::HashMap<String, Object>)]
    tool_schemas: BTreeMap<String, Value>,
    /// False when only executions are told, and no responses of the model.
    #[serde(default = "yes")]
    proposals: bool,
    /// True when results that only the agent reports prove that a high-risk call happened.
    #[serde(default)]
    trust_self_reported: bool,
    /// The labels that it begins with.
    #[serde(default)]
    labels: Vec<String>,
}

/// The way in which decisions take effect.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum ModeWord {
    /// They are computed, and everything goes on.
    #[default]
    Observe,
    /// What is refused is not let out.
    Govern,
}

/// The fate of a response with refused calls.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum GateWord {
    /// Nothing of it is let out.
    #[default]
    RejectAll,
    /// Its allowed calls are let out.
    StripPartial,
    /// The same, and one without any allowed call becomes text, which counts as a step.
    StripBlocked,
}

/// A session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionBody {
    /// Its id.
    id: String,
    /// The owner.
    user_id: String,
    /// The agent, as the contracts call it.
    agent: String,
    /// The hash of the contracts.
    contract: String,
    /// `observe` or `govern`.
    mode: String,
    /// `active`, `paused`, `killed` or `closed`.
    status: String,
    /// The number of requests that it took.
    requests: u64,
    /// The last hash of its log.
    last_hash: String,
    /// The time when it was opened.
    #[schema(format = DateTime)]
    created_at: String,
    /// Its token, shown once: good for this session only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false)]
    token: Option<String>,
}

/// The state of a session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StateBody {
    /// `{status, phase, version, contract, total_steps, released_calls, cost_micros, labels, filter, principal}`; the principal is
    /// always `null`.
    #[schema(value_type = Object)]
    state: Value,
    /// The call that waits for an approval.
    #[schema(required = true)]
    held: Option<HeldBody>,
    /// The last hash of the log.
    last_hash: String,
}

fn yes() -> bool {
    true
}

impl OpenRequest {
    fn terms(self) -> Result<RemoteTerms, ApiError> {
        self.files.set()?;
        if self.labels.len() > MOST_NAMES || self.env.len() > MOST_NAMES {
            return Err(ApiError::invalid(format!("`labels` and `env` may have {MOST_NAMES} entries each")));
        }
        Ok(RemoteTerms {
            files: self.files.0,
            mode: match self.mode {
                ModeWord::Observe => Mode::Observe,
                ModeWord::Govern => Mode::Govern,
            },
            gate: match self.gate {
                GateWord::RejectAll => ResponseGate::RejectAll,
                GateWord::StripPartial => ResponseGate::StripPartial,
                GateWord::StripBlocked => ResponseGate::StripBlocked,
            },
            unmatched: match self.unmatched {
                Unmatched::Block => Fallback::Block,
                Unmatched::Allow => Fallback::Allow,
            },
            principal: self.principal,
            env: self.env,
            tool_schemas: self.tool_schemas,
            sees_model: self.proposals,
            trust_self_reported: self.trust_self_reported,
            labels: self.labels,
        })
    }
}

impl SessionBody {
    fn of(session: ContractSession, token: Option<String>) -> Self {
        let ContractSession { new, requests, created_at, .. } = session;
        Self {
            id: new.id,
            user_id: new.owner,
            agent: new.agent,
            contract: new.contract,
            mode: new.mode,
            status: new.progress.status,
            requests,
            last_hash: new.progress.last_hash,
            created_at: created_at.to_string(),
            token,
        }
    }
}

/// Open a session under tool contracts, for an agent that runs somewhere else
///
/// Nothing is in the way of such an agent: who embeds it asks before each call, tells what came of it, and keeps to the answers.
/// The token is for the agent's side; held calls are decided on with a key. 422 when the contracts do not compile.
#[utoipa::path(post, path = "/v1/tool-contracts/sessions", tag = "tool contracts", request_body = OpenRequest,
    responses((status = 201, body = SessionBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody),
        (status = 422, body = ErrorBody)))]
pub(crate) async fn open(
    State(app): State<App>,
    Submitter(caller): Submitter,
    JsonBody(request): JsonBody<OpenRequest>,
) -> Result<(StatusCode, Json<SessionBody>), ApiError> {
    let terms = request.terms()?;
    if app.store.count_contract_sessions(&caller.owner).await? >= MOST_SESSIONS {
        return Err(ApiError::conflict(format!("there are {MOST_SESSIONS} sessions of this owner; remove some first")));
    }
    let id = format!("cs-{}", app.ids.hex(16));
    // What is kept has milliseconds, and the session is opened again with what is kept.
    let now = Timestamp::from_millisecond(app.clock.now().as_millisecond()).unwrap_or_default();
    let session = opened(&id, &terms, now)?;
    let set = session.live().set();
    let new = NewContractSession {
        terms: sealed_terms(&app, &id, &terms)?,
        owner: caller.owner.clone(),
        agent: set.agent().to_owned(),
        contract: set.hash.clone(),
        mode: if terms.mode == Mode::Govern { "govern" } else { "observe" }.to_owned(),
        progress: progress(&session),
        id,
    };
    let kept = app.store.create_contract_session(&new, now).await?;
    let token = token(&app, &new).await?;
    Ok((StatusCode::CREATED, Json(SessionBody::of(kept, Some(token)))))
}

/// Makes the token that is good for this session only.
async fn token(app: &App, session: &NewContractSession) -> Result<String, ApiError> {
    let mut bytes = [0; 32];
    app.ids.random(&mut bytes);
    let token = format!("{SANDBOX_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes));
    let key = NewKey {
        id: format!("key_{}", app.ids.hex(12)),
        owner: session.owner.clone(),
        name: session.id.clone(),
        scope: Scope::Sandbox,
        hash: hash(&token),
        sandbox: Some(session.id.clone()),
    };
    app.store.create_key(&key, app.clock.now()).await?;
    Ok(token)
}

/// Sessions under tool contracts of agents that run somewhere else, newest first
#[utoipa::path(get, path = "/v1/tool-contracts/sessions", tag = "tool contracts", params(PageQuery),
    responses((status = 200, body = Vec<SessionBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody)))]
pub(crate) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    QueryParams(page): QueryParams<PageQuery>,
) -> Result<Listing<SessionBody>, ApiError> {
    let listed = app.store.contract_sessions(caller.sees(), page.whole_list()).await?;
    let items = listed.items.into_iter().map(|session| SessionBody::of(session, None)).collect();
    Ok(Listing { items, next: listed.next })
}

/// Remove a session, its records and its token
#[utoipa::path(delete, path = "/v1/tool-contracts/sessions/{id}", tag = "tool contracts",
    params(("id" = String, Path, description = "The session's id")),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn remove(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
) -> Result<StatusCode, ApiError> {
    found(&app, &caller, &id, true).await?;
    app.store.remove_contract_session(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The state of a session, and the call that waits for an approval
#[utoipa::path(get, path = "/v1/tool-contracts/sessions/{id}/state", tag = "tool contracts",
    params(("id" = String, Path, description = "The session's id")),
    responses((status = 200, body = StateBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub(crate) async fn state(
    State(app): State<App>,
    caller: Caller,
    At(id): At<String>,
) -> Result<Json<StateBody>, ApiError> {
    found(&app, &caller, &id, false).await?;
    let body = look(&app, &id, |session| StateBody {
        state: session.live().snapshot(),
        held: session.held().map(Into::into),
        last_hash: session.live().log().last_hash.clone().unwrap_or_default(),
    });
    Ok(Json(body.await?))
}

/// The log of a session: every decision, as JSON Lines with a chain of hashes
#[utoipa::path(get, path = "/v1/tool-contracts/sessions/{id}/decisions", tag = "tool contracts",
    params(("id" = String, Path, description = "The session's id")),
    responses((status = 200, content((String = "application/x-ndjson"))), (status = 400, body = ErrorBody),
        (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 409, body = ErrorBody)))]
pub(crate) async fn decisions(
    State(app): State<App>,
    caller: Caller,
    At(id): At<String>,
) -> Result<Response, ApiError> {
    found(&app, &caller, &id, false).await?;
    let lines = look(&app, &id, |session| {
        let records = session.live().log().records.iter();
        records.map(|record| format!("{record}\n")).collect::<String>()
    });
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], lines.await?).into_response())
}
