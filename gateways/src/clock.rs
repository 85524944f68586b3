//! The time since the agent started.

use std::sync::OnceLock;

use tokio::time::Instant;

/// A clock that all gateways of a sandbox share. It stands at zero until the agent starts.
#[derive(Debug, Default)]
pub struct Clock {
    started: OnceLock<Instant>,
}

impl Clock {
    /// Starts the clock; a second call changes nothing.
    pub fn start(&self) {
        self.started.get_or_init(Instant::now);
    }

    /// Milliseconds since [`start`](Self::start); zero before.
    #[must_use]
    pub fn elapsed_ms(&self) -> u64 {
        self.started.get().map_or(0, |started| u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;

    #[test]
    fn a_clock_stands_at_zero_until_it_starts() {
        let clock = Clock::default();
        assert_eq!(clock.elapsed_ms(), 0);
        clock.start();
        while clock.elapsed_ms() < 3 {
            std::thread::yield_now();
        }
        clock.start();
        assert!(clock.elapsed_ms() >= 3, "a second start changes nothing");
    }
}
