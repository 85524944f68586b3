//! Finds snapshots.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use scenario::untrusted;
use serde::Serialize;
use store::{Snapshot, Which};
use utoipa::ToSchema;

use super::body::{SnapshotBody, shown};
use crate::api::specs::OwnerQuery;
use crate::app::App;
use crate::auth::{Caller, Reader, Submitter};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, QueryParams};
use crate::page::{Envelope, PageQuery};

/// Agents, under both names that clients look for.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AgentsBody {
    /// The newest version of each agent.
    items: Vec<SnapshotBody>,
    /// The same.
    agents: Vec<SnapshotBody>,
    /// The cursor of the next part; empty when this is the last.
    next_cursor: String,
    /// The number of items on this page.
    count: usize,
}

/// The newest version of every agent
#[utoipa::path(get, path = "/v1/agents", tag = "agents", params(PageQuery, OwnerQuery),
    responses((status = 200, body = AgentsBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody)))]
pub(crate) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    QueryParams(page): QueryParams<PageQuery>,
    QueryParams(query): QueryParams<OwnerQuery>,
) -> Result<Json<AgentsBody>, ApiError> {
    let owner = caller.looks_at(query.owner.as_deref())?;
    let listed = app.store.snapshots(owner.as_deref(), page.page()).await?;
    let Envelope { items, next_cursor, count } = Envelope::of(listed, shown);
    Ok(Json(AgentsBody { agents: items.clone(), items, next_cursor, count }))
}

/// The newest version of an agent
#[utoipa::path(get, path = "/v1/agents/{name}/latest", tag = "agents",
    params(("name" = String, Path, description = "The agent's name"), OwnerQuery),
    responses((status = 200, body = SnapshotBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn latest(
    State(app): State<App>,
    Reader(caller): Reader,
    At(name): At<String>,
    QueryParams(query): QueryParams<OwnerQuery>,
) -> Result<Json<SnapshotBody>, ApiError> {
    find(&app, &caller, &query, &name, Which::Latest).await.map(Json)
}

/// A version of an agent
#[utoipa::path(get, path = "/v1/agents/{name}/versions/{version}", tag = "agents",
    params(("name" = String, Path, description = "The agent's name"), ("version" = u32, Path, description = "Which upload of it, from 1"), OwnerQuery),
    responses((status = 200, body = SnapshotBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn version(
    State(app): State<App>,
    Reader(caller): Reader,
    At((name, version)): At<(String, u32)>,
    QueryParams(query): QueryParams<OwnerQuery>,
) -> Result<Json<SnapshotBody>, ApiError> {
    find(&app, &caller, &query, &name, Which::Version(version)).await.map(Json)
}

/// The newest version of an agent with a tag
#[utoipa::path(get, path = "/v1/agents/{name}/tags/{tag}", tag = "agents",
    params(("name" = String, Path, description = "The agent's name"), ("tag" = String, Path, description = "The tag"), OwnerQuery),
    responses((status = 200, body = SnapshotBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn tag(
    State(app): State<App>,
    Reader(caller): Reader,
    At((name, tag)): At<(String, String)>,
    QueryParams(query): QueryParams<OwnerQuery>,
) -> Result<Json<SnapshotBody>, ApiError> {
    find(&app, &caller, &query, &name, Which::Tag(&tag)).await.map(Json)
}

/// All versions of an agent, newest first
#[utoipa::path(get, path = "/v1/agents/{name}/versions", tag = "agents",
    params(("name" = String, Path, description = "The agent's name"), PageQuery, OwnerQuery),
    responses((status = 200, body = Envelope<SnapshotBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody)))]
pub(crate) async fn versions(
    State(app): State<App>,
    Reader(caller): Reader,
    At(name): At<String>,
    QueryParams(page): QueryParams<PageQuery>,
    QueryParams(query): QueryParams<OwnerQuery>,
) -> Result<Json<Envelope<SnapshotBody>>, ApiError> {
    let owner = caller.acts_for(query.owner.as_deref())?;
    let listed = app.store.snapshot_versions(&owner, &name, page.page()).await?;
    Ok(Json(Envelope::of(listed, shown)))
}

/// A snapshot
#[utoipa::path(get, path = "/v1/snapshots/{id}", tag = "agents", params(("id" = String, Path, description = "The snapshot's id")),
    responses((status = 200, body = SnapshotBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn one(
    State(app): State<App>,
    Reader(caller): Reader,
    At(id): At<String>,
) -> Result<Json<SnapshotBody>, ApiError> {
    Ok(Json(shown(owned(&app, &caller, &id).await?)))
}

/// Remove a snapshot
#[utoipa::path(delete, path = "/v1/snapshots/{id}", tag = "agents", params(("id" = String, Path, description = "The snapshot's id")),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn remove(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
) -> Result<StatusCode, ApiError> {
    owned(&app, &caller, &id).await?;
    app.store.remove_snapshot(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn owned(app: &App, caller: &Caller, id: &str) -> Result<Snapshot, ApiError> {
    let missing = || ApiError::not_found(format!("there is no snapshot `{}`", untrusted::line(id, 100)));
    let snapshot = app.store.snapshot(id).await?.ok_or_else(missing)?;
    caller.owns(&snapshot.new.owner, "this snapshot")?;
    Ok(snapshot)
}

async fn find(
    app: &App,
    caller: &Caller,
    query: &OwnerQuery,
    name: &str,
    which: Which<'_>,
) -> Result<SnapshotBody, ApiError> {
    let owner = caller.acts_for(query.owner.as_deref())?;
    let missing = || {
        let name = untrusted::line(name, 100);
        let what = match which {
            Which::Latest => String::new(),
            Which::Version(version) => format!(" with the version {version}"),
            Which::Tag(tag) => format!(" with the tag `{}`", untrusted::line(tag, 100)),
        };
        ApiError::not_found(format!("there is no agent `{name}`{what}; upload it with POST /v1/agents"))
    };
    app.store.find_snapshot(&owner, name, which).await?.map(shown).ok_or_else(missing)
}
