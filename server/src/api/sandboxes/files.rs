//! Files of a sandbox: write, read, remove.
//!
//! Clients write an absolute path as it is behind `files/`, so that it begins with a second slash: `files//tmp/x`.

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::StatusCode;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use scenario::interactive::{Ask, FileBytes, MOST_FILE_BYTES, Reply};
use serde::Deserialize;
use utoipa::ToSchema;

use super::asking::{ask, misunderstood};
use super::owned;
use super::path::require_path;
use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::extract::{self, At};

/// The size limit of a body in bytes: a file, and what JSON adds to it.
const MOST_BODY: usize = MOST_FILE_BYTES + MOST_FILE_BYTES / 2;

/// A file that is to be written.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct FileRequest {
    /// Where: below the workspace, or anywhere when it is absolute.
    #[schema(example = "notes/a.txt")]
    path: String,
    /// The content.
    content: String,
    /// The encoding of `content`: `utf-8` by default, or `base64`.
    #[serde(default)]
    encoding: Option<String>,
}

/// Write a file in a sandbox, with the folders that lead to it
#[utoipa::path(post, path = "/v1/sandboxes/{id}/files", tag = "sandboxes", request_body = FileRequest,
    params(("id" = String, Path, description = "The sandbox's id")),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 408, body = ErrorBody),
        (status = 409, body = ErrorBody), (status = 413, body = ErrorBody), (status = 502, body = ErrorBody),
        (status = 503, body = ErrorBody)))]
pub(crate) async fn write(
    State(app): State<App>,
    caller: Caller,
    At(id): At<String>,
    body: Body,
) -> Result<StatusCode, ApiError> {
    let sandbox = owned(&app, &caller, &id, true).await?;
    let _room = app.upload_place(&caller)?;
    let request: FileRequest = extract::json(&extract::read(body, MOST_BODY).await?)?;
    require_path(&request.path)?;
    let content = match request.encoding.as_deref().unwrap_or("utf-8") {
        "utf-8" => request.content.into_bytes(),
        "base64" => BASE64_STANDARD
            .decode(&request.content)
            .map_err(|error| ApiError::invalid(format!("`content` is no base64: {error}")))?,
        _ => return Err(ApiError::invalid("`encoding` must be `utf-8` or `base64`")),
    };
    if content.len() > MOST_FILE_BYTES {
        return Err(ApiError::too_large(format!("a file may have {MOST_FILE_BYTES} bytes here")));
    }
    let write = Ask::Write { sandbox: id, path: request.path, content: FileBytes(content) };
    match ask(&app, &sandbox, write).await? {
        Reply::Done => Ok(StatusCode::NO_CONTENT),
        _ => Err(misunderstood()),
    }
}

/// Read a file of a sandbox
///
/// An absolute path stands behind `files/` as it is: `files//tmp/x`.
#[utoipa::path(get, path = "/v1/sandboxes/{id}/files/{*path}", tag = "sandboxes",
    params(("id" = String, Path, description = "The sandbox's id"), ("path" = String, Path, description = "The file's path")),
    responses((status = 200, content_type = "application/octet-stream", body = Vec<u8>), (status = 400, body = ErrorBody),
        (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 404, body = ErrorBody),
        (status = 408, body = ErrorBody), (status = 409, body = ErrorBody), (status = 413, body = ErrorBody),
        (status = 502, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn read(
    State(app): State<App>,
    caller: Caller,
    At((id, path)): At<(String, String)>,
) -> Result<Response, ApiError> {
    let sandbox = owned(&app, &caller, &id, false).await?;
    require_path(&path)?;
    match ask(&app, &sandbox, Ask::Read { sandbox: id, path }).await? {
        Reply::File(FileBytes(bytes)) => Ok(raw(bytes)),
        _ => Err(misunderstood()),
    }
}

/// Remove a file of a sandbox, or a folder with all that is in it
#[utoipa::path(delete, path = "/v1/sandboxes/{id}/files/{*path}", tag = "sandboxes",
    params(("id" = String, Path, description = "The sandbox's id"), ("path" = String, Path, description = "The file's path")),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 408, body = ErrorBody),
        (status = 409, body = ErrorBody), (status = 502, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn remove(
    State(app): State<App>,
    caller: Caller,
    At((id, path)): At<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let sandbox = owned(&app, &caller, &id, true).await?;
    require_path(&path)?;
    match ask(&app, &sandbox, Ask::Remove { sandbox: id, path }).await? {
        Reply::Done => Ok(StatusCode::NO_CONTENT),
        _ => Err(misunderstood()),
    }
}

/// Bytes that somebody else wrote: no browser is to take them for a page of ours.
fn raw(bytes: Vec<u8>) -> Response {
    let headers = [
        (CONTENT_TYPE, "application/octet-stream"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CONTENT_DISPOSITION, "attachment"),
        (CACHE_CONTROL, "no-store"),
    ];
    (headers, bytes).into_response()
}
