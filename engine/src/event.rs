//! What happens while a scenario is run, as one closed list. Progress, logs and the store are told the same.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use scenario::evidence::{Exit, Fired};

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A phase began.
    PhaseStarted(Phase),
    /// A phase ended.
    PhaseEnded(Phase, Duration),
    /// An image is being fetched; how far it is.
    Pulling {
        /// The image.
        image: String,
        /// What the engine says.
        status: String,
    },
    /// Packages are being installed into a new image.
    Baking {
        /// The packages.
        packages: Vec<String>,
    },
    /// The sandbox is there.
    SandboxCreated {
        /// Its name.
        name: String,
    },
    /// A service is ready.
    ServiceReady {
        /// Its name.
        service: String,
        /// How long that took.
        after: Duration,
    },
    /// A fixture was put in place.
    FixtureApplied {
        /// Where it stands in the spec, from 0.
        index: usize,
    },
    /// The agent started.
    AgentStarted,
    /// The agent ended.
    AgentEnded {
        /// How; `None` when it was stopped.
        exit: Option<Exit>,
        /// How long it acted.
        after: Duration,
    },
    /// A limit fired.
    LimitFired(Fired),
    /// An invariant's probes were answered.
    Probed {
        /// The invariant.
        invariant: String,
    },
    /// Something that a reader should know.
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
}

/// The parts of a scenario's life that the engine is in charge of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The world is built.
    Prepare,
    /// The agent acts.
    Act,
    /// What it left is looked at.
    Probe,
    /// The world is removed, or kept.
    Destroy,
}

impl fmt::Display for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Prepare => "prepare",
            Self::Act => "act",
            Self::Probe => "probe",
            Self::Destroy => "destroy",
        })
    }
}

/// Where events go.
#[derive(Clone)]
pub struct Events(Arc<dyn Fn(Event) + Send + Sync>);

impl Events {
    /// Events go to this function, which must not block.
    pub fn to(receiver: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(receiver))
    }

    /// Events go nowhere.
    #[must_use]
    pub fn nowhere() -> Self {
        Self::to(|_| ())
    }

    /// Tells of an event.
    pub fn tell(&self, event: Event) {
        (self.0)(event);
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Events")
    }
}
