//! `POST /v1/runs`: a spec is submitted and run with one call.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use scenario::hex;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use store::{ExperimentId, NewExperiment, NewRun, Once, Submitted};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::experiments::schema::RunBody;
use super::specs::KINDS;
use crate::app::App;
use crate::auth::Submitter;
use crate::error::{ApiError, ErrorBody};
use crate::extract::{json, media_type, read, require_media};
use crate::submission::{
    AgentSchema, Given, Options, ReadSpec, Upload, new_run, plan, read_spec, require_secrets, seal_given, unpack_aside,
};

/// The header by which a repeated request is recognised.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The header of a reply that was given before.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// The length limit of a key.
const MOST_KEY: usize = 255;

/// A spec that is to be run. Keys that are not known are passed over.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct NewRunBody {
    #[serde(flatten)]
    target: RunTarget,
    #[serde(flatten)]
    options: Options,
}

/// The spec to run.
#[derive(Debug, Deserialize, ToSchema)]
struct RunTarget {
    /// The text of the spec; or else `bundle`.
    spec: Option<String>,
    /// A tar archive, packed with gzip or not, with `spec.yaml` and the files beside it, in base64.
    bundle: Option<String>,
    /// Values of the spec's secrets. They are sealed, and never returned.
    secrets: Option<Given>,
    /// Whose experiment it is, for who has the scope `admin`.
    owner: Option<String>,
}

/// A submission.
#[derive(Debug)]
pub(crate) struct Submission {
    /// The spec, and the files beside it.
    pub(crate) upload: Upload,
    /// Values of its secrets.
    pub(crate) secrets: Given,
    /// Whose it is; the caller's own without one.
    pub(crate) owner: Option<String>,
    /// The caller's options.
    pub(crate) options: Options,
}

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(submit))
}

