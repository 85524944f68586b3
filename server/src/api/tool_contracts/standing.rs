//! Sessions as they stand: in memory, or folded from their requests.

use std::sync::Arc;

use jiff::Timestamp;
use scenario::untrusted;
use serde::{Deserialize, Serialize};
use store::{ContractSession, ContractSessionProgress, SessionLimits};
use tokio::sync::Mutex;
use tool_contracts::Now;
use tool_contracts::redaction::redacted;
use tool_contracts::remote::{RemoteAnswer, RemoteRefused, RemoteRequest, RemoteSession, RemoteTerms};

use crate::app::App;
use crate::auth::Caller;
use crate::cache::Cache;
use crate::error::ApiError;
use crate::submission::seal;

/// The bounds of a session: 5,000 requests of 8 MiB together.
const LIMITS: SessionLimits = SessionLimits { requests: 5_000, bytes: 8 << 20 };
/// The most sessions in memory.
const IN_MEMORY: usize = 64;
/// How often a request is tried when another server took one at the same time.
const TRIES: usize = 4;

/// A session in memory, and the number of requests that it took.
struct Folded {
    session: RemoteSession,
    requests: u64,
}

/// The sessions in memory. Whoever uses one has it alone.
pub(crate) struct Standing(Cache<String, Arc<Mutex<Option<Folded>>>>);

/// A request as it is kept.
#[derive(Serialize, Deserialize)]
struct KeptRequest {
    ts: String,
    at_ms: u64,
    request: RemoteRequest,
}

impl Default for Standing {
    fn default() -> Self {
        Self(Cache::new(IN_MEMORY))
    }
}

impl std::fmt::Debug for Standing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Standing")
    }
}

impl Standing {
    fn place(&self, id: &str) -> Arc<Mutex<Option<Folded>>> {
        let id = id.to_owned();
        self.0.get(&id).unwrap_or_else(|| {
            let place: Arc<Mutex<Option<Folded>>> = Arc::default();
            self.0.put(id, Arc::clone(&place), 1);
            place
        })
    }
}

/// The words for which the parts of a session are sealed.
fn words(id: &str, number: Option<u64>) -> String {
    number.map_or_else(|| format!("{id} terms"), |number| format!("{id} request {number}"))
}

/// Seals the terms of a session.
pub(super) fn sealed_terms(app: &App, id: &str, terms: &RemoteTerms) -> Result<Vec<u8>, ApiError> {
    seal(app, &json(terms)?, &words(id, None))
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(value).map_err(|error| ApiError::internal(error.to_string()))
}

/// Opens a session by its terms, as it is opened again whenever it is folded.
pub(super) fn opened(id: &str, terms: &RemoteTerms, created_at: Timestamp) -> Result<RemoteSession, ApiError> {
    let (set, _) = terms.compile().map_err(|error| super::body::does_not_compile(&error))?;
    let redact = Arc::new(|text: &str| match redacted(&text.into()) {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    });
    let now = Now { ts: created_at.to_string(), at_ms: 0 };
    Ok(RemoteSession::open(Arc::new(set), terms.opening(id), redact, &now))
}

/// The standing of a session, to be kept.
pub(super) fn progress(session: &RemoteSession) -> ContractSessionProgress {
    let live = session.live();
    ContractSessionProgress {
        status: live.state().status.name().to_owned(),
        last_hash: live.log().last_hash.clone().unwrap_or_default(),
    }
}

/// The session with this id, if the caller may use it: its owner, or who has its token.
pub(super) async fn found(app: &App, caller: &Caller, id: &str, writes: bool) -> Result<ContractSession, ApiError> {
    caller.of_sandbox(id, writes)?;
    let session = app.store.contract_session(id).await?.ok_or_else(|| missing(id))?;
    caller.owns(&session.new.owner, "this session")?;
    Ok(session)
}

pub(super) fn missing(id: &str) -> ApiError {
    ApiError::not_found(format!("there is no session `{}`", untrusted::line(id, 100)))
}

/// Looks at a session. A held call whose deadline has passed is resolved first.
pub(super) async fn look<T>(app: &App, id: &str, look: impl FnOnce(&RemoteSession) -> T) -> Result<T, ApiError> {
    let place = app.contract_sessions.place(id);
    let mut kept = place.lock().await;
    let folded = current(app, id, kept.take()).await?;
    let shown = look(&folded.session);
    *kept = Some(folded);
    Ok(shown)
}

/// Takes a request, and keeps it before it is answered.
pub(super) async fn take(app: &App, id: &str, request: &RemoteRequest) -> Result<RemoteAnswer, ApiError> {
    let place = app.contract_sessions.place(id);
    let mut kept = place.lock().await;
    for _ in 0..TRIES {
        let mut folded = current(app, id, kept.take()).await?;
        match apply(app, id, &mut folded, request).await {
            Ok(Some(answer)) => {
                *kept = Some(folded);
                return Ok(answer);
            }
            Ok(None) => {}
            Err(Refused::Session(refused)) => {
                *kept = Some(folded);
                return Err(refusal(&refused));
            }
            Err(Refused::Server(error)) => return Err(error),
        }
    }
    Err(ApiError::conflict("other requests of this session came at the same time; try again"))
}

/// A request that was refused by the session, which is as it was, or by what is around it.
enum Refused {
    Session(RemoteRefused),
    Server(ApiError),
}

