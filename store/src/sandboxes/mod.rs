//! Sandboxes that people work in themselves. Each lives in the worker that claimed it.
//!
//! ```text
//!             claim, ready              end
//!  creating ───────────────► ready ───────────► stopped, error
//!     │                                           ▲
//!     └───── unwanted, lost, nobody had room ─────┘
//! ```

mod lease;
mod read;
mod write;

use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value as Json;

use crate::error::StoreError;
use crate::queue::WorkerId;
use scenario::Demand;

/// A sandbox that somebody wants.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSandbox {
    /// Its id.
    pub id: String,
    /// Whose it is.
    pub owner: String,
    /// The spec that says what is in it.
    pub spec_id: String,
    /// The digest of that spec.
    pub digest: String,
    /// Metadata of its owner.
    pub metadata: Json,
    /// The values of its secrets, sealed.
    pub secrets: Option<Vec<u8>>,
    /// Its maximum lifetime.
    pub timeout: Duration,
    /// The resources that it needs.
    pub demand: Demand,
}

/// A sandbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Sandbox {
    /// The request, without the secrets.
    pub new: NewSandbox,
    /// Where it stands.
    pub state: SandboxState,
    /// True until its end is requested.
    pub wanted: bool,
    /// The worker that it lives in.
    pub worker: Option<WorkerId>,
    /// Its services, as its worker reports them.
    pub services: Json,
    /// Why it cannot be used.
    pub error: Option<String>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// When its time is over.
    pub expires_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// Where a sandbox stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SandboxState {
    /// It is being made, or waits for a worker.
    Creating,
    /// It can be used.
    Ready,
    /// It was ended.
    Stopped,
    /// It could not be made, or is lost.
    Error,
}

impl SandboxState {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Creating, Self::Ready, Self::Stopped, Self::Error];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Ready => "ready",
            Self::Stopped => "stopped",
            Self::Error => "error",
        }
    }

    /// True until it has ended.
    #[must_use]
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Creating | Self::Ready)
    }
}

impl FromStr for SandboxState {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        let found = Self::ALL.into_iter().find(|state| state.word() == text);
        found.ok_or_else(|| StoreError::Damaged(format!("`{text}` is no state of a sandbox")))
    }
}

/// A worker's request for a sandbox to make, with the room it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxClaim {
    /// The worker that asks.
    pub worker: WorkerId,
    /// A random token that nobody else can know.
    pub token: String,
    /// The time.
    pub now: Timestamp,
    /// The expiry of the lease unless it is renewed.
    pub until: Timestamp,
    /// The available resources; `None` for no limit.
    pub room: Option<Demand>,
}

/// A hold on a sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxLease {
    /// The sandbox.
    pub sandbox: String,
    /// The number of times it was claimed.
    pub epoch: u32,
    /// The holder's token.
    pub token: String,
}

/// A sandbox that a worker makes and keeps.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldSandbox {
    /// The lease.
    pub lease: SandboxLease,
    /// The sandbox, with its sealed secrets.
    pub sandbox: Sandbox,
}

/// Which sandboxes are wanted; `None` means any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SandboxFilter<'a> {
    /// Whose.
    pub owner: Option<&'a str>,
    /// In which worker.
    pub worker: Option<WorkerId>,
    /// True for only those that have not ended.
    pub active: bool,
}
