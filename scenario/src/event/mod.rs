//! The events of a scenario, as one closed list. Engines and workers send them, the store keeps them, streams, pages
//! and terminals read them: all of them as [`Event`].
//!
//! Written down, an event is one word for its kind and a JSON object with more about it ([`Written`]). That form is kept in
//! databases and is read by other people's clients, so it only grows:
//!
//! - To add a kind: a variant here, its word and body in `write.rs`, the way back in `read.rs`, and a row in the tests.
//! - A body may get another field. Who reads streams of newer servers understands what it knows ([`Event::understand`]); who keeps
//!   events keeps all of one that says more than it knows ([`Event::Unknown`]).
//! - A body that means something else than before says so with `"v": 2`. One without `v` is of [`VERSION`] 1.

mod phase;
mod read;
#[cfg(test)]
mod tests;
mod write;

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::evidence::{Exit, Fired};
use crate::result::RowStatus;
use crate::verdict::ErrorKind;
pub use phase::Phase;

/// The version of bodies that this list writes and reads.
pub const VERSION: u64 = 1;

/// An event of a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub enum Event {
    /// A worker took the job.
    Claimed {
        /// The worker.
        worker: String,
    },
    /// A phase began.
    PhaseStarted(Phase),
    /// A phase ended.
    PhaseEnded(Phase, Duration),
    /// An image is being fetched; how far it is.
    Pulling {
        /// The image.
        image: String,
        /// The message of the engine.
        status: String,
    },
    /// Packages are being installed into a new image.
    Baking {
        /// The packages.
        packages: Vec<String>,
    },
    /// The sandbox was created.
    SandboxCreated {
        /// Its name.
        name: String,
    },
    /// A service is ready.
    ServiceReady {
        /// Its name.
        service: String,
        /// The time that it took.
        after: Duration,
    },
    /// A fixture was put in place.
    FixtureApplied {
        /// Its index in the spec, from 0.
        index: usize,
    },
    /// The agent started.
    AgentStarted,
    /// The agent ended.
    AgentEnded {
        /// The exit; `None` when it was stopped.
        exit: Option<Exit>,
        /// The duration of the agent's run.
        after: Duration,
    },
    /// A limit fired.
    LimitFired(Fired),
    /// An invariant's probes were answered.
    Probed {
        /// The invariant.
        invariant: String,
    },
    /// A call waits until a person decides.
    CallHeld {
        /// The approval, which people decide by.
        approval: String,
        /// The tool.
        tool: String,
        /// The deadline of the decision.
        deadline: Timestamp,
    },
    /// A call does not wait any more.
    CallDecided {
        /// The approval.
        approval: String,
        /// The tool.
        tool: String,
        /// One word: `approved`, `denied` or `expired`.
        answer: String,
        /// The name of the approver; empty when there was no decision.
        by: String,
    },
    /// A remark for the reader.
    Note(String),
    /// The sandbox was kept for a person to look into.
    SandboxKept {
        /// Its name.
        name: String,
    },
    /// The sandbox is gone.
    SandboxDestroyed {
        /// Its name.
        name: String,
    },
    /// The scenario has its result.
    Judged {
        /// The status.
        status: RowStatus,
        /// Its combined score.
        composite: f64,
        /// The duration; `None` in rows of the first version, which did not record it.
        wall_ms: Option<u64>,
        /// The party at fault when it could not be judged; `None` when it was, and in rows of earlier versions.
        error: Option<ErrorKind>,
    },
    /// We failed, and try again.
    Retrying {
        /// The reason.
        why: String,
        /// After how long.
        after: Duration,
    },
    /// The worker gave the job back.
    Released {
        /// The reason.
        why: String,
    },
    /// The job ended without a result.
    GivenUp {
        /// The reason.
        why: String,
    },
    /// The worker was not heard of any more.
    Lost {
        /// The worker.
        worker: String,
    },
    /// An event that this version does not know, as it was written down.
    Unknown {
        /// One word for it.
        kind: String,
        /// Its details.
        body: Json,
    },
}

/// An event as it is written down, in databases and on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Written {
    /// One word for it.
    pub kind: String,
    /// Its details.
    #[serde(default)]
    pub body: Json,
}

impl From<Written> for Event {
    fn from(Written { kind, body }: Written) -> Self {
        Self::read(kind, body)
    }
}

impl From<Event> for Written {
    fn from(event: Event) -> Self {
        Self { kind: event.kind().to_owned(), body: event.body() }
    }
}

impl Event {
    /// Returns true if this event ends an attempt.
    #[must_use]
    pub const fn ends_attempt(&self) -> bool {
        matches!(
            self,
            Self::Judged { .. }
                | Self::Retrying { .. }
                | Self::Released { .. }
                | Self::GivenUp { .. }
                | Self::Lost { .. }
        )
    }
}
