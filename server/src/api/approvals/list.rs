//! `GET /v1/approvals` and `GET /v1/approvals/{id}`.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use store::{ApprovalFilter, ApprovalStatus};
use utoipa::IntoParams;

use super::body::{ApprovalBody, status_words};
use super::find;
use crate::app::App;
use crate::auth::Reader;
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, QueryParams};
use crate::page::{Envelope, PageQuery};

/// A choice of approvals.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ApprovalQuery {
    /// With this status only.
    #[param(schema_with = status_words)]
    status: Option<ApprovalStatus>,
}

/// Calls that wait for a person, and those that did, newest first
///
/// A call that a tool contract holds stays here with its decision as long as its experiment.
#[utoipa::path(get, path = "/v1/approvals", tag = "approvals", params(PageQuery, ApprovalQuery),
    responses((status = 200, body = Envelope<ApprovalBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody)))]
pub(crate) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    QueryParams(page): QueryParams<PageQuery>,
    QueryParams(query): QueryParams<ApprovalQuery>,
) -> Result<Json<Envelope<ApprovalBody>>, ApiError> {
    let now = app.clock.now();
    let filter = ApprovalFilter { owner: caller.sees(), status: query.status, now, ..ApprovalFilter::default() };
    let listed = app.store.approvals(filter, page.page()).await?;
    Ok(Json(Envelope::of(listed, |approval| ApprovalBody::of(&approval, now))))
}

/// A call that waits for a person, or did
#[utoipa::path(get, path = "/v1/approvals/{id}", tag = "approvals",
    params(("id" = String, Path, description = "The approval's id")),
    responses((status = 200, body = ApprovalBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn one(
    State(app): State<App>,
    Reader(caller): Reader,
    At(id): At<String>,
) -> Result<Json<ApprovalBody>, ApiError> {
    let approval = find(&app, &caller, &id).await?;
    Ok(Json(ApprovalBody::of(&approval, app.clock.now())))
}
