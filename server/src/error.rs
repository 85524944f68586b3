//! Errors of requests: a status, a text for people, and a code for programs.
//!
//! Handlers return `Result<_, ApiError>`. What is the caller's doing says what, where and what next. What is ours is
//! logged and answered without its details.

use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::RETRY_AFTER;
use listener::Full;
use scenario::interactive::{Refusal, RefusalKind};
use serde::Serialize;
use store::StoreError;
use utoipa::ToSchema;

/// The word for a database that does not answer.
const UNAVAILABLE: &str = "unavailable";

/// Why a request was refused.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    /// In how many seconds it may go better.
    retry_after: Option<u64>,
    /// Findings about a spec.
    findings: Vec<Finding>,
}

/// The body of a refusal. The text stands twice, because clients look for it in different places.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    /// The error message, for people.
    error: String,
    /// The same.
    message: String,
    /// The error code, for programs.
    #[schema(example = "not_found")]
    code: String,
    /// Findings about a spec, when they are the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    findings: Vec<Finding>,
}

/// One thing that is wrong with a spec.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Finding {
    /// The stable name of this kind of finding.
    pub(crate) code: String,
    /// `error` or `warning`.
    pub(crate) severity: String,
    /// The error message.
    pub(crate) message: String,
    /// Where in the spec; empty for the spec as a whole.
    pub(crate) path: String,
    /// The line in its text, from 1.
    pub(crate) line: usize,
    /// The column in that line, from 1.
    pub(crate) column: usize,
    /// Advice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) help: Option<String>,
}

/// The content of an error, kept beside its JSON so that it can be shown as a page.
#[derive(Debug, Clone)]
pub(crate) struct Refused {
    /// The error message.
    pub(crate) message: String,
    /// Findings about a spec, when they are the reason.
    pub(crate) findings: Vec<Finding>,
}

impl ApiError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), retry_after: None, findings: Vec::new() }
    }

    /// The request cannot be understood, or says something impossible.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", message)
    }

    /// A spec is not valid.
    pub(crate) fn invalid_spec(message: impl Into<String>, findings: Vec<Finding>) -> Self {
        Self { findings, ..Self::new(StatusCode::BAD_REQUEST, "invalid_spec", message) }
    }

    /// The caller is not known.
    pub(crate) fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
    }

    /// The caller is known, and may not.
    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// There is no such thing.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// The thing was here, and is gone for good.
    pub(crate) fn gone(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "gone", message)
    }

    /// The thing is not in a state for this.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    /// Something speaks against it, and it can be insisted on.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "refused", message)
    }

    /// The thing is not the one that the caller looked at.
    pub(crate) fn precondition_failed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PRECONDITION_FAILED, "precondition_failed", message)
    }

    /// Another request was sent under the same name.
    pub(crate) fn mismatch(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency_mismatch", message)
    }

    /// The body is larger than it may be.
    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    }

    /// The body took too long.
    pub(crate) fn too_slow() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "too_slow", "the body took too long to arrive")
    }

    /// The body is of a kind that is not read here.
    pub(crate) fn unsupported_media(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message)
    }

    /// The caller asks too often.
    pub(crate) fn too_often(seconds: u64) -> Self {
        let message = format!("this key asks too often; try again in {seconds} s");
        Self { retry_after: Some(seconds), ..Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message) }
    }

    /// There is no room for it now.
    pub(crate) fn busy(message: impl Into<String>) -> Self {
        Self { retry_after: Some(5), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "at_capacity", message) }
    }

    /// Something that is needed does not work now.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self { retry_after: Some(5), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE, message) }
    }

    /// There is no place left of something that is shared out by key: `streams`, say.
    pub(crate) fn full(what: &str, full: Full) -> Self {
        match full {
            Full::Key(_) => {
                let message = format!("{what}: {full}; close some, or try again soon");
                Self { retry_after: Some(5), ..Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many", message) }
            }
            Full::All => Self::busy(format!("{what}: {full}; try again soon")),
        }
    }

    /// It took longer than clients wait.
    pub(crate) fn late(limit: Duration) -> Self {
        let message = format!("this took longer than {} s, so it was given up; try again", limit.as_secs_f64());
        Self { retry_after: Some(1), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE, message) }
    }

    /// This server does not do it.
    pub(crate) fn not_implemented(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_IMPLEMENTED, "not_implemented", message)
    }

    /// The method is not possible here.
    pub(crate) fn method_not_allowed() -> Self {
        let message = "this method is not possible here; see /openapi.json for what is";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
    }

    /// We failed, and not because of the request.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }

    /// A worker tried, and could not do it.
    pub(crate) fn bad_gateway(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, "failed", message)
    }

    /// The worker that has a sandbox refused, or could not do it.
    pub(crate) fn of_worker(refusal: Refusal) -> Self {
        let status = match refusal.kind {
            RefusalKind::NotFound => StatusCode::NOT_FOUND,
            RefusalKind::NotReady | RefusalKind::Gone => StatusCode::CONFLICT,
            RefusalKind::Invalid => StatusCode::BAD_REQUEST,
            RefusalKind::Denied => StatusCode::FORBIDDEN,
            RefusalKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            RefusalKind::Busy => return Self::busy(refusal.message),
            RefusalKind::TimedOut => StatusCode::REQUEST_TIMEOUT,
            RefusalKind::Failed => return Self::bad_gateway(refusal.message),
        };
        Self::new(status, refusal.kind.as_str(), refusal.message)
    }

    /// True when the database did not answer, which may pass.
    pub(crate) fn may_pass(&self) -> bool {
        self.code == UNAVAILABLE
    }

    /// True for failures of ours, which a retry may solve.
    pub(crate) fn is_ours(&self) -> bool {
        self.status.is_server_error()
    }

    /// Findings about a spec, when they are the reason.
    pub(crate) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The status.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// The text for people.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound(message) => Self::not_found(message),
            StoreError::Invalid(message) => Self::invalid(message),
            StoreError::Conflict(message) => Self::conflict(message),
            StoreError::Unreadable(spec) => Self::conflict(spec.to_string()),
            StoreError::EvidenceGone { ref what, .. } => {
                tracing::error!(error = %error, "evidence is gone: {error}");
                Self::gone(format!(
                    "the evidence of {what} is gone: it was removed from where it was kept; the verdicts stay"
                ))
            }
            StoreError::Evidence { ref what, .. } => {
                tracing::error!(error = %error, "evidence is damaged: {error}");
                Self::internal(format!(
                    "the evidence of {what} is damaged: it is not what was stored; the verdicts stay"
                ))
            }
            error if error.is_about_owner() => {
                tracing::error!(error = %error, "the artifact place cannot be used: {error}");
                Self::conflict("the artifact place is not this database's own; the server's log says what to do")
            }
            other => {
                tracing::error!(error = %other, "the store failed: {other}");
                let message = "the database does not answer as it should; the server's log says why";
                Self { retry_after: Some(1), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, UNAVAILABLE, message) }
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let Self { message, code, findings, .. } = self;
        let refused = Refused { message: message.clone(), findings: findings.clone() };
        let body = ErrorBody { error: message.clone(), message, code: code.to_owned(), findings };
        let mut response = (self.status, Json(body)).into_response();
        response.extensions_mut().insert(refused);
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(http::header::WWW_AUTHENTICATE, http::HeaderValue::from_static("Bearer"));
        }
        response
    }
}
