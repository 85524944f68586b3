//! `GET /v1/experiments/{id}/scenarios/{scenario}/artifacts`: what a scenario left, as files.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::HeaderValue;
use http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use scenario::tool_session::contract_logs;
use serde::Serialize;
use store::RunId;
use utoipa::ToSchema;

use super::RunQuery;
use super::details::FoundScenario;
use crate::app::App;
use crate::auth::Reader;
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, QueryParams};

/// The name under which an attempt's evidence is found.
const EVIDENCE: &str = "evidence.json";
/// The beginning of the names under which records of sessions under tool contracts are found.
const RECORDS: &str = "contract";
/// The most artifacts that are listed.
const MOST: usize = 10_000;

/// A file that a scenario left.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ArtifactBody {
    /// Its name: the number of the attempt, and what it is called there.
    #[schema(example = "1/evidence.json")]
    name: String,
    /// Its size in bytes.
    size_bytes: u64,
    /// Where it can be read.
    url: String,
}

/// Artifacts of a scenario
#[utoipa::path(get, path = "/v1/experiments/{id}/scenarios/{scenario}/artifacts", tag = "experiments",
    params(("id" = String, Path, description = "The experiment's id"),
        ("scenario" = String, Path, description = "The scenario's id"), RunQuery),
    responses((status = 200, body = Vec<ArtifactBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub(crate) async fn artifacts(
    State(app): State<App>,
    Reader(caller): Reader,
    At((id, scenario)): At<(String, String)>,
    QueryParams(query): QueryParams<RunQuery>,
) -> Result<Json<Vec<ArtifactBody>>, ApiError> {
    let found = FoundScenario::find(&app, &caller, &id, &scenario, query.run).await?;
    let place = place(found.acted, &scenario);
    let small = found.attempts.iter().filter_map(|one| Some((format!("{}/{EVIDENCE}", one.number), one.size?)));
    let large = app.store.artifacts().list(&place).await?.into_iter().filter_map(|artifact| {
        let name = artifact.key.strip_prefix(&place)?.strip_prefix('/')?.to_owned();
        // What is being written has another name than its own until it is whole.
        (!name.contains(EVIDENCE)).then_some((name, artifact.size))
    });
    let records = contract_records(&app, &found).await?;
    let run = found.run.id.number;
    let url = |name: &str| format!("/v1/experiments/{id}/scenarios/{scenario}/artifacts/{name}?run={run}");
    let body = |(name, size_bytes): (String, u64)| ArtifactBody { url: url(&name), name, size_bytes };
    Ok(Json(small.chain(large).chain(records).take(MOST).map(body).collect()))
}

/// The records of sessions under tool contracts in the attempt that was judged, by their names and sizes. They are in the
/// evidence, which is read for them only where it can be; elsewhere the list does without.
async fn contract_records(app: &App, found: &FoundScenario) -> Result<Vec<(String, u64)>, ApiError> {
    let Some((job, attempt)) = found.stored.source else { return Ok(Vec::new()) };
    let (evidence, _) = app.stories.of(app, job, attempt).await?;
    let logs = evidence.map(|evidence| contract_logs(&evidence)).unwrap_or_default();
    Ok(logs.into_iter().map(|log| (format!("{attempt}/{}", log.name), log.lines.len() as u64)).collect())
}

/// The records with this name in the evidence of an attempt.
async fn contract_log(app: &App, found: &FoundScenario, attempt: u32, name: &str) -> Result<Option<String>, ApiError> {
    let Ok((job, attempt)) = found.attempt(Some(attempt)) else { return Ok(None) };
    let (evidence, _) = app.stories.of(app, job, attempt).await?;
    let logs = evidence.map(|evidence| contract_logs(&evidence)).unwrap_or_default();
    Ok(logs.into_iter().find(|log| log.name == name).map(|log| log.lines))
}

/// One file that a scenario left
#[utoipa::path(get, path = "/v1/experiments/{id}/scenarios/{scenario}/artifacts/{*name}", tag = "experiments",
    params(("id" = String, Path, description = "The experiment's id"),
        ("scenario" = String, Path, description = "The scenario's id"),
        ("name" = String, Path, description = "The artifact's name, with its slashes"), RunQuery),
    responses((status = 200, body = Vec<u8>, content_type = "application/octet-stream"), (status = 400, body = ErrorBody),
        (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 409, body = ErrorBody), (status = 410, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn artifact(
    State(app): State<App>,
    Reader(caller): Reader,
    At((id, scenario, name)): At<(String, String, String)>,
    QueryParams(query): QueryParams<RunQuery>,
) -> Result<Response, ApiError> {
    let found = FoundScenario::find(&app, &caller, &id, &scenario, query.run).await?;
    let missing = || {
        let name = scenario::untrusted::line(&name, 200);
        ApiError::not_found(format!("the scenario left no artifact `{name}`"))
    };
    let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']);
    let (attempt, file) = name.split_once('/').filter(|_| name.split('/').all(is_plain)).ok_or_else(missing)?;
    let attempt: u32 = attempt.parse().map_err(|_| missing())?;
    if file == EVIDENCE {
        let (job, attempt) = found.attempt(Some(attempt)).map_err(|_| missing())?;
        let _room = app.heavy.acquire().await.map_err(|_| ApiError::busy("the server is ending"))?;
        let text = app.store.evidence_text(job, attempt).await?.ok_or_else(missing)?;
        return Ok(download(Body::from(text), None));
    }
    if file.starts_with(RECORDS)
        && let Some(records) = contract_log(&app, &found, attempt, file).await?
    {
        let size = records.len() as u64;
        return Ok(download(Body::from(records), Some(size)));
    }
    let key = format!("{}/{attempt}/{file}", place(found.acted, &scenario));
    let size = app.store.artifacts().size(&key).await?.ok_or_else(missing)?;
    let content = app.store.artifacts().stream(&key, None).await?;
    Ok(download(Body::from_stream(content), Some(size)))
}

/// Where a scenario's artifacts are.
fn place(run: RunId, scenario: &str) -> String {
    format!("{}/{}/{scenario}", run.experiment, run.number)
}

/// A file that no browser shows: what an agent wrote is not to be trusted.
fn download(body: Body, size: Option<u64>) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    if let Some(size) = size {
        headers.insert(CONTENT_LENGTH, size.into());
    }
    response
}
