//! Keys of the API, for who has the scope `admin`.

use axum::Json;
use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::{ApiKey, Ids, NewKey, Scope};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::specs::OwnerQuery;
use crate::app::App;
use crate::auth::{Admin, KEY_PREFIX, hash, require_owner};
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, JsonBody, QueryParams};

/// The number of random bytes of a key.
const BYTES: usize = 32;
/// The length of a key's id in hex digits.
const LETTERS: usize = 12;
/// The length limit of a name in characters.
const MOST_NAME: usize = 200;

/// A key that is to be made.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct NewKeyBody {
    /// Whose things it sees: letters, digits, `.`, `_` and `-`.
    #[schema(min_length = 1, max_length = 64)]
    owner: String,
    /// Its permissions.
    scope: KeyScope,
    /// Its name, for people.
    #[schema(max_length = 200)]
    name: Option<String>,
}

/// The permissions of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum KeyScope {
    /// Everything, of all owners.
    Admin,
    /// Reading and changing what its owner has.
    Submit,
    /// Reading what its owner has.
    Read,
}

/// A key, without its text.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KeyBody {
    /// Its id.
    id: String,
    /// Whose things it sees.
    owner: String,
    /// Its name, for people.
    name: String,
    /// `admin`, `submit` or `read`.
    scope: &'static str,
    /// When it was made.
    #[schema(format = DateTime)]
    created_at: String,
    /// When it was used last, to the minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    last_used_at: Option<String>,
    /// Since when it allows nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(format = DateTime)]
    revoked_at: Option<String>,
}

/// A key that was just made.
#[derive(Serialize, ToSchema)]
pub(crate) struct MadeKeyBody {
    /// Its id.
    id: String,
    /// Its text, which is shown this once.
    #[schema(example = "ts_live_…")]
    key: String,
    /// Whose things it sees.
    owner: String,
    /// Its name, for people.
    name: String,
    /// `admin`, `submit` or `read`.
    scope: &'static str,
    /// When it was made.
    #[schema(format = DateTime)]
    created_at: String,
}

/// The routes.
pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(create, list)).routes(routes!(revoke))
}

/// A new key: its text.
pub(crate) fn key_text(ids: &dyn Ids) -> String {
    let mut bytes = [0; BYTES];
    ids.random(&mut bytes);
    format!("{KEY_PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
}

/// Make a key
#[utoipa::path(post, path = "/v1/keys", tag = "keys", request_body = NewKeyBody,
    responses((status = 201, body = MadeKeyBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 413, body = ErrorBody)))]
pub(crate) async fn create(
    State(app): State<App>,
    Admin(_caller): Admin,
    JsonBody(body): JsonBody<NewKeyBody>,
) -> Result<(StatusCode, Json<MadeKeyBody>), ApiError> {
    require_owner(&body.owner)?;
    let name = body.name.unwrap_or_default();
    if name.chars().count() > MOST_NAME {
        return Err(ApiError::invalid(format!("`name` has more than {MOST_NAME} characters")));
    }
    let (id, key, now) = (format!("key_{}", app.ids.hex(LETTERS)), key_text(app.ids.as_ref()), app.clock.now());
    let scope = body.scope.scope();
    let new = NewKey {
        id: id.clone(),
        owner: body.owner.clone(),
        name: name.clone(),
        scope,
        hash: hash(&key),
        sandbox: None,
    };
    app.store.create_key(&new, now).await?;
    let made = MadeKeyBody { id, key, owner: body.owner, name, scope: scope.word(), created_at: now.to_string() };
    Ok((StatusCode::CREATED, Json(made)))
}

/// All keys, also those that were revoked
#[utoipa::path(get, path = "/v1/keys", tag = "keys", params(OwnerQuery),
    responses((status = 200, body = Vec<KeyBody>), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody)))]
pub(crate) async fn list(
    State(app): State<App>,
    Admin(_caller): Admin,
    QueryParams(query): QueryParams<OwnerQuery>,
) -> Result<Json<Vec<KeyBody>>, ApiError> {
    let keys = app.store.keys(query.owner.as_deref()).await?;
    Ok(Json(keys.into_iter().map(shown).collect()))
}

/// Revoke a key
///
/// Other servers on the same database refuse it within seconds.
#[utoipa::path(delete, path = "/v1/keys/{id}", tag = "keys", params(("id" = String, Path, description = "The key's id")),
    responses((status = 204), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
        (status = 404, body = ErrorBody)))]
pub(crate) async fn revoke(
    State(app): State<App>,
    Admin(_caller): Admin,
    At(id): At<String>,
) -> Result<StatusCode, ApiError> {
    let revoked = app.store.revoke_key(&id, app.clock.now()).await?;
    app.keys.forget();
    if revoked {
        return Ok(StatusCode::NO_CONTENT);
    }
    let id = scenario::untrusted::line(&id, 100);
    Err(ApiError::not_found(format!("there is no key `{id}`, or it was revoked before")))
}

impl KeyScope {
    fn scope(self) -> Scope {
        match self {
            Self::Admin => Scope::Admin,
            Self::Submit => Scope::Submit,
            Self::Read => Scope::Read,
        }
    }
}

fn shown(key: ApiKey) -> KeyBody {
    KeyBody {
        id: key.id,
        owner: key.owner,
        name: key.name,
        scope: key.scope.word(),
        created_at: key.created_at.to_string(),
        last_used_at: key.last_used_at.map(|at| at.to_string()),
        revoked_at: key.revoked_at.map(|at| at.to_string()),
    }
}
