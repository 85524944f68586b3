//! A sandbox that somebody works in from outside, as with a tool: commands, files, and looking around.
//!
//! Its world is prepared like that of a scenario, and then no agent acts: whoever opened it does. The network is as while an
//! agent acts. What comes out of it (output, files, paths, messages) is without the values of its secrets, like everything
//! else that leaves a sandbox.

mod command;
mod files;
mod opening;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gateways::ingress::Ingress;
use jiff::Timestamp;
use rustix::io::Errno;
use scenario::interactive::{Ask, Refusal, RefusalKind, Reply, ServiceState};
use serde_json::Value as Json;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::agent;
use crate::attempt::Attempt;
use crate::backend::Backend;
use crate::door::DoorError;
use crate::environment::Environment;
use crate::error::EngineError;
use crate::event::Events;
use crate::world::World;

/// Number of commands that are followed at once.
const COMMANDS: usize = 16;
/// Number of requests about files that are answered at once.
const FILES: usize = 8;
/// Interval of checks whether the sandbox is still as it should be.
const LOOK: Duration = Duration::from_secs(1);

/// A sandbox that somebody works in. It has to be destroyed: dropping it only tells that it was not.
#[derive(Debug)]
pub struct Session {
    live: Arc<Live>,
    services: BTreeMap<String, ServiceState>,
    destroyed: AtomicBool,
}

/// State that a command that is being followed needs, also when nobody waits for it any more.
#[derive(Debug)]
struct Live {
    world: World,
    /// Environment of commands: the same as that of an agent.
    environment: Environment,
    started: Instant,
    started_at: Timestamp,
    commands: Semaphore,
    files: Semaphore,
    /// The ways in from this machine, which close with it.
    _ways_in: Vec<Ingress>,
}

impl Session {
    /// Prepares the world of an attempt, whose spec needs no agent, and lets nobody act in it.
    ///
    /// When opening fails or is cancelled, nothing is left.
    pub async fn open(
        backend: &dyn Backend,
        attempt: &Attempt<'_>,
        events: &Events,
        cancel: &CancellationToken,
    ) -> Result<Self, EngineError> {
        opening::open(backend, attempt, events, cancel).await
    }

    /// Answers a question, whichever sandbox it names.
    pub async fn answer(&self, ask: Ask) -> Result<Reply, Refusal> {
        match ask {
            Ask::Command { command, timeout_ms, background, .. } => {
                let timeout = timeout_ms.map(Duration::from_millis);
                self.command(&command, timeout, background).await.map(Reply::Command)
            }
            Ask::Write { path, content, .. } => self.write(&path, content.0).await.map(|()| Reply::Done),
            Ask::Read { path, .. } => self.read(&path).await.map(Reply::File),
            Ask::Remove { path, .. } => self.remove(&path).await.map(|()| Reply::Done),
            Ask::State { .. } => self.state().await.map(Reply::State),
            Ask::Diff { .. } => self.diff().await.map(Reply::Diff),
            Ask::Reported { .. } => Ok(Reply::Events(self.reported())),
            Ask::Destroy { .. } => {
                let failed = |error: EngineError| self.live.refusal(RefusalKind::Failed, &error.to_string());
                self.destroy().await.map(|()| Reply::Done).map_err(failed)
            }
        }
    }

    /// Returns the reports of a Keystone SDK inside, in its order and without secrets.
    #[must_use]
    pub fn reported(&self) -> Vec<Json> {
        self.live.world.gateways.reported()
    }

    /// Returns the addresses of its services as seen from inside, by name.
    #[must_use]
    pub fn services(&self) -> &BTreeMap<String, ServiceState> {
        &self.services
    }

    /// The name under which it can be found without our database.
    #[must_use]
    pub fn name(&self) -> &str {
        self.live.world.sandbox.name()
    }

    /// Returns true if it can still be asked something.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        !self.destroyed.load(Ordering::Acquire) && !self.live.world.sandbox.door().is_closed()
    }

    /// Waits until it cannot go on, and says why: it ended, or it wrote more than it may. It is still to be destroyed then.
    pub async fn ended(&self) -> String {
        loop {
            tokio::time::sleep(LOOK).await;
            let world = &self.live.world;
            if world.sandbox.door().is_closed() {
                return format!("the sandbox ended: {}", world.sandbox.post_mortem().await.description);
            }
            if let Ok(Some(fired)) = agent::written_over_image(world).await {
                return fired.detail;
            }
        }
    }

    /// Removes it and everything that it had. Can be called again.
    pub async fn destroy(&self) -> Result<(), EngineError> {
        self.live.world.sandbox.destroy().await?;
        self.destroyed.store(true, Ordering::Release);
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.destroyed.load(Ordering::Acquire) {
            let name = self.name();
            tracing::error!(sandbox = name, "the sandbox {name} was not removed; a sweep will do it");
        }
    }
}

impl Live {
    /// The time of day.
    fn now(&self) -> Timestamp {
        self.started_at + self.started.elapsed()
    }

    /// A refusal without secrets.
    fn refusal(&self, kind: RefusalKind, message: &str) -> Refusal {
        Refusal::new(kind, self.world.redactor.text(message))
    }

    /// Returns the refusal for an error of the doorkeeper.
    fn refused(&self, error: &DoorError) -> Refusal {
        let kind = match error {
            DoorError::Closed { .. } => RefusalKind::Gone,
            DoorError::Silent { .. } | DoorError::Late { .. } => RefusalKind::TimedOut,
            error => error.errno().map_or(RefusalKind::Failed, kind_of),
        };
        self.refusal(kind, &error.to_string())
    }
}

/// Returns the kind of refusal for the kernel's error on a path. A path that may not be looked at is never absent.
fn kind_of(errno: Errno) -> RefusalKind {
    match errno {
        Errno::NOENT | Errno::NOTDIR => RefusalKind::NotFound,
        Errno::ACCESS | Errno::PERM | Errno::ROFS => RefusalKind::Denied,
        Errno::XDEV | Errno::ISDIR | Errno::NXIO | Errno::LOOP | Errno::NAMETOOLONG | Errno::INVAL => {
            RefusalKind::Invalid
        }
        Errno::FBIG => RefusalKind::TooLarge,
        Errno::BUSY => RefusalKind::Busy,
        _ => RefusalKind::Failed,
    }
}

/// Takes one of a few places, or refuses.
fn place<'a>(places: &'a Semaphore, what: &str) -> Result<SemaphorePermit<'a>, Refusal> {
    let busy = |_| Refusal::new(RefusalKind::Busy, format!("too many {what} at once in this sandbox; try again"));
    places.try_acquire().map_err(busy)
}
