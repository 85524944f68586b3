//! Approvals by people: a held call is shown to a person, and waits for the decision.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;
use scenario::intervention::Intervention;
use serde_json::Value as Json;

/// A call that is held until a person decides.
///
/// An approval is for one call with exactly these arguments under exactly these contracts, and is used up by it.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRequest {
    /// The session.
    pub session: String,
    /// The call's id in the session.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The hash of the arguments.
    pub arguments_hash: String,
    /// The hash of the contracts.
    pub contract: String,
    /// The version of the session's state when the call was held.
    pub state_version: u64,
    /// The number of calls of the same tool with the same arguments that were held before in this attempt.
    pub repetition: u64,
    /// The arguments to show, each with its label. Secrets are taken out.
    pub context: Vec<(String, Json)>,
    /// The checkpoints that hold it.
    pub checkpoints: Vec<String>,
    /// The reason as a sentence, with the rule.
    pub reason: String,
    /// Time limit of the decision.
    pub timeout: Duration,
    /// True when the call passes when nobody decides.
    pub allows_on_timeout: bool,
}

/// A request that was made known, and waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingApproval {
    /// Its id, which people decide by.
    pub id: String,
}

/// The end of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalAnswer {
    /// A person approved it.
    Approved {
        /// The person.
        by: String,
        /// Their note.
        note: String,
    },
    /// A person denied it.
    Denied {
        /// The person.
        by: String,
        /// Their note.
        note: String,
    },
    /// The deadline passed without a decision.
    DeadlinePassed,
}

/// Requests cannot be made known or read.
#[derive(Debug, thiserror::Error)]
#[error("approvals cannot be asked for: {reason}")]
pub struct ApprovalsUnavailable {
    /// The reason.
    pub reason: String,
}

/// The place where people see held calls and decide on them.
///
/// The implementation keeps the deadline: it is counted from the first time that a request is seen, so that it goes on
/// when a worker dies and another one runs the scenario again. A second request for the same call (same scenario,
/// session, tool, hashes and repetition) finds the existing one, with its decision if there is one.
#[async_trait]
pub trait Approvals: Debug + Send + Sync {
    /// Makes a request known.
    async fn ask(&self, request: &ApprovalRequest) -> Result<PendingApproval, ApprovalsUnavailable>;

    /// Waits until a request is decided or its deadline has passed.
    async fn wait(&self, pending: &PendingApproval) -> Result<ApprovalAnswer, ApprovalsUnavailable>;

    /// Takes a request back, because its session ended.
    async fn withdraw(&self, pending: &PendingApproval);

    /// Waits for the next intervention of an operator after the one with this number, and returns it with its own.
    async fn next_intervention(&self, _after: u64) -> (u64, Intervention) {
        std::future::pending().await
    }
}
