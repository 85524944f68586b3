//! Specs: upload, list, read, remove.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use store::StoredSpecVersion;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::{Reader, Submitter};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, QueryParams, require_media};
use crate::page::{Listing, PageQuery};
use crate::submission::{ReadSpec, bundle_of, read_spec, receive};

/// The kinds of bodies that may be a spec, or an archive with one.
pub(crate) const KINDS: [&str; 12] = [
    "application/x-yaml",
    "application/yaml",
    "text/yaml",
    "text/x-yaml",
    "text/plain",
    "application/json",
    "application/octet-stream",
    "application/x-tar",
    "application/gzip",
    "application/x-gzip",
    "application/x-gtar",
    "application/x-tgz",
];

/// A spec that is kept. Its own sections stand beside these, as they were read.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SpecBody {
    /// The spec's id.
    id: String,
    /// Its id, again.
    name: String,
    /// Which upload of this id it is, from 1. The same content again is the same version.
    version: u32,
    /// Its description.
    description: String,
    /// The text as it was uploaded.
    content: String,
    /// The digest of the content.
    digest: String,
    /// Whose it is.
    owner: String,
    /// When this version was uploaded.
    #[schema(format = DateTime)]
    created_at: String,
    /// Warnings about it.
    warnings: Vec<String>,
}

/// The parts that all versions with one digest share.
#[derive(Debug)]
pub(crate) struct ShownSpec {
    sections: Map<String, Value>,
    description: String,
    text: String,
    warnings: Vec<String>,
}

/// Whose specs.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct OwnerQuery {
    /// Whose, for who has the scope `admin`; the key's own owner otherwise.
    pub(crate) owner: Option<String>,
}

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(upload, list)).routes(routes!(one, remove))
}

/// Upload a spec
///
/// YAML (or JSON) as it is, or a tar archive with `spec.yaml` and the files beside it. The same id again makes a new
/// version; the same content again does not.
#[utoipa::path(post, path = "/v1/specs", tag = "specs", params(OwnerQuery),
    request_body(content((String = "application/x-yaml"), (String = "text/yaml"), (Vec<u8> = "application/gzip"))),
    responses((status = 201, body = SpecBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 413, body = ErrorBody), (status = 415, body = ErrorBody)))]
pub(crate) async fn upload(
    State(app): State<App>,
    Submitter(caller): Submitter,
    QueryParams(query): QueryParams<OwnerQuery>,
    headers: HeaderMap,
    body: Body,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let owner = caller.acts_for(query.owner.as_deref())?;
    require_media(&headers, &KINDS)?;
    let upload = receive(&app, &caller, body).await?;
    let ReadSpec { spec, .. } = read_spec(&upload.content.text, upload.bundle.as_ref())?;
    let kept = app.store.keep_spec(&owner, spec.id.as_str(), &upload.content, app.clock.now()).await?;
    let stored = app.store.spec_version(&owner, &kept.spec_id).await?;
    // The version that was kept may be an older one, uploaded again.
    let stored = stored.ok_or_else(|| ApiError::conflict("the spec was removed again meanwhile"))?;
    let stored = StoredSpecVersion { version: kept, ..stored };
    Ok((StatusCode::CREATED, Json(shown(&app, &stored).await?)))
}

/// The newest version of every spec
#[utoipa::path(get, path = "/v1/specs", tag = "specs", params(PageQuery, OwnerQuery),
    responses((status = 200, body = Vec<SpecBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody)))]
pub(crate) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    QueryParams(page): QueryParams<PageQuery>,
    QueryParams(query): QueryParams<OwnerQuery>,
) -> Result<Listing<Value>, ApiError> {
    let owner = caller.looks_at(query.owner.as_deref())?;
    let listed = app.store.spec_versions(owner.as_deref(), page.whole_list()).await?;
    let mut items = Vec::with_capacity(listed.items.len());
    for stored in &listed.items {
        items.push(shown(&app, stored).await?);
    }
    Ok(Listing { items, next: listed.next })
}

/// The newest version of a spec
#[utoipa::path(get, path = "/v1/specs/{id}", tag = "specs", params(("id" = String, Path, description = "The spec's id"), OwnerQuery),
    responses((status = 200, body = SpecBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn one(
    State(app): State<App>,
    Reader(caller): Reader,
    At(id): At<String>,
    QueryParams(query): QueryParams<OwnerQuery>,
) -> Result<Json<Value>, ApiError> {
    let owner = caller.acts_for(query.owner.as_deref())?;
    let stored = app.store.spec_version(&owner, &id).await?.ok_or_else(|| missing(&id))?;
    Ok(Json(shown(&app, &stored).await?))
}

/// Remove all versions of a spec
///
/// Experiments keep what they were submitted with.
#[utoipa::path(delete, path = "/v1/specs/{id}", tag = "specs", params(("id" = String, Path, description = "The spec's id"), OwnerQuery),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn remove(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(id): At<String>,
    QueryParams(query): QueryParams<OwnerQuery>,
) -> Result<StatusCode, ApiError> {
    let owner = caller.acts_for(query.owner.as_deref())?;
    match app.store.remove_spec(&owner, &id).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(missing(&id)),
    }
}

/// That there is no such spec.
pub(crate) fn missing(id: &str) -> ApiError {
    let id = scenario::untrusted::line(id, 100);
    ApiError::not_found(format!("there is no spec `{id}`; upload it with POST /v1/specs"))
}

/// A version as clients see it: what it says, and what is kept about it. `version` is the upload, not the language.
async fn shown(app: &App, stored: &StoredSpecVersion) -> Result<Value, ApiError> {
    let spec = read_shown(app, &stored.version.digest).await?;
    let mut body = spec.sections.clone();
    let own = json!({
        "id": stored.version.spec_id,
        "name": stored.version.spec_id,
        "version": stored.version.version,
        "description": spec.description,
        "content": spec.text,
        "digest": stored.version.digest,
        "owner": stored.owner,
        "created_at": stored.created_at.to_string(),
        "warnings": spec.warnings,
    });
    if let Value::Object(own) = own {
        body.extend(own);
    }
    Ok(Value::Object(body))
}

async fn read_shown(app: &App, digest: &str) -> Result<Arc<ShownSpec>, ApiError> {
    let digest = digest.to_owned();
    if let Some(known) = app.specs.get(&digest) {
        return Ok(known);
    }
    let content = app.store.spec(&digest).await?;
    let shown = Arc::new(show(content));
    let bytes = 4 * shown.text.len() + 1024;
    app.specs.put(digest, Arc::clone(&shown), bytes);
    Ok(shown)
}

/// Shows a spec. One that this version cannot read any more is shown without its sections.
fn show(content: store::SpecContent) -> ShownSpec {
    let bundle = bundle_of(&content);
    match read_spec(&content.text, bundle.as_ref()) {
        Ok(ReadSpec { spec, warnings }) => {
            let sections = match serde_json::to_value(&spec) {
                Ok(Value::Object(sections)) => sections,
                _ => Map::new(),
            };
            ShownSpec { description: spec.description.clone(), sections, text: content.text, warnings }
        }
        Err(error) => ShownSpec {
            sections: Map::new(),
            description: String::new(),
            warnings: vec![format!("this version cannot read it any more: {}", error.message())],
            text: content.text,
        },
    }
}
