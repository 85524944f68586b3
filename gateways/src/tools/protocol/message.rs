//! Messages of JSON-RPC.

use serde_json::{Value as Json, json};

use crate::bounded_json;

/// Number of values that a message may have.
pub(in crate::tools) const MOST_VALUES: usize = 200_000;

/// A message of a client.
#[derive(Debug)]
pub(in crate::tools) enum Incoming {
    /// A request, which wants an answer.
    Request(RpcRequest),
    /// A notification, which wants none.
    Notification {
        /// Its method.
        method: String,
        /// Its parameters.
        params: Json,
    },
    /// An answer to a question of ours. We ask none.
    Answer,
}

/// A message that wants an answer.
#[derive(Debug, Clone)]
pub(in crate::tools) struct RpcRequest {
    /// The client's id, a text or a number.
    pub(in crate::tools) id: Json,
    /// Its method.
    pub(in crate::tools) method: String,
    /// Its parameters: an object, or nothing.
    pub(in crate::tools) params: Json,
}

/// An error of JSON-RPC.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::tools) struct RpcError {
    /// Its number.
    pub(in crate::tools) code: i64,
    /// Its message.
    pub(in crate::tools) message: String,
    /// Details; `null` without any.
    pub(in crate::tools) data: Json,
    /// True when the request lacks a key that one that stands alone must have; this error's number is also used for
    /// others.
    lacks_meta: bool,
}

impl RpcError {
    const PARSE: i64 = -32700;
    const INVALID_REQUEST: i64 = -32600;
    const METHOD_NOT_FOUND: i64 = -32601;
    const INVALID_PARAMS: i64 = -32602;
    const INTERNAL: i64 = -32603;
    /// Code for an unknown session.
    const NO_SESSION: i64 = -32001;
    /// The client cancelled the request.
    const CANCELLED: i64 = -32800;
    /// A header contradicts the body.
    const HEADER_MISMATCH: i64 = -32020;
    /// The version is not known.
    const UNSUPPORTED_VERSION: i64 = -32022;

    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: Json::Null, lacks_meta: false }
    }

    /// Makes the error for an unknown method.
    pub(in crate::tools) fn no_method(method: &str) -> Self {
        Self::new(Self::METHOD_NOT_FOUND, format!("there is no method `{}`", scenario::untrusted::line(method, 100)))
    }

    /// The parameters cannot be used.
    pub(in crate::tools) fn params(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    /// Makes the error for a `_meta` without a key that a request that stands alone must have.
    pub(in crate::tools) fn no_meta(key: &str) -> Self {
        Self { lacks_meta: true, ..Self::params(format!("the request's `_meta` needs `{key}`")) }
    }

    /// The version is not known.
    pub(in crate::tools) fn unsupported_version(requested: &str, supported: &[&str]) -> Self {
        let data = json!({"supported": supported, "requested": requested});
        Self { data, ..Self::new(Self::UNSUPPORTED_VERSION, "unsupported protocol version") }
    }

    /// The session has ended, or never was. The client must begin another.
    pub(in crate::tools) fn no_session() -> Self {
        Self::new(Self::NO_SESSION, "there is no such session; begin another with `initialize`")
    }

    /// The client wants no answer any more.
    pub(in crate::tools) fn cancelled() -> Self {
        Self::new(Self::CANCELLED, "the request was cancelled")
    }

    /// We, or a server behind us, failed.
    pub(in crate::tools) fn internal(message: impl Into<String>) -> Self {
        Self::new(Self::INTERNAL, message)
    }

    /// A header contradicts the body.
    pub(in crate::tools) fn header(name: &str) -> Self {
        Self::new(Self::HEADER_MISMATCH, format!("the header `{name}` contradicts the body"))
    }

    /// The status of the HTTP answer to a request that stands alone. Those of sessions are always answered with 200.
    pub(in crate::tools) fn status(&self) -> http::StatusCode {
        match self.code {
            Self::UNSUPPORTED_VERSION | Self::HEADER_MISMATCH | Self::PARSE | Self::INVALID_REQUEST => {
                http::StatusCode::BAD_REQUEST
            }
            _ if self.lacks_meta => http::StatusCode::BAD_REQUEST,
            Self::METHOD_NOT_FOUND => http::StatusCode::NOT_FOUND,
            _ => http::StatusCode::OK,
        }
    }

    /// The error as JSON.
    pub(in crate::tools) fn to_json(&self) -> Json {
        let mut error = json!({"code": self.code, "message": self.message});
        if !self.data.is_null() {
            error["data"] = self.data.clone();
        }
        error
    }

    /// An error that a server answered with.
    pub(in crate::tools) fn from_json(error: &Json) -> Self {
        Self {
            code: error["code"].as_i64().unwrap_or(Self::INTERNAL),
            message: error["message"].as_str().unwrap_or("the server answered with an error").to_owned(),
            data: error.get("data").cloned().unwrap_or(Json::Null),
            lacks_meta: false,
        }
    }
}

impl Incoming {
    /// Reads a message. Several in one list, which one old version has, are refused.
    pub(in crate::tools) fn parse(body: &[u8]) -> Result<Self, RpcError> {
        let mut message = bounded_json::parse(body, MOST_VALUES).map_err(|problem| match problem {
            bounded_json::Unreadable::NoJson(problem) => RpcError::new(RpcError::PARSE, format!("no JSON: {problem}")),
            bounded_json::Unreadable::TooMany => RpcError::new(RpcError::PARSE, "the message has too many values"),
        })?;
        let refused = |what: &str| Err(RpcError::new(RpcError::INVALID_REQUEST, what));
        if message.is_array() {
            return refused("send one message at a time");
        }
        if message["jsonrpc"] != "2.0" {
            return refused("the message is no JSON-RPC 2.0");
        }
        let Some(method) = message["method"].as_str().map(str::to_owned) else {
            let is_answer = message.get("result").is_some() || message.get("error").is_some();
            return if is_answer { Ok(Self::Answer) } else { refused("the message has no `method`") };
        };
        let params = message.get_mut("params").map_or(Json::Null, Json::take);
        if !params.is_object() && !params.is_null() {
            return refused("`params` is no object");
        }
        match message.get_mut("id").map(Json::take) {
            Some(id @ (Json::String(_) | Json::Number(_))) => Ok(Self::Request(RpcRequest { id, method, params })),
            None => Ok(Self::Notification { method, params }),
            Some(_) => refused("`id` is neither a text nor a number"),
        }
    }
}

/// The answer to a request.
pub(in crate::tools) fn response(id: &Json, result: Json) -> Json {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The answer to a request that failed. One that could not be read has no id.
pub(in crate::tools) fn error_response(id: &Json, error: &RpcError) -> Json {
    json!({"jsonrpc": "2.0", "id": id, "error": error.to_json()})
}

/// A message that wants no answer.
pub(in crate::tools) fn notification(method: &str, params: Json) -> Json {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

#[cfg(test)]
mod tests {
    use super::Incoming;

    #[test]
    fn messages_are_requests_notifications_or_answers() {
        let read = |body: &str| Incoming::parse(body.as_bytes());
        assert!(matches!(read(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), Ok(Incoming::Request(_))));
        assert!(matches!(read(r#"{"jsonrpc":"2.0","method":"x","params":{}}"#), Ok(Incoming::Notification { .. })));
        assert!(matches!(read(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Ok(Incoming::Answer)));
        for (body, code) in [
            ("", -32600),
            ("{", -32700),
            ("[]", -32600),
            (r#"{"id":1,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#, -32600),
        ] {
            assert_eq!(read(body).expect_err("refused").code, code, "{body}");
        }
    }
}
