//! `GET /v1/experiments`.

use std::collections::HashMap;

use axum::extract::State;
use serde::Deserialize;
use store::{Experiment, Page, Run};
use utoipa::IntoParams;

use super::schema::ExperimentBody;
use crate::app::App;
use crate::auth::Reader;
use crate::error::{ApiError, ErrorBody};
use crate::extract::QueryParams;
use crate::page::{Listing, PageQuery};
use crate::results::ExperimentStatus;

/// The most experiments that are read to fill a page of those with one status.
const LOOKED_AT: usize = 10_000;

/// Which experiments.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExperimentQuery {
    /// Of this spec only.
    spec_id: Option<String>,
    /// With this status only.
    #[param(inline)]
    status: Option<ExperimentStatus>,
    /// Of this owner only, for who has the scope `admin`.
    owner: Option<String>,
}

/// Experiments, newest first
///
/// When there are more, the header `X-Next-Cursor` has the cursor of the next part.
#[utoipa::path(get, path = "/v1/experiments", tag = "experiments", params(PageQuery, ExperimentQuery),
    responses((status = 200, body = Vec<ExperimentBody>), (status = 400, body = ErrorBody),
        (status = 401, body = ErrorBody), (status = 403, body = ErrorBody)))]
pub(crate) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    QueryParams(page): QueryParams<PageQuery>,
    QueryParams(query): QueryParams<ExperimentQuery>,
) -> Result<Listing<ExperimentBody>, ApiError> {
    let owner = caller.looks_at(query.owner.as_deref())?;
    let Page { after, most } = page.whole_list();
    let (mut items, mut after, mut looked_at) = (Vec::new(), after.map(ToOwned::to_owned), 0);
    loop {
        let left = most - items.len() as u64;
        let part = Page { after: after.as_deref(), most: left };
        let listed = app.store.experiments_page(owner.as_deref(), query.spec_id.as_deref(), part).await?;
        looked_at += listed.items.len();
        let runs = newest_runs(&app, &listed.items).await?;
        let shown = listed.items.iter().map(|one| (one, runs.get(&one.id.to_string())));
        let wanted = shown.filter(|(_, run)| query.status.is_none_or(|wanted| wanted == ExperimentStatus::of(*run)));
        items.extend(wanted.map(|(one, run)| ExperimentBody::of(one, run)));
        after = listed.next;
        if after.is_none() || items.len() as u64 >= most || looked_at >= LOOKED_AT {
            return Ok(Listing { items, next: after });
        }
    }
}

async fn newest_runs(app: &App, experiments: &[Experiment]) -> Result<HashMap<String, Run>, ApiError> {
    let ids: Vec<_> = experiments.iter().map(|one| one.id).collect();
    let mut runs = HashMap::new();
    // A statement has room for so many values only.
    for ids in ids.chunks(500) {
        let newest = app.store.newest_runs(ids).await?;
        runs.extend(newest.into_iter().map(|run| (run.id.experiment.to_string(), run)));
    }
    Ok(runs)
}
