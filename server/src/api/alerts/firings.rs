//! Alerts that fired.

use axum::extract::State;
use serde::Serialize;
use store::{Alert, Firing};
use utoipa::ToSchema;

use crate::api::owned::owned;
use crate::app::App;
use crate::auth::Reader;
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, QueryParams};
use crate::page::{Listing, PageQuery};

/// An alert that fired.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FiringBody {
    /// The rule.
    rule_id: String,
    /// Its name, for people.
    rule_name: String,
    /// Why it fired.
    reason: String,
    /// The experiment that made it fire.
    experiment_id: String,
    /// Which run of it.
    run: u32,
    /// When.
    #[schema(format = DateTime)]
    fired_at: String,
}

/// When an alert fired, newest first
#[utoipa::path(get, path = "/v1/alerts/{id}/firings", tag = "alerts",
    params(("id" = String, Path, description = "The alert's id"), PageQuery),
    responses((status = 200, body = Vec<FiringBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn of_alert(
    State(app): State<App>,
    Reader(caller): Reader,
    At(id): At<String>,
    QueryParams(page): QueryParams<PageQuery>,
) -> Result<Listing<FiringBody>, ApiError> {
    owned::<Alert>(&app, &caller, &id).await?;
    let listed = app.store.firings(None, Some(&id), page.whole_list()).await?;
    Ok(Listing { items: listed.items.into_iter().map(shown).collect(), next: listed.next })
}

fn shown(firing: Firing) -> FiringBody {
    let Firing { name, new, fired_at, .. } = firing;
    FiringBody {
        rule_id: new.alert,
        rule_name: name,
        reason: new.reason,
        experiment_id: new.run.experiment.to_string(),
        run: new.run.number,
        fired_at: fired_at.to_string(),
    }
}
