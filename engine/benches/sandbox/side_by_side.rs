//! Doing the same thing often, several at once.

use std::time::Duration;

use futures::StreamExt as _;
use tokio::time::Instant;

/// Measures the duration of all cycles with this many side by side.
pub(crate) async fn side_by_side<F: Future>(total: usize, width: usize, cycle: impl Fn() -> F) -> Duration {
    let started = Instant::now();
    futures::stream::iter(0..total).map(|_| cycle()).buffer_unordered(width).for_each(|_| async {}).await;
    started.elapsed()
}
