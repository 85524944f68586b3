//! Series of times, and what is said of them.

use std::time::Duration;

use crate::milliseconds;
use crate::side_by_side::side_by_side;

/// Times of one kind.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    name: String,
    times: Vec<Duration>,
}

impl Series {
    /// No times yet.
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), times: Vec::new() }
    }

    /// Adds a measurement.
    pub(crate) fn add(&mut self, time: Duration) {
        self.times.push(time);
    }

    /// The time that half of them do not exceed.
    pub(crate) fn median(&self) -> Duration {
        self.quantile(50)
    }

    fn quantile(&self, percent: usize) -> Duration {
        let mut sorted = self.times.clone();
        sorted.sort_unstable();
        let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
        sorted.get(index).copied().unwrap_or_default()
    }

    /// A row of a table.
    pub(crate) fn row(&self) -> String {
        let cells = [self.quantile(50), self.quantile(95), self.quantile(0)].map(milliseconds);
        format!("| {} | {} |", self.name, cells.join(" | "))
    }
}

/// Measures cycles per minute with this many side by side.
pub(crate) async fn per_minute<F: Future>(total: usize, width: usize, cycle: impl Fn() -> F) -> f64 {
    total as f64 / side_by_side(total, width, cycle).await.as_secs_f64() * 60.0
}
