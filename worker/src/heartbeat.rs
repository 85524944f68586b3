//! Keeps a lease alive while its job is being done, from a task of its own.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use store::{Beat, Lease};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::Shared;
use crate::stop::{Stop, Why};

/// A task that keeps a lease alive; it ends with this.
#[derive(Debug)]
pub(crate) struct Heartbeat(JoinHandle<()>);

impl Heartbeat {
    /// Renews a lease three times as often as it must be. A job whose lease is lost, or that is not wanted any more, is
    /// stopped. The lease counts from when it was asked for, however long the answer took.
    pub(crate) fn start(shared: Arc<Shared>, lease: Lease, asked: Instant, stop: Arc<Stop>) -> Self {
        Self(tokio::spawn(async move {
            beat(&shared, &lease, asked, &stop).await;
            stop.ask(Why::LeaseLost);
        }))
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Renews a lease until it is lost. A job that is not wanted any more is held until it has ended.
async fn beat(shared: &Shared, lease: &Lease, asked: Instant, stop: &Stop) {
    let period = shared.config.lease / 3;
    let mut last = asked;
    let mut held_until = asked + shared.config.lease;
    loop {
        tokio::select! {
            () = sleep_until(last + period) => {}
            () = shared.renew.notified() => {}
        }
        last = Instant::now();
        // A store that does not answer is no reason to stop as long as nobody else can have the job.
        let patience = held_until.max(last + period);
        match timeout_at(patience, shared.store.heartbeat(lease, expiry(shared))).await {
            Ok(Ok(Beat::Held)) => held_until = last + shared.config.lease,
            Ok(Ok(Beat::Cancelled)) => {
                held_until = last + shared.config.lease;
                stop.ask(Why::Cancelled);
            }
            Ok(Err(error)) if Instant::now() < held_until => {
                tracing::warn!(job = %lease.job, %error, "the lease of a job was not renewed");
            }
            Ok(Ok(Beat::Lost) | Err(_)) | Err(_) => return,
        }
    }
}

/// When a lease that is renewed now ends.
pub(crate) fn expiry(shared: &Shared) -> Timestamp {
    later(shared.clock.now(), shared.config.lease)
}

/// A time, and some time more.
pub(crate) fn later(time: Timestamp, more: std::time::Duration) -> Timestamp {
    SignedDuration::try_from(more).ok().and_then(|more| time.checked_add(more).ok()).unwrap_or(Timestamp::MAX)
}
