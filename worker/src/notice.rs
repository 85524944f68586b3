//! Notices of a worker to its observer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use scenario::event::Event;
use scenario::result::ScenarioResult;
use store::RunId;

/// A notice to a watcher.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A job was taken.
    Claimed {
        /// The job.
        job: About,
    },
    /// An event occurred in its sandbox.
    Happened {
        /// The job.
        job: About,
        /// The event.
        event: Event,
    },
    /// We failed, and will try again.
    Retrying {
        /// The job.
        job: About,
        /// Reason of the failure.
        message: String,
        /// When.
        after: Duration,
    },
    /// A scenario has its result.
    Ended {
        /// The job.
        job: About,
        /// Result of the scenario.
        result: Box<ScenarioResult>,
    },
    /// A job ended without a result.
    GivenUp {
        /// The job.
        job: About,
        /// Reason of the end.
        message: String,
    },
    /// Replicas of a run are not run, because their cells are decided without them.
    NotNeeded {
        /// The run.
        run: RunId,
        /// All of its scenarios that are not needed, also those that were told before.
        scenarios: Vec<String>,
    },
    /// All scenarios of a run have ended.
    RunEnded {
        /// The run.
        run: RunId,
    },
    /// An interactive sandbox is ready.
    SandboxReady {
        /// Its id.
        sandbox: String,
    },
    /// An interactive sandbox is gone.
    SandboxEnded {
        /// Its id.
        sandbox: String,
        /// Reason why it could not be made, or broke.
        error: Option<String>,
    },
    /// A problem of the worker itself.
    Problem(String),
}

/// The job that a notice is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The run.
    pub run: RunId,
    /// The scenario.
    pub scenario: String,
    /// Number of the attempt, from 1.
    pub attempt: u32,
}

/// Receiver of notices.
#[derive(Clone)]
pub struct Observer(Arc<dyn Fn(Notice) + Send + Sync>);

impl Observer {
    /// Makes an observer that calls this function, which must not block.
    pub fn to(receiver: impl Fn(Notice) + Send + Sync + 'static) -> Self {
        Self(Arc::new(receiver))
    }

    /// Makes an observer that drops all notices.
    #[must_use]
    pub fn nobody() -> Self {
        Self::to(|_| ())
    }

    pub(crate) fn tell(&self, notice: Notice) {
        (self.0)(notice);
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Observer")
    }
}
