//! Waits until the clients of a gateway are gone, so that its records can end.

use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::sleep;

/// The pause between two looks whether all connections have ended.
const PAUSE: Duration = Duration::from_millis(1);
/// How many looks in a row must find no connection: one may have been waiting to be accepted.
const SETTLED: u32 = 2;
/// After how many looks nobody waits any longer.
const LOOKS: u32 = 1000;

/// Waits until none of `most` connections is open, which is soon when the clients are gone.
pub(super) async fn settle(connections: &Semaphore, most: usize) {
    let mut quiet = 0;
    for _ in 0..LOOKS {
        quiet = if connections.available_permits() == most { quiet + 1 } else { 0 };
        if quiet == SETTLED {
            return;
        }
        sleep(PAUSE).await;
    }
}
