//! Sandboxes as tools: made from a spec, and used by hand or by an agent outside.
//!
//! The server writes down that somebody wants one, and a worker makes it. What is asked about it later goes to that worker
//! (`asking.rs`). Its own token, `ks_sb_…`, is good for it and for nothing else.

mod asking;
mod body;
mod commands;
mod create;
mod files;
mod path;
mod sandbox_guard;
mod state;
mod trace;

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use scenario::interactive::Ask;
use scenario::untrusted;
use store::{Sandbox, SandboxFilter};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::{Caller, Reader};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, QueryParams};
use crate::page::{Listing, PageQuery};
use body::{SandboxBody, shown};

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create::create, list))
        .routes(routes!(one, remove))
        .routes(routes!(commands::run))
        .routes(routes!(files::write))
        .routes(routes!(files::read, files::remove))
        .routes(routes!(state::state))
        .routes(routes!(state::diff))
        .routes(routes!(trace::ingest, trace::read))
}

/// All sandboxes that have not ended, newest first
#[utoipa::path(get, path = "/v1/sandboxes", tag = "sandboxes", params(PageQuery),
    responses((status = 200, body = Vec<SandboxBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody)))]
pub(crate) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    QueryParams(page): QueryParams<PageQuery>,
) -> Result<Listing<SandboxBody>, ApiError> {
    let filter = SandboxFilter { owner: caller.sees(), active: true, ..SandboxFilter::default() };
    let listed = app.store.sandboxes(filter, page.whole_list()).await?;
    let items = listed.items.into_iter().filter(|sandbox| sandbox.wanted).map(shown).collect();
    Ok(Listing { items, next: listed.next })
}

/// A sandbox
#[utoipa::path(get, path = "/v1/sandboxes/{id}", tag = "sandboxes", params(("id" = String, Path, description = "The sandbox's id")),
    responses((status = 200, body = SandboxBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn one(
    State(app): State<App>,
    caller: Caller,
    At(id): At<String>,
) -> Result<Json<SandboxBody>, ApiError> {
    Ok(Json(shown(owned(&app, &caller, &id, false).await?)))
}

/// End a sandbox
///
/// One that has ended already is no mistake.
#[utoipa::path(delete, path = "/v1/sandboxes/{id}", tag = "sandboxes", params(("id" = String, Path, description = "The sandbox's id")),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn remove(State(app): State<App>, caller: Caller, At(id): At<String>) -> Result<StatusCode, ApiError> {
    let sandbox = owned(&app, &caller, &id, true).await?;
    if app.store.unwant_sandbox(&id, app.clock.now()).await?
        && sandbox.worker.is_some()
        && let Err(refusal) = asking::forward(&app, &sandbox, Ask::Destroy { sandbox: id.clone() }).await
    {
        // Its worker hears of it at its next heartbeat.
        tracing::warn!("sandbox {id} was not ended at once: {}", refusal.message());
    }
    Ok(StatusCode::NO_CONTENT)
}

/// A sandbox that the caller may use: its owner, or who has its token.
async fn owned(app: &App, caller: &Caller, id: &str, writes: bool) -> Result<Sandbox, ApiError> {
    caller.of_sandbox(id, writes)?;
    let missing = || ApiError::not_found(format!("there is no sandbox `{}`", untrusted::line(id, 100)));
    let sandbox = app.store.sandbox(id).await?.ok_or_else(missing)?;
    caller.owns(&sandbox.new.owner, "this sandbox")?;
    Ok(sandbox)
}
