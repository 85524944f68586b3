//! Errors in the shapes of the providers.

use bytes::Bytes;
use http::StatusCode;
use serde_json::json;

/// Provider whose shape an error has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    OpenAi,
    Anthropic,
}

/// An answer of ours that says why there is no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    /// A word for programs.
    pub(super) code: &'static str,
    pub(super) message: String,
    /// True when asking again cannot help; the stock clients try again otherwise, after 408, 409, 429 and 5xx.
    pub(super) is_final: bool,
    /// The tool of the call that tool contracts refuse; empty for a request. `None` for every other refusal.
    pub(super) refused_call: Option<String>,
}

impl Refusal {
    /// A refusal that asking again does not change.
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), is_final: true, refused_call: None }
    }

    /// A refusal after which a client may ask again.
    pub(super) fn passing(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { is_final: false, ..Self::new(status, code, message) }
    }

    /// Tool contracts refuse a request, or a call of its answer. The stock clients do not try again after 403.
    pub(super) fn contract(code: &'static str, tool: &str, message: &str) -> Self {
        let tool = scenario::untrusted::line(tool, 100);
        Self { refused_call: Some(tool), ..Self::new(StatusCode::FORBIDDEN, code, message) }
    }

    /// Makes the refusal of a request that breaks the rules of the dialect.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// The body of the answer.
    pub(super) fn body(&self, shape: Shape) -> Bytes {
        let kind = self.kind(shape);
        let mut body = match shape {
            Shape::OpenAi => {
                json!({"error": {"message": self.message, "type": kind, "param": null, "code": self.code}})
            }
            Shape::Anthropic => {
                let message = format!("{}: {}", self.code, self.message);
                json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": null})
            }
        };
        if let Some(call) = &self.refused_call {
            body["error"]["code"] = self.code.into();
            body["error"]["call"] = call.as_str().into();
        }
        body.to_string().into()
    }

    /// The kind of error, as the provider calls it.
    fn kind(&self, shape: Shape) -> &'static str {
        match (self.status.as_u16(), shape) {
            _ if self.refused_call.is_some() => "contract_violation",
            (401, _) => "authentication_error",
            (404, Shape::Anthropic) => "not_found_error",
            (413, Shape::Anthropic) => "request_too_large",
            (429, Shape::Anthropic) => "rate_limit_error",
            (429, Shape::OpenAi) => "requests",
            (500.., Shape::Anthropic) => "api_error",
            (500.., Shape::OpenAi) => "server_error",
            _ => "invalid_request_error",
        }
    }
}
