//! Ending a job before its time, and why.

use std::sync::{Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

/// Reason why a job is ended before its time. Later ones go further than earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    /// The worker has to end; another worker may do the job.
    Released,
    /// The job is not wanted any more.
    Cancelled,
    /// Another worker may hold the job by now.
    LeaseLost,
}

/// Ends a job, for the reason that goes furthest of those that are given.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    token: CancellationToken,
    why: Mutex<Option<Why>>,
}

impl Stop {
    /// Requests the end.
    pub(crate) fn ask(&self, why: Why) {
        let mut asked = self.why.lock().unwrap_or_else(PoisonError::into_inner);
        *asked = Some(why).max(*asked);
        drop(asked);
        self.token.cancel();
    }

    /// Returns the reason why the end was requested.
    pub(crate) fn why(&self) -> Option<Why> {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the cancellation token that the engine watches.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }
}
