//! Takes a snapshot of an agent.
//!
//! The archive goes to a file of its own while it comes in; nothing of it is in memory. Its digest is computed, it is looked
//! at, and only then it is kept.

use std::io::Seek as _;

use axum::Json;
use axum::body::Body;
use axum::extract::multipart::{Field, MultipartError};
use axum::extract::{FromRequest as _, Multipart, Request, State};
use http::StatusCode;
use http_body_util::{LengthLimitError, Limited};
use scenario::hex;
use scenario::untrusted;
use sha2::{Digest as _, Sha256};
use store::{NewSnapshot, bundle_key};
use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use super::archive::{self, ArchiveError};
use super::body::{Auth, SnapshotBody, SnapshotMetadata, shown};
use crate::app::App;
use crate::auth::Submitter;
use crate::error::{ApiError, ErrorBody};
use crate::{extract, fields};

/// The size limit of `metadata` in bytes.
const METADATA: usize = 256 * 1024;
/// The most words of an agent's command line, and the most characters of each.
const ENTRYPOINT: (usize, usize) = (100, 4096);
/// The most entries of `auth`, and the most characters of each.
const AUTH: (usize, usize) = (100, 64 * 1024);
/// Timeout of a whole upload.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10 * 60);

/// The parts of an upload.
#[derive(Debug, utoipa::ToSchema)]
#[expect(dead_code, reason = "describes the parts of a form")]
pub(crate) struct UploadForm {
    /// Its metadata, as JSON.
    metadata: SnapshotMetadata,
    /// The archive: tar, packed with gzip.
    #[schema(value_type = String, format = Binary)]
    bundle: Vec<u8>,
}

/// An archive that came in.
#[derive(Debug)]
struct Bundle {
    file: NamedTempFile,
    size: u64,
    digest: String,
}

