//! Makes a sandbox: writes down that it is wanted, and waits for a worker to make it.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use scenario::plan::AgentOverride;
use serde::Deserialize;
use serde_json::json;
use store::{NewKey, NewSandbox, Sandbox, SandboxState, Scope};
use tokio::time::{Instant, sleep};
use utoipa::ToSchema;

use super::body::{SandboxBody, shown};
use super::sandbox_guard::UseOrLose;
use crate::api::specs;
use crate::app::App;
use crate::auth::{SANDBOX_PREFIX, Submitter, hash};
use crate::error::{ApiError, ErrorBody};
use crate::extract::JsonBody;
use crate::fields::Length;
use crate::submission::{Given, ReadSpec, bundle_of, read_spec, require_secrets, seal_given};

/// The default lifetime of a sandbox.
const USUAL: Duration = Duration::from_secs(60 * 60);
/// The longest lifetime of a sandbox.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// Timeout of waiting for it: less than clients wait, which is 30 s.
const PATIENCE: Duration = Duration::from_secs(20);
/// The most metadata entries of a sandbox, and the most characters of each.
const METADATA: (usize, usize) = (64, 2000);

/// A sandbox that is wanted.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct SandboxRequest {
    /// The spec that says what is in it.
    spec_id: String,
    /// Its lifetime: `"10m"`, or a number of seconds. An hour by default, and at most a day.
    #[serde(default)]
    timeout: Option<Length>,
    /// Metadata of its owner.
    #[serde(default)]
    metadata: Option<BTreeMap<String, String>>,
    /// Values of the secrets that the spec names. They are sealed, and never returned.
    #[serde(default)]
    secrets: Option<Given>,
}

/// Make a sandbox
///
/// The answer comes when it is ready, or after 20 seconds with the state `creating`: read it again until it is `ready`. When
/// no worker has room for it, it is not made, and the status is 503.
#[utoipa::path(post, path = "/v1/sandboxes", tag = "sandboxes", request_body = SandboxRequest,
    responses((status = 201, body = SandboxBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
        (status = 413, body = ErrorBody), (status = 502, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn create(
    State(app): State<App>,
    Submitter(caller): Submitter,
    JsonBody(request): JsonBody<SandboxRequest>,
) -> Result<(StatusCode, Json<SandboxBody>), ApiError> {
    let new = read(&app, &caller.owner, request).await?;
    require_worker(&app).await?;
    app.store.ask_for_sandbox(&new, app.clock.now()).await?;
    let wanted = UseOrLose::new(&app, &new.id);
    let sandbox = wait(&app, &new.id).await?;
    let token = token(&app, &new).await?;
    wanted.given();
    Ok((StatusCode::CREATED, Json(shown(sandbox).with_token(token))))
}

/// Checks a request.
async fn read(app: &App, owner: &str, request: SandboxRequest) -> Result<NewSandbox, ApiError> {
    let timeout = request.timeout.map(|timeout| timeout.read("timeout")).transpose()?.unwrap_or(USUAL);
    if timeout.is_zero() || timeout > LONGEST {
        return Err(ApiError::invalid("`timeout` must be more than nothing, and at most 24 hours"));
    }
    let metadata = request.metadata.unwrap_or_default();
    let is_long = |text: &String| text.chars().nth(METADATA.1).is_some();
    if metadata.len() > METADATA.0 || metadata.iter().any(|(name, value)| is_long(name) || is_long(value)) {
        let (things, characters) = METADATA;
        return Err(ApiError::invalid(format!(
            "`metadata` may have {things} names and values of {characters} characters"
        )));
    }
    let version = app.store.spec_version(owner, &request.spec_id).await?;
    let version = version.ok_or_else(|| specs::missing(&request.spec_id))?.version;
    let content = app.store.spec(&version.digest).await?;
    let ReadSpec { spec, .. } = read_spec(&content.text, bundle_of(&content).as_ref())?;
    // Nobody acts in it but its owner.
    if let Some(reason) = app.admission.refuses(&spec, Some(&AgentOverride::Noop)) {
        return Err(ApiError::invalid(format!("no sandbox can be made of this spec here: {reason}")));
    }
    let given = request.secrets.unwrap_or_default();
    require_secrets(app, owner, &spec, &given).await?;
    let id = format!("sb-{}", app.ids.hex(12));
    Ok(NewSandbox {
        secrets: seal_given(app, &id, &spec, &given)?,
        id,
        owner: owner.to_owned(),
        spec_id: version.spec_id,
        digest: version.digest,
        metadata: json!(metadata),
        timeout,
        demand: app.admission.demand(&spec),
    })
}

/// Refuses when no worker would take it.
async fn require_worker(app: &App) -> Result<(), ApiError> {
    let workers = app.store.live_workers(app.clock.now(), app.config.worker_patience).await?;
    if workers.is_empty() {
        return Err(ApiError::busy(
            "no worker is running that could make a sandbox; start one with `touchstone worker`",
        ));
    }
    let reasons: Vec<_> = workers
        .iter()
        .filter_map(|worker| Some(format!("{}: {}", worker.new.host, worker.pulse.reason.as_deref()?)))
        .collect();
    if reasons.len() < workers.len() {
        return Ok(());
    }
    Err(ApiError::busy(format!("no worker takes anything now; {}", reasons.join("; "))))
}

/// Waits until the sandbox is ready, or is being made for long.
async fn wait(app: &App, id: &str) -> Result<Sandbox, ApiError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let gone = || ApiError::conflict("the sandbox was removed while it was being made");
        let sandbox = app.store.sandbox(id).await?.ok_or_else(gone)?;
        let is_over = Instant::now() >= deadline || app.ending.is_cancelled();
        match sandbox.state {
            SandboxState::Ready => return Ok(sandbox),
            SandboxState::Error => {
                let reason = sandbox.error.unwrap_or_else(|| "nobody knows why".to_owned());
                return Err(ApiError::bad_gateway(format!("the sandbox could not be made: {reason}")));
            }
            SandboxState::Stopped => return Err(gone()),
            SandboxState::Creating if is_over && sandbox.worker.is_none() => {
                let seconds = PATIENCE.as_secs();
                return Err(ApiError::busy(format!(
                    "no worker had room for this sandbox within {seconds} s; see /v1/capacity, and try again later"
                )));
            }
            SandboxState::Creating if is_over => return Ok(sandbox),
            SandboxState::Creating => sleep(app.config.look).await,
        }
    }
}

/// Makes the token that is good for this sandbox only.
async fn token(app: &App, sandbox: &NewSandbox) -> Result<String, ApiError> {
    let mut bytes = [0; 32];
    app.ids.random(&mut bytes);
    let token = format!("{SANDBOX_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes));
    let key = NewKey {
        id: format!("key_{}", app.ids.hex(12)),
        owner: sandbox.owner.clone(),
        name: sandbox.id.clone(),
        scope: Scope::Sandbox,
        hash: hash(&token),
        sandbox: Some(sandbox.id.clone()),
    };
    app.store.create_key(&key, app.clock.now()).await?;
    Ok(token)
}