/// Submit a spec and run it
///
/// As JSON; or the spec as YAML, or a tar archive with `spec.yaml` and the files beside it, with the options in the query
/// (`param=NAME=VALUE` and `filter=PATTERN` can be given several times). With the header `Idempotency-Key`, sending the same
/// request again gives the same reply, with `Idempotent-Replayed: true`.
#[utoipa::path(post, path = "/v1/runs", tag = "runs",
    params(("Idempotency-Key" = Option<String>, Header, description = "What makes this request the same one when it is sent again"),
        ("name" = Option<String>, Query, description = "What people call the experiment"),
        ("priority" = Option<i64>, Query, description = "Jobs with a higher number are done first"),
        ("replicas" = Option<u32>, Query, description = "How often each cell is repeated"),
        ("seed" = Option<u64>, Query, description = "The seed"),
        ("param" = Option<String>, Query, description = "NAME=VALUE of a parameter, instead of the matrix's"),
        ("agent" = Option<AgentSchema>, Query, description = "Who acts instead of the spec's own agent"),
        ("min_pass_rate" = Option<f64>, Query, description = "A pass rate that every cell must reach"),
        ("filter" = Option<String>, Query, description = "Only scenarios that match"),
        ("owner" = Option<String>, Query, description = "Whose experiment it is, for who has the scope `admin`")),
    request_body(content((NewRunBody = "application/json"), (String = "application/x-yaml"), (Vec<u8> = "application/gzip"),
        (Vec<u8> = "application/x-tar"))),
    responses((status = 202, body = RunBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody),
        (status = 415, body = ErrorBody), (status = 422, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn submit(
    State(app): State<App>,
    Submitter(caller): Submitter,
    headers: HeaderMap,
    query: Result<Query<Vec<(String, String)>>, axum::extract::rejection::QueryRejection>,
    body: axum::body::Body,
) -> Result<Response, ApiError> {
    let key = idempotency_key(&headers)?;
    let Query(query) = query.map_err(|error| ApiError::invalid(format!("the query: {}", error.body_text())))?;
    require_media(&headers, &KINDS)?;
    let _room = app.upload_place(&caller)?;
    let bytes = read(body, app.config.upload_bytes).await?;
    let mark = app.master_key.mark(&digest(&query, &bytes));
    let submission = match media_type(&headers).as_str() {
        "application/json" => Submission::of_json(&bytes).await?,
        _ => Submission::of_query(&query, bytes).await?,
    };
    let owner = caller.acts_for(submission.owner.as_deref())?;
    let once = key.as_deref().map(|key| Once { owner: &owner, key, fingerprint: &mark });
    // What was done before is done, whatever has changed since then.
    if let Some(once) = once
        && let Some(before) = app.store.submitted(once).await?
    {
        return replied(&app, before).await;
    }
    let (experiment, run) = prepare(&app, &owner, submission).await?;
    let now = app.clock.now();
    let submitted = match once {
        Some(once) => app.store.submit_once(once, &experiment, &run, now).await?,
        None => Submitted::Now(app.store.submit(&experiment, &run, now).await?),
    };
    replied(&app, submitted).await
}

/// Builds the response to a submission.
async fn replied(app: &App, submitted: Submitted) -> Result<Response, ApiError> {
    let (run, replayed) = match submitted {
        Submitted::Now(run) => (run, false),
        Submitted::Before(run) => (run, true),
        Submitted::Mismatch => {
            return Err(ApiError::mismatch("another request was sent with this `Idempotency-Key`"));
        }
    };
    let total = app.store.run(run).await?.total;
    let mut response = (StatusCode::ACCEPTED, Json(RunBody::of(run, total))).into_response();
    if replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// All that is kept about a submission. The spec is kept by this; nothing is run yet.
pub(crate) async fn prepare(
    app: &App,
    owner: &str,
    submission: Submission,
) -> Result<(NewExperiment, NewRun), ApiError> {
    let Submission { upload, secrets, options, .. } = submission;
    let ReadSpec { spec, .. } = read_spec(&upload.content.text, upload.bundle.as_ref())?;
    let settings = options.settings()?;
    let plan = plan(&spec, &settings, options.seed)?;
    let run = new_run(app, owner, &spec, &settings, plan.scenarios).await?;
    require_secrets(app, owner, &spec, &secrets).await?;
    let id = ExperimentId(app.ids.id());
    let version = app.store.keep_spec(owner, spec.id.as_str(), &upload.content, app.clock.now()).await?;
    let experiment = NewExperiment::new(id, version, format!("{}.yaml", spec.id), plan.seed, settings)
        .owned_by(owner)
        .named(options.name(spec.id.as_str())?)
        .with_secrets(seal_given(app, id, &spec, &secrets)?);
    Ok((experiment, run))
}

impl Submission {
    async fn of_json(bytes: &[u8]) -> Result<Self, ApiError> {
        let body = NewRunBody { target: json(bytes)?, options: json(bytes)? };
        let RunTarget { spec, bundle, secrets, owner } = body.target;
        let upload = match (spec, bundle) {
            (Some(spec), None) => Upload::alone(spec),
            (None, Some(bundle)) => {
                let packed = STANDARD.decode(bundle.trim());
                let packed = packed.map_err(|error| ApiError::invalid(format!("`bundle` is not base64: {error}")))?;
                unpack_aside(packed.into()).await?
            }
            _ => return Err(ApiError::invalid("either `spec` or `bundle` is needed")),
        };
        Ok(Self { upload, secrets: secrets.unwrap_or_default(), owner, options: body.options })
    }

    async fn of_query(query: &[(String, String)], bytes: Bytes) -> Result<Self, ApiError> {
        let (mut options, mut owner) = (Options::default(), None);
        for (name, value) in query {
            match name.as_str() {
                "owner" => owner = Some(value.clone()),
                _ => set(&mut options, name, value)?,
            }
        }
        Ok(Self { upload: unpack_aside(bytes).await?, secrets: Given::default(), owner, options })
    }
}

/// Sets an option by its name; names that are not known are passed over.
fn set(options: &mut Options, name: &str, value: &str) -> Result<(), ApiError> {
    let wrong = || {
        let value = scenario::untrusted::line(value, 100);
        ApiError::invalid(format!("the query: `{value}` is no value of `{name}`"))
    };
    match name {
        "name" => options.name = Some(value.to_owned()),
        "priority" => options.priority = Some(value.parse().map_err(|_| wrong())?),
        "replicas" => options.replicas = Some(value.parse().map_err(|_| wrong())?),
        "seed" => options.seed = Some(value.parse().map_err(|_| wrong())?),
        "min_pass_rate" => options.min_pass_rate = Some(value.parse().map_err(|_| wrong())?),
        "agent" => options.agent = Some(value.parse().map_err(|_| wrong())?),
        "filter" => options.filter.get_or_insert_default().push(value.to_owned()),
        "param" => {
            let (name, value) = value.split_once('=').ok_or_else(wrong)?;
            // Whatever is no JSON is text.
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
            options.parameters.get_or_insert_default().insert(name.to_owned(), value);
        }
        _ => {}
    }
    Ok(())
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let Some(value) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let key = value.to_str().ok().filter(|key| (1..=MOST_KEY).contains(&key.len()));
    key.map(|key| Some(key.to_owned())).ok_or_else(|| {
        ApiError::invalid(format!("`Idempotency-Key` must have 1 to {MOST_KEY} visible ASCII characters"))
    })
}

/// Computes a digest of a request.
fn digest(query: &[(String, String)], body: &[u8]) -> String {
    let mut hasher = Sha256::new();
    for part in query.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]).chain([body]) {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hex(hasher.finalize())
}
