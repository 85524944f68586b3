//! Extractors: bodies within limits, and queries, with errors that say where the problem is.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::error::ApiError;

/// Timeout of receiving a body.
const PATIENCE: Duration = Duration::from_secs(60);

/// A JSON body, whatever its content type says. An empty body is an empty object, because clients send none where
/// nothing must be said.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

/// The same, to be read by the handler: with [`json`], once for each part of which it is made. `flatten` of serde
/// cannot say where something is wrong.
#[derive(Debug)]
pub(crate) struct JsonText(pub(crate) Bytes);

/// The parameters of a query.
#[derive(Debug)]
pub(crate) struct QueryParams<T>(pub(crate) T);

/// The parts of a path.
#[derive(Debug)]
pub(crate) struct At<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<App> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let JsonText(bytes) = JsonText::from_request(request, app).await?;
        json(&bytes).map(Self)
    }
}

impl FromRequest<App> for JsonText {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let bytes = read(request.into_body(), app.config.body_bytes).await?;
        let is_empty = bytes.iter().all(u8::is_ascii_whitespace);
        Ok(Self(if is_empty { Bytes::from_static(b"{}") } else { bytes }))
    }
}

impl<T: DeserializeOwned> FromRequestParts<App> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let query = Query::<T>::from_request_parts(parts, app).await;
        query
            .map(|Query(query)| Self(query))
            .map_err(|error| ApiError::invalid(format!("the query: {}", error.body_text())))
    }
}

impl<T: DeserializeOwned + Send> FromRequestParts<App> for At<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let path = Path::<T>::from_request_parts(parts, app).await;
        path.map(|Path(path)| Self(path)).map_err(|error| ApiError::invalid(format!("the path: {}", error.body_text())))
    }
}

/// Reads JSON, or says where it is wrong.
pub(crate) fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let place = error.path().to_string();
        let cause = error.into_inner();
        match place.as_str() {
            "." | "" => ApiError::invalid(format!("the body is not as expected: {cause}")),
            place => ApiError::invalid(format!("`{place}` is not as expected: {cause}")),
        }
    })?;
    reader.end().map_err(|error| ApiError::invalid(format!("the body is not as expected: {error}")))?;
    Ok(value)
}

/// Reads a whole body of at most so many bytes. Who sends it too slowly is refused, because everybody else waits.
pub(crate) async fn read(body: Body, most: usize) -> Result<Bytes, ApiError> {
    let collected = tokio::time::timeout(PATIENCE, Limited::new(body, most).collect()).await;
    match collected.map_err(|_| ApiError::too_slow())? {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(ApiError::too_large(format!(
            "the body has more than {most} bytes, which is the most that is read here"
        ))),
        Err(error) => Err(ApiError::invalid(format!("the body broke off: {error}"))),
    }
}

/// The kind of a body, in lower case and without parameters; empty when the request does not say.
pub(crate) fn media_type(headers: &http::HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Refuses a body that says to be of none of these kinds. One that does not say is looked at.
pub(crate) fn require_media(headers: &http::HeaderMap, kinds: &[&str]) -> Result<(), ApiError> {
    match media_type(headers) {
        kind if kind.is_empty() || kinds.contains(&kind.as_str()) => Ok(()),
        kind => {
            let kind = scenario::untrusted::line(&kind, 100);
            Err(ApiError::unsupported_media(format!("`{kind}` is not read here; send {}", kinds.join(", "))))
        }
    }
}
