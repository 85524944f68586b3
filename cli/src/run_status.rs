//! The status of a run, as shown to users.

use std::fmt;

use engine::data_dir::DataDir;
use engine::owner::{Life, life_of};
use store::{Lane, Run, RunState};

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Not all of its scenarios have ended.
    Open,
    /// Not all of its scenarios have ended, and the process that ran them is gone.
    Interrupted,
    /// All have ended.
    Finished,
    /// It was ended before all of them had been run.
    Cancelled,
}

impl Standing {
    /// Returns the status of a run.
    pub(crate) fn of(run: &Run, data_dir: &DataDir) -> Self {
        match (run.state, run.lane) {
            (RunState::Finished, _) => Self::Finished,
            (RunState::Cancelled, _) => Self::Cancelled,
            (RunState::Open, Lane::Own(owner)) if life_of(data_dir, owner).is_ok_and(|life| life == Life::Gone) => {
                Self::Interrupted
            }
            (RunState::Open, _) => Self::Open,
        }
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Open => "open",
            Self::Interrupted => "interrupted",
            Self::Finished => "finished",
            Self::Cancelled => "cancelled",
        })
    }
}
