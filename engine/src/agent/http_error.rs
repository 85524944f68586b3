//! The reasons why an agent that is a server gave no output.

use http::StatusCode;

/// A conversation with an agent that brought no output: the agent's own doing.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    /// A part of the request cannot be sent.
    #[error("{0}")]
    Request(String),
    /// The sandbox ended.
    #[error("{0}")]
    Unreachable(String),
    /// The connection ended before the agent took the request.
    #[error("the agent hung up: {0}")]
    HungUp(#[source] hyper::Error),
    /// The connection ended before the answer.
    #[error("the agent did not answer: {0}")]
    NoAnswer(#[source] hyper::Error),
    /// The body of the answer broke off, or is too large.
    #[error("the agent's answer cannot be read: {0}")]
    Body(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The answer is no success.
    #[error("the agent answered with status {status}: {text}")]
    Status {
        /// The status.
        status: StatusCode,
        /// The body.
        text: String,
    },
    /// The reset is no success.
    #[error("the agent answered the reset with status {0}")]
    Reset(StatusCode),
    /// The answer is not what `response_path` needs.
    #[error("the agent's answer is no JSON, or has too many values: {0}")]
    NoJson(String),
    /// The answer has nothing at `response_path`.
    #[error("the agent's answer has no `{path}`: {text}")]
    NoOutput {
        /// The path.
        path: String,
        /// The answer.
        text: String,
    },
}
