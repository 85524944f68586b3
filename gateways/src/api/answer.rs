//! Answers, all of them JSON.

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Method, Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value as Json, json};

use crate::memory_budget::Share;

/// An answer that is ready to be sent.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    body: Bytes,
    closing: bool,
}

impl Answer {
    /// A good answer.
    pub(super) fn json(body: &Json) -> Self {
        Self { status: StatusCode::OK, body: body.to_string().into(), closing: false }
    }

    /// A good answer that takes memory until it was sent.
    pub(super) fn held(text: String, share: Share) -> Self {
        Self { status: StatusCode::OK, body: share.hold(text.into()), closing: false }
    }

    /// A good answer without a body.
    pub(super) fn empty() -> Self {
        Self { status: StatusCode::NO_CONTENT, body: Bytes::new(), closing: false }
    }

    /// Makes a refusal. Keystone's clients show either `error` or `message`, so both have the problem and its solution.
    pub(super) fn refusal(status: StatusCode, code: &str, message: &str) -> Self {
        Self { status, ..Self::json(&json!({"error": message, "message": message, "code": code})) }
    }

    /// Closes the connection after this answer, because the rest of the request is not read.
    pub(super) fn closing(self) -> Self {
        Self { closing: true, ..self }
    }

    /// Makes the answer on the wire. `HEAD` gets the length of the body without the body.
    pub(super) fn send(self, to: &Method) -> Response<Full<Bytes>> {
        let length = HeaderValue::from(self.body.len());
        let body = if *to == Method::HEAD { Bytes::new() } else { self.body };
        let mut response = Response::new(Full::new(body));
        *response.status_mut() = self.status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response.headers_mut().insert(CONTENT_LENGTH, length);
        if self.closing {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
