//! The fields of the form.

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest as _, Multipart, Request};
use http_body_util::Limited;

use crate::app::App;
use crate::error::ApiError;
use crate::extract::require_media;
use crate::submission::Given;

/// The size limit of all other fields of the form in bytes.
const FIELDS: usize = 2 << 20;
/// The prefix of a secret's field.
pub(super) const SECRET: &str = "secret:";

/// The fields of the form.
#[derive(Debug, Default)]
pub(super) struct SubmitForm {
    /// That it is one of ours.
    pub(super) token: String,
    /// The text of the spec.
    pub(super) text: String,
    /// A file instead of the text.
    pub(super) file: Option<Bytes>,
    /// The experiment's name.
    pub(super) name: String,
    /// The number of replicas per cell.
    pub(super) replicas: String,
    /// Values of secrets, which are never shown again.
    pub(super) secrets: Given,
    /// True to run it, not only to check it.
    pub(super) run: bool,
}

/// Reads the form.
pub(super) async fn receive(app: &App, request: Request) -> Result<SubmitForm, ApiError> {
    require_media(request.headers(), &["multipart/form-data"])?;
    let most = app.config.upload_bytes + FIELDS;
    let request = request.map(|body| Body::new(Limited::new(body, most)));
    let broken = |error: axum::extract::multipart::MultipartError| ApiError::invalid(error.body_text());
    let mut parts =
        Multipart::from_request(request, &()).await.map_err(|error| ApiError::invalid(error.body_text()))?;
    let (mut form, mut secrets) = (SubmitForm::default(), Vec::new());
    while let Some(field) = parts.next_field().await.map_err(broken)? {
        let name = field.name().unwrap_or_default().to_owned();
        let bytes = field.bytes().await.map_err(broken)?;
        if name == "file" {
            form.file = Some(bytes);
            continue;
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match (name.as_str(), name.strip_prefix(SECRET)) {
            ("token", _) => form.token = text,
            // Browsers send every end of a line as two characters.
            ("spec", _) => form.text = text.replace("\r\n", "\n"),
            ("name", _) => form.name = text,
            ("replicas", _) => form.replicas = text,
            ("do", _) => form.run = text == "run",
            // A field that was left empty gives nothing.
            (_, Some(secret)) if !text.is_empty() => secrets.push((secret.to_owned(), text)),
            _ => {}
        }
    }
    form.secrets = secrets.into_iter().collect();
    Ok(form)
}
