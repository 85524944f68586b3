//! Measures how much the agent asks of its provider. Beyond these bounds, an overloaded provider is the agent's own doing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The time over which calls and bytes are added up.
const WINDOW: Duration = Duration::from_secs(60);

/// The most that an agent may ask of a provider whose spec sets no `model.limits.max_calls`.
#[derive(Debug, Clone, Copy)]
pub struct PaceLimits {
    /// Calls under way at once.
    pub calls_at_once: usize,
    /// Calls that begin within a minute.
    pub calls_a_minute: usize,
    /// Bytes of the requests that begin within a minute.
    pub bytes_a_minute: u64,
}

impl Default for PaceLimits {
    fn default() -> Self {
        Self { calls_at_once: 32, calls_a_minute: 600, bytes_a_minute: 64 * 1024 * 1024 }
    }
}

/// The calls of an agent in the last minute.
#[derive(Debug)]
pub(super) struct Pace {
    /// `None` when the spec says itself how many calls are allowed.
    limits: Option<PaceLimits>,
    measured: Mutex<Measured>,
}

#[derive(Debug, Default)]
struct Measured {
    begun: VecDeque<(Instant, u64)>,
    bytes: u64,
    under_way: usize,
    /// Never taken back: a provider may need long to recover from a flood.
    exceeded: Option<String>,
}

/// A call that is under way until this is dropped.
#[derive(Debug)]
pub(super) struct UnderWay(Arc<Pace>);

impl Pace {
    pub(super) fn new(limits: Option<PaceLimits>) -> Arc<Self> {
        Arc::new(Self { limits, measured: Mutex::default() })
    }

    /// Counts a call.
    pub(super) fn begin(self: &Arc<Self>, bytes: usize) -> UnderWay {
        self.begin_at(Instant::now(), bytes)
    }

    fn begin_at(self: &Arc<Self>, now: Instant, bytes: usize) -> UnderWay {
        let mut measured = self.measured();
        measured.under_way += 1;
        if let Some(limits) = self.limits {
            measured.add(now, bytes as u64);
            let exceeded = measured.exceeds(&limits);
            measured.exceeded = measured.exceeded.take().or(exceeded);
        }
        UnderWay(Arc::clone(self))
    }

    /// The bound that the agent went beyond, if it did.
    pub(super) fn exceeded(&self) -> Option<String> {
        self.measured().exceeded.clone()
    }

    fn measured(&self) -> MutexGuard<'_, Measured> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Measured {
    fn add(&mut self, now: Instant, bytes: u64) {
        while self.begun.front().is_some_and(|(begun, _)| now.duration_since(*begun) >= WINDOW) {
            self.bytes -= self.begun.pop_front().map_or(0, |(_, bytes)| bytes);
        }
        self.begun.push_back((now, bytes));
        self.bytes += bytes;
    }

    fn exceeds(&self, limits: &PaceLimits) -> Option<String> {
        if self.under_way > limits.calls_at_once {
            return Some(format!("more than {} calls at once", limits.calls_at_once));
        }
        if self.begun.len() > limits.calls_a_minute {
            return Some(format!("more than {} calls within a minute", limits.calls_a_minute));
        }
        let most = limits.bytes_a_minute;
        (self.bytes > most).then(|| format!("more than {most} bytes of requests within a minute"))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut measured = self.0.measured();
        measured.under_way = measured.under_way.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::{Pace, PaceLimits, WINDOW};

    const LIMITS: PaceLimits = PaceLimits { calls_at_once: 2, calls_a_minute: 4, bytes_a_minute: 100 };

    #[test]
    fn each_bound_is_named_and_stays_exceeded() {
        let pace = Pace::new(Some(LIMITS));
        let held: Vec<_> = (0..2).map(|_| pace.begin(1)).collect();
        assert_eq!(pace.exceeded(), None);
        drop(pace.begin(1));
        drop(held);
        assert_eq!(pace.exceeded().as_deref(), Some("more than 2 calls at once"));

        let (pace, now) = (Pace::new(Some(LIMITS)), Instant::now());
        (0..4).for_each(|_| drop(pace.begin_at(now, 1)));
        assert_eq!(pace.exceeded(), None);
        drop(pace.begin_at(now + WINDOW / 2, 1));
        drop(pace.begin_at(now + WINDOW * 2, 1));
        assert_eq!(pace.exceeded().as_deref(), Some("more than 4 calls within a minute"));

        let pace = Pace::new(Some(LIMITS));
        drop(pace.begin(101));
        assert_eq!(pace.exceeded().as_deref(), Some("more than 100 bytes of requests within a minute"));
    }

    #[test]
    fn a_minute_later_calls_count_anew_and_declared_limits_go_before() {
        let (pace, now) = (Pace::new(Some(LIMITS)), Instant::now());
        for minute in 0..5 {
            (0..4).for_each(|_| drop(pace.begin_at(now + WINDOW * minute, 25)));
        }
        assert_eq!(pace.exceeded(), None);
        let declared = Pace::new(None);
        (0..99).for_each(|_| drop(declared.begin(99)));
        assert_eq!(declared.exceeded(), None);
    }
}
