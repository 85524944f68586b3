//! `GET /v1/experiments/{id}`: what came of it, or has come of it so far.

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, VARY};
use http::{HeaderMap, HeaderValue, StatusCode};
use scenario::spec::types::Timespan;
use serde::{Deserialize, Deserializer};
use store::{Experiment, Run};
use tokio::time::Instant;
use utoipa::{IntoParams, ToSchema};

use super::schema::RunResults;
use super::{find, find_run};
use crate::app::App;
use crate::auth::{Caller, Reader};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, QueryParams};
use crate::results::{Form, ResultFormat, Tag, never_run};
use crate::retry::patiently;

/// The longest wait of a request for news.
const LONGEST_WAIT: Duration = Duration::from_secs(25);

/// Which results, and how.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ResultsQuery {
    /// Which run, from 1; the newest one without it.
    #[param(minimum = 1)]
    run: Option<u32>,
    /// In which form; what `Accept` says without it.
    #[param(inline)]
    format: Option<ResultFormat>,
    /// The part of the results.
    #[param(inline)]
    view: Option<View>,
    /// Wait so long, at most 25 s, until the run has ended; with `If-None-Match`, until anything is new. `25s`, `500ms` or
    /// a number of seconds.
    #[param(value_type = Option<String>, example = "25s")]
    #[serde(deserialize_with = "wait")]
    wait: Option<Duration>,
}

/// A part of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum View {
    /// All of it.
    Full,
    /// The numbers, without the scenarios.
    Summary,
}

/// The results of an experiment
///
/// While it runs, those of the scenarios that have ended. Before the first run there are none, and `total_scenarios` is 0.
#[utoipa::path(get, path = "/v1/experiments/{id}", tag = "experiments",
    params(("id" = String, Path, description = "The experiment's id"), ResultsQuery),
    responses(
        (status = 200, content((RunResults = "application/json"), (String = "application/xml"), (String = "text/markdown"))),
        (status = 304, description = "Nothing is new since `If-None-Match`"),
        (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub(crate) async fn results(
    State(app): State<App>,
    Reader(caller): Reader,
    At(id): At<String>,
    QueryParams(query): QueryParams<ResultsQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    patiently(&app.retries, || answer(&app, &caller, &id, &query, &headers)).await
}

async fn answer(
    app: &App,
    caller: &Caller,
    id: &str,
    query: &ResultsQuery,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let experiment = find(app, caller, id).await?;
    let form = match (Form::wanted(query.format, headers), query.view) {
        (Form::Json, Some(View::Summary)) => Form::Summary,
        (form, _) => form,
    };
    let run = wait_for_news(app, (caller, &experiment), query, form, headers).await?;
    respond(app, &experiment, run.as_ref(), form, headers).await
}

/// The run, once there is something new about it or the time is over.
async fn wait_for_news(
    app: &App,
    (caller, experiment): (&Caller, &Experiment),
    query: &ResultsQuery,
    form: Form,
    headers: &HeaderMap,
) -> Result<Option<Run>, ApiError> {
    let wait = query.wait.unwrap_or_default().min(LONGEST_WAIT);
    let deadline = Instant::now() + wait;
    let has_tag = headers.contains_key(http::header::IF_NONE_MATCH);
    // Who finds no place to wait is answered at once.
    let place = if wait.is_zero() { None } else { app.stream_place(caller).ok() };
    loop {
        let run = find_run(app, experiment, query.run).await?;
        let tag = app.shows.tag_of(run.as_ref(), form);
        let is_news = if has_tag { !tag.is_known(form, headers) } else { !tag.is_open() };
        if is_news || place.is_none() || app.ending.is_cancelled() || Instant::now() >= deadline {
            return Ok(run);
        }
        let look = app.config.look.min(deadline - Instant::now());
        let _ = tokio::time::timeout(look, app.ending.cancelled()).await;
    }
}

async fn respond(
    app: &App,
    experiment: &Experiment,
    run: Option<&Run>,
    form: Form,
    headers: &HeaderMap,
) -> Result<Response, ApiError> {
    let (tag, body) = match run {
        Some(run) => {
            let shown = app.shows.of(app, experiment, run, form).await?;
            (shown.tag, Body::from(shown.thing.clone()))
        }
        None if matches!(form, Form::Json | Form::Summary) => {
            (Tag::of(None), Body::from(never_run(experiment).to_string()))
        }
        None => return Err(ApiError::conflict(format!("the experiment `{}` was not run yet", experiment.id))),
    };
    let status = if tag.is_known(form, headers) { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    let body = if status == StatusCode::OK { body } else { Body::empty() };
    let mut response = (status, body).into_response();
    let fields = response.headers_mut();
    fields.insert(ETAG, tag.header(form));
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    fields.insert(VARY, HeaderValue::from_static("accept, authorization, x-api-key"));
    if status == StatusCode::OK {
        fields.insert(CONTENT_TYPE, HeaderValue::from_static(form.content_type()));
    }
    Ok(response)
}

/// Reads `25s`, `1m` or a number of seconds.
fn wait<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let seconds = || text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let wait = Timespan::parse(&text).map(Timespan::get).filter(|_| !text.is_empty()).or_else(seconds);
    let unreadable = "`wait` must be a time such as `25s`, `500ms` or a number of seconds";
    wait.map(Some).ok_or_else(|| serde::de::Error::custom(unreadable))
}
