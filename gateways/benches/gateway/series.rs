//! Series of times.

use std::time::Duration;

/// Times of one kind.
#[derive(Debug, Default)]
pub(crate) struct Series {
    times: Vec<Duration>,
}

impl Series {
    /// Adds a measurement.
    pub(crate) fn add(&mut self, time: Duration) {
        self.times.push(time);
    }

    /// Returns the time that this many of a hundred do not exceed.
    pub(crate) fn quantile(&self, percent: usize) -> Duration {
        let mut sorted = self.times.clone();
        sorted.sort_unstable();
        let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
        sorted.get(index).copied().unwrap_or_default()
    }
}
