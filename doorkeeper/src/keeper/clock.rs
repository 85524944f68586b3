//! Time: how long commands run, and when it is another's turn.

use std::time::{Duration, Instant};

/// Time slice of a job before the others have their turn.
const TURN: Duration = Duration::from_millis(2);

/// The time.
#[expect(clippy::disallowed_methods, reason = "the doorkeeper measures real processes; nothing of it is replayed")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The turn of one job.
pub(crate) struct Turn(Instant);

impl Turn {
    /// Starts a turn.
    pub(crate) fn begin() -> Self {
        Self(now() + TURN)
    }

    /// Returns true if the turn has ended, and another job should work.
    pub(crate) fn is_over(&self) -> bool {
        now() >= self.0
    }
}
