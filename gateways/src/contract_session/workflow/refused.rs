//! Refusals of a workflow.

use tool_contracts::Code;

/// A token that no session has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no session of this workflow has this token")]
pub struct UnknownToken;

/// An operation that is refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkflowRefused {
    /// The workflow does not allow it.
    #[error("{}", .0.explanation())]
    Code(Code),
    /// The handoff does not exist.
    #[error("there is no such handoff")]
    NoHandoff,
    /// The session does not exist.
    #[error("there is no such session")]
    NoSession,
    /// The session is not the caller's own.
    #[error("a session may only do this to itself, or to the sessions below it")]
    NotOwn,
    /// The request is not as it must be.
    #[error("{0}")]
    Invalid(&'static str),
}
