//! The connections of a listener, counted by their permits.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

/// The pause between two looks whether all connections have ended.
const PAUSE: Duration = Duration::from_millis(1);
/// Number of looks in a row that must find no connection: one may have been waiting to be accepted.
const QUIET_LOOKS: u32 = 2;

/// The connections of a listener, counted by their permits.
#[derive(Debug, Clone)]
pub(super) struct Occupancy {
    permits: Arc<Semaphore>,
    limit: usize,
}

impl Occupancy {
    /// Makes an occupancy with room for this many connections.
    pub(super) fn new(limit: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(limit)), limit }
    }

    /// The permits that are left.
    pub(super) fn permits(&self) -> Arc<Semaphore> {
        Arc::clone(&self.permits)
    }

    /// Returns true if permits are scarce.
    pub(super) fn is_crowded(&self) -> bool {
        self.permits.available_permits() < self.limit / 2
    }

    /// Waits until no connection is open, and no longer than this.
    pub(super) async fn drain(&self, wait: Duration) {
        let deadline = Instant::now() + wait;
        let mut quiet = 0;
        while Instant::now() < deadline {
            quiet = if self.permits.available_permits() == self.limit { quiet + 1 } else { 0 };
            if quiet == QUIET_LOOKS {
                return;
            }
            sleep(PAUSE).await;
        }
    }
}
