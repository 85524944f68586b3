//! What a worker tells whoever watches it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use scenario::event::Event;
use scenario::result::ScenarioResult;
use store::RunId;

/// Something that a watcher may want to know.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A job was taken.
    Claimed {
        /// Which one.
        job: About,
    },
    /// Something happened in its sandbox.
    Happened {
        /// Which job.
        job: About,
        /// What.
        event: Event,
    },
    /// We failed, and will try again.
    Retrying {
        /// Which job.
        job: About,
        /// Why.
        message: String,
        /// When.
        after: Duration,
    },
    /// A scenario has its result.
    Ended {
        /// Which job.
        job: About,
        /// What came of it.
        result: Box<ScenarioResult>,
    },
    /// A job ended without a result.
    GivenUp {
        /// Which job.
        job: About,
        /// Why.
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
        /// Which run.
        run: RunId,
    },
    /// A sandbox that somebody wants to work in is there.
    SandboxReady {
        /// Its id.
        sandbox: String,
    },
    /// A sandbox that somebody worked in is gone.
    SandboxEnded {
        /// Its id.
        sandbox: String,
        /// Why it could not be made, or broke.
        error: Option<String>,
    },
    /// Something that does not go as it should.
    Problem(String),
}

/// The job that a notice is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// The run.
    pub run: RunId,
    /// The scenario.
    pub scenario: String,
    /// Which attempt, from 1.
    pub attempt: u32,
}

/// Where notices go.
#[derive(Clone)]
pub struct Observer(Arc<dyn Fn(Notice) + Send + Sync>);

impl Observer {
    /// Notices go to this function, which must not block.
    pub fn to(receiver: impl Fn(Notice) + Send + Sync + 'static) -> Self {
        Self(Arc::new(receiver))
    }

    /// Notices go nowhere.
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
