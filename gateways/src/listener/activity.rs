//! Measures the time for which nothing has happened on a connection.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

/// The requests under way on a connection, and since when nothing happens on it.
#[derive(Debug)]
pub struct Activity {
    under_way: AtomicUsize,
    idle_since: Mutex<Instant>,
}

/// A request that is under way until this is dropped.
#[derive(Debug)]
pub struct UnderWay(Arc<Activity>);

impl Activity {
    /// A connection that has just begun.
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { under_way: AtomicUsize::new(0), idle_since: Mutex::new(Instant::now()) })
    }

    /// Notes that a request came.
    #[must_use]
    pub fn begin(self: &Arc<Self>) -> UnderWay {
        self.under_way.fetch_add(1, Ordering::AcqRel);
        UnderWay(Arc::clone(self))
    }

    /// Notes that something happened.
    pub(super) fn touch(&self) {
        *self.idle_since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns when no request was under way and nothing happened for so long.
    pub(super) async fn idle_for(&self, wait: Duration) {
        loop {
            if self.under_way.load(Ordering::Acquire) > 0 {
                sleep(wait).await;
                continue;
            }
            let until = *self.idle_since.lock().unwrap_or_else(PoisonError::into_inner) + wait;
            if until <= Instant::now() {
                return;
            }
            sleep_until(until).await;
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.touch();
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}
