//! `GET /v1/labels` and `DELETE /v1/labels/{id}`.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::Deserialize;
use store::LabelFilter;
use utoipa::IntoParams;

use super::body::LabelBody;
use super::find;
use crate::api::experiments;
use crate::app::App;
use crate::auth::{Reader, Submitter};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, QueryParams};
use crate::page::{Envelope, PageQuery};

/// A choice of labels.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct LabelQuery {
    /// Of this experiment only.
    experiment_id: Option<String>,
    /// Of this run only, which acted.
    #[param(minimum = 1)]
    run: Option<u32>,
}

/// Labels of judged outputs, newest first
#[utoipa::path(get, path = "/v1/labels", tag = "labels", params(PageQuery, LabelQuery),
    responses((status = 200, body = Envelope<LabelBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    QueryParams(page): QueryParams<PageQuery>,
    QueryParams(query): QueryParams<LabelQuery>,
) -> Result<Json<Envelope<LabelBody>>, ApiError> {
    let experiment = match &query.experiment_id {
        Some(id) => Some(experiments::find(&app, &caller, id).await?.id),
        None => None,
    };
    let filter = LabelFilter { owner: caller.sees(), experiment, run: query.run };
    let listed = app.store.labels(filter, page.page()).await?;
    Ok(Json(Envelope::of(listed, LabelBody::from)))
}

/// Take a label back
#[utoipa::path(delete, path = "/v1/labels/{id}", tag = "labels",
    params(("id" = String, Path, description = "The label's id")),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn remove(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
) -> Result<StatusCode, ApiError> {
    let label = find(&app, &caller, &id).await?;
    app.store.remove_label(&label.new.id).await?;
    Ok(StatusCode::NO_CONTENT)
}
