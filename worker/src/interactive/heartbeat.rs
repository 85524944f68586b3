//! Keeps the lease of a sandbox alive, from a task of its own.

use std::sync::Arc;

use store::{SandboxBeat, SandboxLease};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::Shared;
use crate::heartbeat::expiry;
use crate::stop::{Stop, Why};

/// A task that keeps a lease alive; it ends with this.
#[derive(Debug)]
pub(super) struct Heartbeat(JoinHandle<()>);

impl Heartbeat {
    /// Renews a lease three times as often as it must be. A sandbox whose lease is lost, or that is not wanted any more, is
    /// ended. The lease counts from when it was asked for, however long the answer took.
    pub(super) fn start(shared: Arc<Shared>, lease: SandboxLease, asked: Instant, stop: Arc<Stop>) -> Self {
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

/// Renews a lease until it is lost. A sandbox that is not wanted any more is held until it has ended.
async fn beat(shared: &Shared, lease: &SandboxLease, asked: Instant, stop: &Stop) {
    let period = shared.config.lease / 3;
    let (mut last, mut held_until) = (asked, asked + shared.config.lease);
    loop {
        tokio::select! {
            () = sleep_until(last + period) => {}
            () = shared.renew.notified() => {}
        }
        last = Instant::now();
        let now = shared.clock.now();
        // A store that does not answer is no reason to end as long as nobody can think that the sandbox is lost.
        let patience = held_until.max(last + period);
        match timeout_at(patience, shared.store.heartbeat_sandbox(lease, now, expiry(shared))).await {
            Ok(Ok(SandboxBeat::Held)) => held_until = last + shared.config.lease,
            Ok(Ok(SandboxBeat::Unwanted)) => {
                held_until = last + shared.config.lease;
                stop.ask(Why::Cancelled);
            }
            Ok(Err(error)) if Instant::now() < held_until => {
                tracing::warn!(sandbox = %lease.sandbox, %error, "the lease of a sandbox was not renewed");
            }
            Ok(Ok(SandboxBeat::Lost) | Err(_)) | Err(_) => return,
        }
    }
}
