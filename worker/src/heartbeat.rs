//! Keeps the lease of a job or a sandbox alive while it is worked on, from a task of its own.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use store::{Beat, Lease, SandboxLease, StoreError};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::Shared;
use crate::stop::{Stop, Why};

/// Renewing a lease, as something that is tried again.
const RENEWING: &str = "renewing a lease";

/// A task that keeps a lease alive; it ends with this.
#[derive(Debug)]
pub(crate) struct Heartbeat(JoinHandle<()>);

/// A lease that can be renewed.
pub(crate) trait Renew: Send + Sync + 'static {
    /// Renews it, counted from now.
    fn renew(&self, shared: &Shared) -> impl Future<Output = Result<Beat, StoreError>> + Send;
}

impl Renew for Lease {
    async fn renew(&self, shared: &Shared) -> Result<Beat, StoreError> {
        shared.store.heartbeat(self, expiry(shared)).await
    }
}

impl Renew for SandboxLease {
    async fn renew(&self, shared: &Shared) -> Result<Beat, StoreError> {
        shared.store.heartbeat_sandbox(self, shared.clock.now(), expiry(shared)).await
    }
}

impl Heartbeat {
    /// Renews a lease three times as often as it must be. Work whose lease is lost, or that is not wanted any more, is
    /// stopped. The lease counts from when it was asked for, however long the answer took.
    pub(crate) fn start(shared: Arc<Shared>, lease: impl Renew, asked: Instant, stop: Arc<Stop>) -> Self {
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

/// Renews a lease until it is lost. Work that is not wanted any more is held until it has ended.
async fn beat(shared: &Shared, lease: &impl Renew, asked: Instant, stop: &Stop) {
    let period = shared.config.lease / 3;
    let mut last = asked;
    let mut held_until = asked + shared.config.lease;
    let mut observer = shared.retries.observe(RENEWING);
    loop {
        tokio::select! {
            () = sleep_until(last + period) => {}
            () = shared.renew.notified() => {}
        }
        last = Instant::now();
        // A store that does not answer is no reason to stop as long as nobody else can have the lease.
        let patience = held_until.max(last + period);
        match timeout_at(patience, lease.renew(shared)).await {
            Ok(Ok(Beat::Held)) => {
                held_until = last + shared.config.lease;
                observer.succeeded();
            }
            Ok(Ok(Beat::Cancelled)) => {
                held_until = last + shared.config.lease;
                stop.ask(Why::Cancelled);
            }
            Ok(Err(error)) if Instant::now() < held_until => {
                observer.failed(error);
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