/// Upload a snapshot of an agent
///
/// The same name again makes its next version.
#[utoipa::path(post, path = "/v1/agents", tag = "agents",
    request_body(content_type = "multipart/form-data", content = UploadForm),
    responses((status = 201, body = SnapshotBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 408, body = ErrorBody), (status = 413, body = ErrorBody),
        (status = 415, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn upload(
    State(app): State<App>,
    Submitter(caller): Submitter,
    request: Request,
) -> Result<(StatusCode, Json<SnapshotBody>), ApiError> {
    extract::require_media(request.headers(), &["multipart/form-data"])?;
    let _room = app.upload_place(&caller)?;
    let parts = timeout(PATIENCE, receive(&app, request)).await.map_err(|_| ApiError::too_slow())??;
    let (metadata, bundle) = parts;
    let mut new = read(&app, caller.owner, metadata)?;
    let bundle = check(bundle).await?;
    (new.digest, new.size) = (bundle.digest, bundle.size);
    let key = bundle_key(&new.digest);
    if app.store.artifacts().size(&key).await? != Some(new.size) {
        app.store.keep_artifact(&key, bundle.file.path()).await?;
    }
    let snapshot = app.store.add_snapshot(&new, app.clock.now()).await?;
    Ok((StatusCode::CREATED, Json(shown(snapshot))))
}

/// Both parts of the form.
async fn receive(app: &App, request: Request) -> Result<(SnapshotMetadata, Bundle), ApiError> {
    let most = app.config.upload_bytes;
    let request = request.map(|body| Body::new(Limited::new(body, most + METADATA)));
    let mut form = Multipart::from_request(request, &()).await.map_err(|error| ApiError::invalid(error.body_text()))?;
    let (mut metadata, mut bundle) = (None, None);
    while let Some(field) = form.next_field().await.map_err(broken)? {
        match field.name() {
            Some("metadata") if metadata.is_none() => metadata = Some(extract::json(&text(field).await?)?),
            Some("bundle") if bundle.is_none() => bundle = Some(save(field, most).await?),
            name => {
                let name = untrusted::line(name.unwrap_or_default(), 100);
                return Err(ApiError::invalid(format!(
                    "the part `{name}` is not expected: send one `metadata` and one `bundle`"
                )));
            }
        }
    }
    let missing = |part: &str| ApiError::invalid(format!("the part `{part}` is missing"));
    Ok((metadata.ok_or_else(|| missing("metadata"))?, bundle.ok_or_else(|| missing("bundle"))?))
}

/// The bytes of a small part.
async fn text(mut field: Field<'_>) -> Result<Vec<u8>, ApiError> {
    let mut text = Vec::new();
    while let Some(chunk) = field.chunk().await.map_err(broken)? {
        if text.len() + chunk.len() > METADATA {
            return Err(ApiError::too_large(format!("`metadata` has more than {METADATA} bytes")));
        }
        text.extend_from_slice(&chunk);
    }
    Ok(text)
}

/// Writes the archive to a file of its own.
async fn save(mut field: Field<'_>, most: usize) -> Result<Bundle, ApiError> {
    let failed = |error: std::io::Error| {
        tracing::error!(%error, "an upload could not be written down");
        ApiError::busy("the upload could not be written down; the server's log says why")
    };
    let file = tokio::task::spawn_blocking(NamedTempFile::new).await;
    let file = file.map_err(|error| ApiError::internal(error.to_string()))?.map_err(failed)?;
    let mut writer = tokio::fs::File::from_std(file.reopen().map_err(failed)?);
    let (mut hash, mut size) = (Sha256::new(), 0_usize);
    while let Some(chunk) = field.chunk().await.map_err(broken)? {
        size += chunk.len();
        if size > most {
            return Err(too_large(most));
        }
        hash.update(&chunk);
        writer.write_all(&chunk).await.map_err(failed)?;
    }
    writer.flush().await.map_err(failed)?;
    let hex = hex(hash.finalize());
    Ok(Bundle { file, size: size as u64, digest: format!("sha256:{hex}") })
}

/// Looks at the archive in a thread of its own, so that nobody else waits.
async fn check(mut bundle: Bundle) -> Result<Bundle, ApiError> {
    let checked = tokio::task::spawn_blocking(move || {
        let rewound = bundle.file.rewind().map_err(ArchiveError::Rewind);
        rewound.and_then(|()| archive::check(bundle.file.as_file(), archive::UNPACKED)).map(|()| bundle)
    });
    let checked = checked.await.map_err(|error| ApiError::internal(error.to_string()))?;
    checked.map_err(|error| ApiError::invalid(format!("`bundle` cannot be used: {error}")))
}

/// Checks the metadata of an archive.
fn read(app: &App, owner: String, metadata: SnapshotMetadata) -> Result<NewSnapshot, ApiError> {
    fields::word(&metadata.name, "name")?;
    let tag = metadata.tag.unwrap_or_default();
    if !tag.is_empty() {
        fields::word(&tag, "tag")?;
    }
    let (words, characters) = ENTRYPOINT;
    let is_word = |word: &String| !word.contains('\0') && word.chars().nth(characters).is_none();
    let entrypoint = metadata.entrypoint;
    let begins = entrypoint.first().is_some_and(|first| !first.trim().is_empty());
    if !begins || entrypoint.len() > words || !entrypoint.iter().all(is_word) {
        return Err(ApiError::invalid(format!(
            "`entrypoint` must be a command line such as [\"python3\", \"agent.py\"], of at most {words} words"
        )));
    }
    let auth = metadata.auth.unwrap_or_default();
    require_auth(&auth)?;
    Ok(NewSnapshot {
        id: format!("snap_{}", app.ids.hex(24)),
        owner,
        name: metadata.name,
        tag,
        digest: String::new(),
        size: 0,
        runtime: fields::text(metadata.runtime.unwrap_or_default(), "runtime", 100)?,
        entrypoint,
        auth: serde_json::to_value(auth).unwrap_or_default(),
    })
}

fn require_auth(auth: &Auth) -> Result<(), ApiError> {
    let (things, characters) = AUTH;
    let texts = auth
        .required_env
        .iter()
        .chain(auth.config_files.iter().flat_map(|file| [&file.path, &file.template]))
        .chain(auth.egress.iter().flat_map(|(name, hosts)| std::iter::once(name).chain(hosts)));
    let (mut number, mut is_right) = (0, true);
    for text in texts {
        number += 1;
        is_right &= text.len() <= characters && !text.contains('\0');
    }
    if is_right && number <= things {
        return Ok(());
    }
    Err(ApiError::invalid(format!(
        "`auth` may name {things} things, each of at most {characters} bytes and without NUL"
    )))
}

fn too_large(most: usize) -> ApiError {
    ApiError::too_large(format!("`bundle` has more than {most} bytes, which is the most that is taken here"))
}

/// Why a form could not be read to its end.
fn broken(error: MultipartError) -> ApiError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(inner) = cause {
        if inner.is::<LengthLimitError>() {
            return ApiError::too_large("the upload has more bytes than are taken here");
        }
        cause = inner.source();
    }
    ApiError::invalid(format!("the form cannot be read: {}", untrusted::line(&error.body_text(), 300)))
}
