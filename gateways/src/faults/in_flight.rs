//! Bytes of faulted connections that have been sent and have not arrived.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(1);
/// Number of looks in a row that must find nothing: bytes may have been on their way from the kernel.
const QUIET_LOOKS: u32 = 3;
/// Time limit for bytes to arrive once nothing delays them.
const PATIENCE: Duration = Duration::from_secs(1);

/// Bytes that are on their way until this is dropped.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<AtomicUsize>);

impl InFlight {
    /// Counts some bytes.
    pub(super) fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(count))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Waits until nothing is on its way, and no longer than a moment.
pub(super) async fn arrived(count: &AtomicUsize) {
    let deadline = Instant::now() + PATIENCE;
    let mut quiet = 0;
    while quiet < QUIET_LOOKS && Instant::now() < deadline {
        sleep(PAUSE).await;
        quiet = if count.load(Ordering::Acquire) == 0 { quiet + 1 } else { 0 };
    }
}
