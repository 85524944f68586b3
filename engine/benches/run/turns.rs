//! Turns of one way, and what is said of them.

use std::time::Duration;

/// Some scenarios.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    /// Number of scenarios.
    pub(crate) count: usize,
    /// Duration of all of them.
    pub(crate) wall: Duration,
    /// The processor time of who ran them; that of Docker is not in it.
    pub(crate) cpu: Duration,
}

/// Turns with the same number of scenarios.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turns(Vec<Turn>);

impl Turns {
    /// Adds a turn.
    pub(crate) fn add(&mut self, turn: Turn) {
        self.0.push(turn);
    }

    /// Milliseconds of each scenario when all of a turn are shared out: the median of the turns.
    pub(crate) fn wall_each(&self) -> f64 {
        median(self.0.iter().map(|turn| each(turn.wall, turn.count)))
    }

    /// Milliseconds of processor time of each scenario: the median of the turns.
    pub(crate) fn cpu_each(&self) -> f64 {
        median(self.0.iter().map(|turn| each(turn.cpu, turn.count)))
    }

    /// Scenarios a minute.
    pub(crate) fn per_minute(&self) -> f64 {
        60_000.0 / self.wall_each()
    }

    /// The lowest and highest share of others' throughput in one round.
    pub(crate) fn shares_of(&self, others: &Self) -> (f64, f64) {
        let shares = self.0.iter().zip(&others.0);
        let shares = shares.map(|(own, other)| other.wall.as_secs_f64() / own.wall.as_secs_f64());
        shares.fold((f64::INFINITY, 0.0), |(low, high), share| (low.min(share), high.max(share)))
    }
}

fn each(duration: Duration, count: usize) -> f64 {
    duration.as_secs_f64() * 1000.0 / count as f64
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}
