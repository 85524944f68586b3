//! Calls that tool contracts hold until a person decides.
//!
//! ```text
//!            decide                      the call goes on
//!  pending ─────────► approved, denied      approved ─────► used
//!    │ ▲ └──────────► expired
//!    │ └ asked for again, by the next attempt
//!    └──────────────► withdrawn
//! ```
//!
//! A request is known by its scenario, session, tool, arguments, contract and repetition. Asking for it again, after a worker was
//! killed, finds the one that is there: with its first deadline, and with its decision. Its context has no secrets: the gateway
//! takes them out before it asks.

mod ask;
mod decide;
mod news;
mod read;

use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::error::StoreError;
use crate::ids::RunId;
pub(crate) use decide::withdraw_approvals;
pub use news::{ApprovalNews, NewsKind};

/// A call that is to be decided on.
#[derive(Debug, Clone, PartialEq)]
pub struct NewApproval {
    /// The id to give to it, unless it is there already.
    pub id: String,
    /// The run.
    pub run: RunId,
    /// The scenario.
    pub scenario: String,
    /// The session.
    pub session: String,
    /// The tool.
    pub tool: String,
    /// The hash of the arguments.
    pub arguments_hash: String,
    /// The hash of the contracts.
    pub contract: String,
    /// The number of calls of the same tool with the same arguments that were held before.
    pub repetition: u64,
    /// The call's id in the session.
    pub call: String,
    /// The version of the session's state when the call was held.
    pub state_version: u64,
    /// The arguments to show, each with its label, without secrets.
    pub context: Vec<(String, Json)>,
    /// The checkpoints that hold it.
    pub checkpoints: Vec<String>,
    /// The reason as a sentence, with the rule.
    pub reason: String,
    /// The time until which somebody may decide.
    pub deadline: Timestamp,
    /// True when the call passes when nobody decides.
    pub allows_on_timeout: bool,
}

/// A call that was to be decided on.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// The request, as it was asked for first.
    pub new: NewApproval,
    /// The owner of its experiment.
    pub owner: String,
    /// The spec of its experiment.
    pub spec_id: String,
    /// The time when it was asked for first.
    pub requested_at: Timestamp,
    /// The status in the database. See [`Approval::status_at`].
    pub status: ApprovalStatus,
    /// The decision that somebody made.
    pub decision: Option<MadeDecision>,
    /// The time when it stopped to be pending.
    pub decided_at: Option<Timestamp>,
    /// The attempt whose call used it.
    pub used_in: Option<u32>,
}

/// The decision that somebody made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeDecision {
    /// The name of who decided, as they said.
    pub by: String,
    /// The key that they had; `local` on this machine without a server.
    pub key: String,
    /// The note of who decided.
    pub note: String,
}

/// The status of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalStatus {
    /// It waits for a decision.
    Pending,
    /// Somebody approved it.
    Approved,
    /// Somebody denied it.
    Denied,
    /// Nobody decided in time.
    Expired,
    /// The session ended before somebody decided.
    Withdrawn,
    /// Somebody approved it, and its call went on.
    Used,
}

impl ApprovalStatus {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Approved, Self::Denied, Self::Expired, Self::Withdrawn, Self::Used];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
            Self::Used => "used",
        }
    }
}

impl FromStr for ApprovalStatus {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let found = Self::ALL.into_iter().find(|status| status.word() == text);
        found.ok_or_else(|| StoreError::Invalid(format!("`{text}` is no status of an approval")))
    }
}

impl Approval {
    /// The status at this time: one whose deadline has passed is not pending any more, also when nobody wrote it down.
    #[must_use]
    pub fn status_at(&self, now: Timestamp) -> ApprovalStatus {
        match self.status {
            ApprovalStatus::Pending if self.new.deadline <= now => ApprovalStatus::Expired,
            status => status,
        }
    }
}

/// The kind of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecisionKind {
    /// The call may go on.
    Approve,
    /// The call is refused.
    Deny,
}

impl DecisionKind {
    /// The status of an approval after it.
    #[must_use]
    pub const fn status(self) -> ApprovalStatus {
        match self {
            Self::Approve => ApprovalStatus::Approved,
            Self::Deny => ApprovalStatus::Denied,
        }
    }
}

/// A decision to write down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The kind.
    pub kind: DecisionKind,
    /// The hash of the arguments that were looked at.
    pub arguments_hash: String,
    /// The person, their key and their note.
    pub made: MadeDecision,
}

/// The answer to a decision.
#[derive(Debug, Clone, PartialEq)]
pub enum Decided {
    /// It was written down.
    Decided(Box<Approval>),
    /// There is no such approval.
    Unknown,
    /// It was decided, or withdrawn, before.
    NotPending(Box<Approval>),
    /// Its deadline has passed.
    Expired(Box<Approval>),
    /// It is for other arguments.
    OtherArguments(Box<Approval>),
}

/// A choice of approvals; `None` means any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ApprovalFilter<'a> {
    /// Of whose experiments.
    pub owner: Option<&'a str>,
    /// The status that they have now.
    pub status: Option<ApprovalStatus>,
    /// Of which run.
    pub run: Option<RunId>,
    /// Of which scenario.
    pub scenario: Option<&'a str>,
    /// The time.
    pub now: Timestamp,
}
