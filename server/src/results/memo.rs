//! A cache of what is computed from a run's results: once for each scenario that ends, and shared by all requests.

use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Tag;
use crate::cache::Cache;
use crate::error::ApiError;

/// The number of locks, and so of concurrent computations.
const LOCKS: usize = 64;
/// Results of a running run with more scenarios than this are shown for a while although newer ones exist: computing
/// them takes long to make, and as often as a scenario ends.
const MANY: u64 = 200;
/// The time that they are shown, per scenario.
const EACH: Duration = Duration::from_millis(1);
/// But no longer than this.
const LONGEST: Duration = Duration::from_secs(2);

/// Computes the oldest age of shown results of a running run with so many ended scenarios.
pub(crate) fn oldest(ended: u64) -> Duration {
    let more = u32::try_from(ended.saturating_sub(MANY)).unwrap_or(u32::MAX);
    EACH.saturating_mul(more).min(LONGEST)
}

/// Something that was made of a run's results.
#[derive(Debug)]
pub(crate) struct Made<T> {
    /// The state that it shows.
    pub(crate) tag: Tag,
    /// The thing.
    pub(crate) thing: T,
    /// Until when it is good enough for a run that goes on.
    until: Instant,
}

impl<T> Made<T> {
    /// True when it can be shown for this state of the run.
    fn is_good(&self, now: Tag) -> bool {
        let is_recent = || self.tag.is_open() && now.is_open() && Instant::now() < self.until;
        self.tag == now || is_recent()
    }
}

/// Things by their keys, as far as they are remembered.
#[derive(Debug)]
pub(super) struct Remembered<K, T> {
    things: Cache<K, Arc<Made<T>>>,
    /// Whoever makes a thing holds one of them, so that others wait instead of making it too.
    locks: Vec<Mutex<()>>,
}

impl<K: Clone + Eq + Hash, T> Remembered<K, T> {
    /// Things of so many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        Self { things: Cache::new(bytes), locks: (0..LOCKS).map(|_| Mutex::default()).collect() }
    }

    /// The thing that can be shown for this state of its run.
    pub(super) fn known(&self, key: &K, now: Tag) -> Option<Arc<Made<T>>> {
        self.things.get(key).filter(|made| made.is_good(now))
    }

    /// The thing that can be shown for this state of its run, made now if there is none. `make` says how many bytes it
    /// has.
    pub(super) async fn of(
        &self,
        key: K,
        now: Tag,
        make: impl Future<Output = Result<(T, usize), ApiError>>,
    ) -> Result<Arc<Made<T>>, ApiError> {
        if let Some(made) = self.known(&key, now) {
            return Ok(made);
        }
        let _alone = self.lock(&key).lock().await;
        if let Some(made) = self.known(&key, now) {
            return Ok(made);
        }
        let (thing, bytes) = make.await?;
        let made = Arc::new(Made { tag: now, thing, until: Instant::now() + oldest(now.ended()) });
        self.things.put(key, Arc::clone(&made), bytes);
        Ok(made)
    }

    fn lock(&self, key: &K) -> &Mutex<()> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let index = usize::try_from(hasher.finish() % LOCKS as u64).unwrap_or(0);
        &self.locks[index]
    }
}
