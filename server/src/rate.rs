//! Rate limits per key.

use governor::clock::{Clock as _, DefaultClock};
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::config::Config;
use crate::error::ApiError;

type Limiter = RateLimiter<String, HashMapStateStore<String>, DefaultClock>;

/// The number of keys after which idle ones are removed.
const REMEMBERED: usize = 10_000;

/// Rate limits per key.
#[derive(Debug)]
pub(crate) struct Rates {
    reads: Option<Limiter>,
    writes: Option<Limiter>,
}

impl Rates {
    pub(crate) fn new(config: &Config) -> Self {
        let limiter = |a_second| RateLimiter::hashmap(Quota::per_second(a_second));
        Self { reads: config.reads_a_second.map(limiter), writes: config.writes_a_second.map(limiter) }
    }

    /// Counts a request of a key, and refuses it when there were too many.
    pub(crate) fn count(&self, key: &str, writes: bool) -> Result<(), ApiError> {
        let Some(limiter) = (if writes { &self.writes } else { &self.reads }) else { return Ok(()) };
        if limiter.len() > REMEMBERED {
            limiter.retain_recent();
        }
        limiter.check_key(&key.to_owned()).map_err(|early| {
            let wait = early.wait_time_from(DefaultClock::default().now());
            ApiError::too_often(wait.as_secs() + 1)
        })
    }
}