/// Applies a request and keeps it; `None` when somebody else kept one with its number.
async fn apply(
    app: &App,
    id: &str,
    folded: &mut Folded,
    request: &RemoteRequest,
) -> Result<Option<RemoteAnswer>, Refused> {
    let stored = stored(app, id).await.map_err(Refused::Server)?;
    let now = now(app, &stored);
    let number = folded.requests;
    let answer = folded.session.take(&now, request.clone()).map_err(Refused::Session)?;
    let kept = KeptRequest { ts: now.ts, at_ms: now.at_ms, request: request.clone() };
    let keep = async {
        let sealed = seal(app, &json(&kept)?, &words(id, Some(number)))?;
        let (store, progress) = (&app.store, progress(&folded.session));
        let is_kept = store.keep_contract_session_request(id, number, &sealed, &progress, LIMITS).await?;
        if !is_kept && stored.requests == number {
            require_room(&stored, sealed.len())?;
        }
        Ok(is_kept)
    };
    let is_kept = keep.await.map_err(Refused::Server)?;
    folded.requests += 1;
    Ok(is_kept.then_some(answer))
}

fn require_room(stored: &ContractSession, bytes: usize) -> Result<(), ApiError> {
    let is_full = stored.requests >= LIMITS.requests || stored.bytes + bytes as u64 > LIMITS.bytes;
    if !is_full {
        return Ok(());
    }
    let SessionLimits { requests, bytes } = LIMITS;
    Err(ApiError::conflict(format!(
        "the session is full: it has {requests} requests, or {bytes} bytes of them; open another one"
    )))
}

fn now(app: &App, stored: &ContractSession) -> Now {
    let now = app.clock.now();
    let passed = now.as_millisecond().saturating_sub(stored.created_at.as_millisecond());
    Now { ts: now.to_string(), at_ms: u64::try_from(passed).unwrap_or(0) }
}

async fn stored(app: &App, id: &str) -> Result<ContractSession, ApiError> {
    app.store.contract_session(id).await?.ok_or_else(|| missing(id))
}

/// The session as it stands now: the one in memory, unless another server took requests meanwhile. A held call whose deadline
/// has passed is resolved.
async fn current(app: &App, id: &str, mut in_memory: Option<Folded>) -> Result<Folded, ApiError> {
    for _ in 0..TRIES {
        let stored = stored(app, id).await?;
        let mut folded = match in_memory.take().filter(|folded| folded.requests == stored.requests) {
            Some(folded) => folded,
            None => fold(app, &stored).await?,
        };
        if !folded.session.is_due(now(app, &stored).at_ms) {
            return Ok(folded);
        }
        match apply(app, id, &mut folded, &RemoteRequest::Deadline).await {
            Ok(Some(_)) => return Ok(folded),
            Ok(None) | Err(Refused::Session(_)) => {}
            Err(Refused::Server(error)) => return Err(error),
        }
    }
    Err(ApiError::conflict("other requests of this session came at the same time; try again"))
}

/// Folds a session from its requests. Its chain of hashes must end where it ended.
async fn fold(app: &App, stored: &ContractSession) -> Result<Folded, ApiError> {
    let id = stored.new.id.clone();
    let terms = app.master_key.open(&stored.new.terms, &words(&id, None))?;
    let terms: RemoteTerms = serde_json::from_slice(&terms).map_err(|error| unreadable(&id, &error))?;
    let mut requests = Vec::new();
    for (number, sealed) in (0..).zip(app.store.contract_session_requests(&id).await?) {
        let opened = app.master_key.open(&sealed, &words(&id, Some(number)))?;
        let request: KeptRequest = serde_json::from_slice(&opened).map_err(|error| unreadable(&id, &error))?;
        requests.push(request);
    }
    let (created_at, last_hash) = (stored.created_at, stored.new.progress.last_hash.clone());
    let is_raced = requests.len() as u64 != stored.requests;
    let folding = tokio::task::spawn_blocking(move || {
        let mut session = opened(&id, &terms, created_at)?;
        let count = requests.len() as u64;
        for KeptRequest { ts, at_ms, request } in requests {
            session.take(&Now { ts, at_ms }, request).map_err(|_| diverged(&id))?;
        }
        let is_same = session.live().log().last_hash.as_deref() == Some(last_hash.as_str());
        if is_same || is_raced { Ok(Folded { session, requests: count }) } else { Err(diverged(&id)) }
    });
    folding.await.map_err(|error| ApiError::internal(error.to_string()))?
}

fn unreadable(id: &str, error: &serde_json::Error) -> ApiError {
    tracing::error!(%error, "session {id} cannot be read");
    ApiError::internal("what is kept of this session cannot be read")
}

fn diverged(id: &str) -> ApiError {
    tracing::error!("session {id} does not fold to the hash that was kept");
    ApiError::conflict(
        "decision_divergence: the requests of this session do not come to the decisions that were kept; it was changed, or this \
         version decides otherwise; open another session",
    )
}

/// The answer to a request that is not possible now.
fn refusal(refused: &RemoteRefused) -> ApiError {
    match refused {
        RemoteRefused::OtherArguments => {
            ApiError::precondition_failed(format!("{refused}: look at the call again, and decide on what it says now"))
        }
        RemoteRefused::Expired => ApiError::gone(refused.to_string()),
        RemoteRefused::UnknownCall(_) => ApiError::not_found(refused.to_string()),
        _ => ApiError::conflict(refused.to_string()),
    }
}
