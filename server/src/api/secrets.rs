//! Secrets that are kept here: sealed, and never returned.

use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::specs::OwnerQuery;
use crate::app::App;
use crate::auth::{Reader, Submitter};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, JsonBody, QueryParams};
use crate::submission::{require_value, seal};

/// The length limit of a secret's name.
const MOST_NAME: usize = 128;

/// The value of a secret.
#[derive(Deserialize, ToSchema)]
pub(crate) struct SecretBody {
    /// The value: at least 4 characters.
    #[schema(min_length = 4)]
    value: String,
}

impl std::fmt::Debug for SecretBody {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SecretBody")
    }
}

/// A secret, without its value.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NameBody {
    /// Its name.
    name: String,
}

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(put, remove))
}

/// The names of all secrets
#[utoipa::path(get, path = "/v1/secrets", tag = "secrets", params(OwnerQuery),
    responses((status = 200, body = Vec<NameBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody)))]
pub(crate) async fn list(
    State(app): State<App>,
    Reader(caller): Reader,
    QueryParams(query): QueryParams<OwnerQuery>,
) -> Result<Json<Vec<NameBody>>, ApiError> {
    let owner = caller.acts_for(query.owner.as_deref())?;
    let names = app.store.secret_names(&owner).await?;
    Ok(Json(names.into_iter().map(|name| NameBody { name }).collect()))
}

/// Keep a secret
///
/// Specs that name it get its value, unless one comes with the submission. A value that is there is replaced.
#[utoipa::path(put, path = "/v1/secrets/{name}", tag = "secrets", request_body = SecretBody,
    params(("name" = String, Path, description = "Its name: capital letters, digits and `_`"), OwnerQuery),
    responses((status = 200, body = NameBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 413, body = ErrorBody)))]
pub(crate) async fn put(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(name): At<String>,
    QueryParams(query): QueryParams<OwnerQuery>,
    JsonBody(body): JsonBody<SecretBody>,
) -> Result<Json<NameBody>, ApiError> {
    let owner = caller.acts_for(query.owner.as_deref())?;
    require_name(&name)?;
    require_value(&name, &body.value)?;
    let sealed = seal(&app, body.value.as_bytes(), &format!("{owner}/{name}"))?;
    app.store.put_secret(&owner, &name, &sealed).await?;
    Ok(Json(NameBody { name }))
}

/// Remove a secret
#[utoipa::path(delete, path = "/v1/secrets/{name}", tag = "secrets",
    params(("name" = String, Path, description = "Its name"), OwnerQuery),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub(crate) async fn remove(
    State(app): State<App>,
    Submitter(caller): Submitter,
    At(name): At<String>,
    QueryParams(query): QueryParams<OwnerQuery>,
) -> Result<StatusCode, ApiError> {
    let owner = caller.acts_for(query.owner.as_deref())?;
    match app.store.remove_secret(&owner, &name).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => {
            let name = scenario::untrusted::line(&name, 100);
            Err(ApiError::not_found(format!("there is no secret `{name}`")))
        }
    }
}

/// Refuses a name that no spec could use.
fn require_name(name: &str) -> Result<(), ApiError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let begins = name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    if begins && name.len() <= MOST_NAME && name.bytes().all(is_plain) {
        return Ok(());
    }
    Err(ApiError::invalid(format!(
        "the name of a secret has 1 to {MOST_NAME} letters, digits and `_`, and no digit first"
    )))
}
