//! `POST /v1/labels`.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use scenario::judge_calibration::HumanLabel;
use scenario::untrusted;
use serde::Deserialize;
use store::{Experiment, NewLabel, Run, StoredLabel};
use utoipa::ToSchema;

use super::body::LabelBody;
use crate::api::experiments;
use crate::app::App;
use crate::auth::{Caller, Submitter};
use crate::error::{ApiError, ErrorBody};
use crate::extract::JsonBody;
use crate::fields;

/// The most characters of a note.
const NOTE: usize = 2000;
/// The name that is written down where nobody says who labels and no key has an owner.
const NOBODY: &str = "unknown";

/// A label.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct LabelRequest {
    /// The experiment.
    experiment_id: String,
    /// The run, from 1; the newest one without it. A run that judged evidence again has the labels of the run that acted.
    #[serde(default)]
    #[schema(minimum = 1)]
    run: Option<u32>,
    /// The scenario.
    scenario: String,
    /// The invariant, which asks a judge.
    invariant: String,
    /// `pass`, `fail`, or a score from 0 to 1.
    #[schema(example = "fail")]
    label: String,
    /// The name of who says so; the key's owner without it.
    #[serde(default)]
    by: Option<String>,
    /// The reason.
    #[serde(default)]
    note: Option<String>,
}

/// A label that somebody wants to give, over the API or on the page.
pub(crate) struct Wanted {
    /// The scenario.
    pub(crate) scenario: String,
    /// The invariant.
    pub(crate) invariant: String,
    /// The label.
    pub(crate) label: String,
    /// The name of who labels, as they say; empty for the key's owner.
    pub(crate) by: String,
    /// The note of who labels.
    pub(crate) note: String,
}

/// Label a judged output
///
/// Another label of the same person about the same output replaces the first.
#[utoipa::path(post, path = "/v1/labels", tag = "labels", request_body = LabelRequest,
    responses((status = 201, body = LabelBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody),
        (status = 413, body = ErrorBody)))]
pub(crate) async fn create(
    State(app): State<App>,
    Submitter(caller): Submitter,
    JsonBody(request): JsonBody<LabelRequest>,
) -> Result<(StatusCode, Json<LabelBody>), ApiError> {
    let LabelRequest { experiment_id, run, scenario, invariant, label, by, note } = request;
    let experiment = experiments::find(&app, &caller, &experiment_id).await?;
    let run = experiments::require_run(&app, &experiment, run).await?;
    let (by, note) = (by.unwrap_or_default(), note.unwrap_or_default());
    let wanted = Wanted { scenario, invariant, label, by, note };
    let label = write_label(&app, &caller, (&experiment, &run), wanted).await?;
    Ok((StatusCode::CREATED, Json(label.into())))
}

/// The name under which somebody labels.
pub(crate) fn person(caller: &Caller, by: &str) -> Result<String, ApiError> {
    match by.trim() {
        "" if caller.owner.is_empty() => Ok(NOBODY.to_owned()),
        "" => Ok(caller.owner.clone()),
        by => fields::name(by, "by"),
    }
}

/// Keeps a label of an output that a judge rates.
pub(crate) async fn write_label(
    app: &App,
    caller: &Caller,
    (experiment, run): (&Experiment, &Run),
    wanted: Wanted,
) -> Result<StoredLabel, ApiError> {
    let label = HumanLabel::read(&wanted.label).ok_or_else(|| {
        let shown = untrusted::line(&wanted.label, 100);
        ApiError::invalid(format!("`label` is `{shown}`: write `pass`, `fail` or a score from 0 to 1"))
    })?;
    require_judge(app, experiment, run, &wanted).await?;
    let new = NewLabel {
        id: format!("lb_{}", app.ids.hex(12)),
        run: app.store.acted(run).await?.id,
        scenario: wanted.scenario,
        invariant: wanted.invariant,
        label: label.to_string(),
        person: person(caller, &wanted.by)?,
        note: fields::text(wanted.note, "note", NOTE)?,
    };
    app.store.keep_labels(std::slice::from_ref(&new), app.clock.now()).await?;
    let kept = app.store.label_of(&new).await?;
    kept.ok_or_else(|| ApiError::not_found("its experiment was removed"))
}

/// Refuses what no judge rates.
async fn require_judge(app: &App, experiment: &Experiment, run: &Run, wanted: &Wanted) -> Result<(), ApiError> {
    let missing = |what: &str, name: &str| {
        ApiError::not_found(format!(
            "the experiment `{}` has no {what} `{}`",
            experiment.id,
            untrusted::line(name, 100)
        ))
    };
    let reading = app.store.judged_outputs(run).await?;
    let found = app.store.scenario(run.id, &wanted.scenario).await?;
    let stored = found.ok_or_else(|| missing("scenario", &wanted.scenario))?;
    let is_judged = reading.judges_of(&stored).contains(&wanted.invariant);
    if is_judged { Ok(()) } else { Err(missing("invariant with a judge", &wanted.invariant)) }
}
