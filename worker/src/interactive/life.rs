//! Life of an interactive sandbox, from its claim to its end.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use engine::attempt::{Attempt, Keep};
use engine::backend::Identity;
use engine::baselines::Baselines;
use engine::event::{Event, Events};
use futures::FutureExt as _;
use serde_json::json;
use store::{HeldSandbox, StoreError};
use tokio::time::Instant;

use super::Interactive;
use crate::Shared;
use crate::execute::words_of;
use crate::heartbeat::Heartbeat;
use crate::notice::Notice;
use crate::sandboxes::LiveSandbox;
use crate::stop::{Stop, Why};

/// The longest time between two tries to write something down.
const LONGEST: Duration = Duration::from_secs(2);
/// Removing a sandbox, and writing down how it is, as things that are tried again.
const REMOVING: &str = "removing a sandbox";
const WRITING: &str = "writing down the state of a sandbox";
/// Number of tries to remove a sandbox.
const TRIES: u32 = 5;

/// Life of an interactive sandbox.
pub(crate) struct Life {
    pub(crate) shared: Arc<Shared>,
    pub(crate) interactive: Interactive,
    pub(crate) held: HeldSandbox,
    pub(crate) stop: Arc<Stop>,
}

/// The way a sandbox ended.
enum End {
    /// The sandbox ended in good order.
    Stopped,
    /// The sandbox could not be made, or is broken.
    Broken(String),
    /// The sandbox was not made, and another worker may make it.
    Returned,
}

impl Life {
    /// Makes the sandbox, keeps it for as long as it is wanted, and removes it. Its lease was asked for at this time.
    pub(crate) async fn run(self, asked: Instant) {
        let lease = self.held.lease.clone();
        let heartbeat = Heartbeat::start(Arc::clone(&self.shared), lease.clone(), asked, Arc::clone(&self.stop));
        let _ending = self.interactive.begin(&lease.sandbox, lease.epoch, Arc::clone(&self.stop));
        let opened = AssertUnwindSafe(self.open()).catch_unwind().await;
        let opened = opened.unwrap_or_else(|panic| Err(format!("the worker panicked: {}", words_of(&*panic))));
        let end = match opened {
            Ok(live) => {
                let end = self.keep(&live).await;
                self.remove(&*live).await;
                end
            }
            Err(message) => self.unmade(message),
        };
        self.interactive.forget(&lease.sandbox, lease.epoch);
        self.write_down(end).await;
        drop(heartbeat);
    }

    async fn open(&self) -> Result<Arc<dyn LiveSandbox>, String> {
        let sandbox = &self.held.sandbox;
        let opened = self.shared.library.open_sandbox(sandbox).await.map_err(|error| error.to_string())?;
        let attempt = Attempt {
            spec: &opened.spec,
            scenario: &opened.scenario,
            bundle: &opened.bundle,
            secrets: &opened.secrets,
            identity: Identity {
                experiment: sandbox.new.id.clone(),
                scenario: opened.scenario.id.to_string(),
                job: self.shared.ids.id(),
                attempt: self.held.lease.epoch,
            },
            permissions: self.shared.config.permissions.clone(),
            agent: None,
            machine: &self.shared.config.machine,
            // Nothing is compared there.
            baselines: &Baselines::new(opened.scenario.seed),
            started_at: self.shared.clock.now(),
            keep: Keep::Never,
            snapshot: opened.snapshot.as_ref(),
            session: None,
            prompt: None,
            sandbox_id: Some(&sandbox.new.id),
            approvals: None,
        };
        let id = sandbox.new.id.clone();
        let events = Events::to(move |event: Event| tracing::debug!(sandbox = %id, ?event, "a sandbox is being made"));
        let opened = self.shared.sandboxes.open(&attempt, &events, self.stop.token()).await;
        opened.map_err(|error| error.to_string())
    }

    /// Returns the end of a sandbox that could not be made.
    fn unmade(&self, message: String) -> End {
        match self.stop.why() {
            None => End::Broken(message),
            Some(Why::Released) => End::Returned,
            Some(Why::Cancelled | Why::LeaseLost) => End::Stopped,
        }
    }

    /// Keeps the sandbox open for requests until it has to end.
    async fn keep(&self, live: &Arc<dyn LiveSandbox>) -> End {
        self.interactive.ready(&self.held.lease.sandbox, Arc::clone(live));
        let services = json!(live.services());
        let lease = &self.held.lease;
        if !self.insist(|| self.shared.store.sandbox_ready(lease, &services)).await {
            self.stop.ask(Why::LeaseLost);
        }
        self.shared.observer.tell(Notice::SandboxReady { sandbox: lease.sandbox.clone() });
        let left = self.held.sandbox.expires_at.duration_since(self.shared.clock.now());
        tokio::select! {
            () = self.stop.token().cancelled() => End::Stopped,
            () = tokio::time::sleep(Duration::try_from(left).unwrap_or_default()) => End::Stopped,
            why = live.ended() => End::Broken(why),
        }
    }

    async fn remove(&self, live: &dyn LiveSandbox) {
        // Nobody asks any more, also when removing takes a while.
        self.stop.ask(Why::Released);
        let mut observer = self.shared.retries.observe(REMOVING);
        for tries in 1..=TRIES {
            let Err(error) = live.destroy().await else { return observer.succeeded() };
            if tries == TRIES {
                let message = format!("the sandbox {} is still there: {error}", self.held.lease.sandbox);
                self.shared.observer.tell(Notice::Problem(message));
            } else {
                observer.failed(error);
                tokio::time::sleep(pause(tries)).await;
            }
        }
    }

    async fn write_down(&self, end: End) {
        let (lease, store) = (&self.held.lease, &self.shared.store);
        let now = self.shared.clock.now();
        let lost = self.stop.why() == Some(Why::LeaseLost);
        let error = match end {
            End::Returned => {
                self.insist(|| store.release_sandbox(lease, self.shared.clock.now())).await;
                return;
            }
            End::Stopped => lost.then(|| "its worker was not heard of in time".to_owned()),
            End::Broken(message) => Some(message),
        };
        if lost {
            // Somebody else said so already, or will: there is no reason to insist.
            let _ = store.end_sandbox(lease, error.as_deref(), now).await;
        } else {
            self.insist(|| store.end_sandbox(lease, error.as_deref(), now)).await;
        }
        self.shared.observer.tell(Notice::SandboxEnded { sandbox: lease.sandbox.clone(), error });
    }

    /// Writes something down, however long the store does not answer, until the lease is lost; whether it still held.
    async fn insist<T>(&self, mut write: impl FnMut() -> T) -> bool
    where
        T: Future<Output = Result<bool, StoreError>>,
    {
        let mut observer = self.shared.retries.observe(WRITING);
        let mut tries = 0;
        loop {
            match write().await {
                Ok(held) => {
                    observer.succeeded();
                    return held;
                }
                Err(_) if self.stop.why() == Some(Why::LeaseLost) => return false,
                Err(error) => observer.failed(format_args!("{}: {error}", self.held.lease.sandbox)),
            };
            tries += 1;
            tokio::time::sleep(pause(tries)).await;
        }
    }
}

/// Returns the pause after this many tries.
fn pause(tries: u32) -> Duration {
    Duration::from_millis(100).saturating_mul(2_u32.saturating_pow(tries)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_are_bounded() {
        assert_eq!(pause(1), Duration::from_millis(200));
        assert_eq!(pause(60), LONGEST);
    }
}
