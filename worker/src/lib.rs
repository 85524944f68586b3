//! Takes jobs, runs them through the engine, and keeps evidence and verdicts.
//!
//! ```text
//!  tick: claim ─► run ─► judge ─► complete        wait: a job ended, one is ready, or some time has passed
//!                  │        └ a job of ours that was retried, cancelled or lost ends without a verdict
//!                  └ heartbeat, from a task of its own: a lease that is lost stops its sandbox
//! ```
//!
//! A [`Worker`] is given everything that it cannot know ([`Parts`]): the store, the engine that runs scenarios, the
//! time, ids, the liveness of other processes, and secrets. `touchstone run` is a worker that ends when its queue is
//! empty; a service ([`Worker::run`]) goes on, registers itself, and has sandboxes that people work in
//! ([`Interactive`]).

mod approvals;
mod artifact_place;
mod bundles;
mod completion;
mod config;
mod control;
mod control_port;
mod dependencies;
mod engine_health;
mod execute;
mod heartbeat;
mod idle_reason;
mod interactive;
mod journal;
mod maintenance;
mod notice;
mod reaper;
mod registration;
mod run_cache;
mod sandboxes;
mod scoring;
mod service;
mod slots;
mod stop;
mod traces;
mod uploads;
mod wakeup_listener;
mod worker;

use std::sync::Arc;

use store::{Clock, Ids, Retries, Store};
use tokio::sync::Notify;

pub use config::{Config, KeepSandbox, Service};
pub use control::Control;
pub use control_port::serve_control;
pub use dependencies::{NoSnapshots, OwnersOf, Peers, RandomIds, Secrets, Snapshots, Unavailable};
pub use interactive::Interactive;
pub use notice::{About, Notice, Observer};
pub use run_cache::bundle_folder;
pub use sandboxes::{LiveSandbox, OnBackend, Sandboxes};
pub use uploads::StoredSnapshots;
pub use worker::{Ticked, Worker};

use engine_health::Absence;
use journal::Journal;
use run_cache::Library;

/// Parts that a worker is made of.
#[derive(Debug)]
pub struct Parts {
    /// Permissions and limits of the worker.
    pub config: Config,
    /// Store that has the jobs and keeps the results.
    pub store: Store,
    /// Runs scenarios.
    pub sandboxes: Arc<dyn Sandboxes>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Arc<dyn Ids>,
    /// Tells which other processes are alive.
    pub peers: Arc<dyn Peers>,
    /// The values of secrets.
    pub secrets: Arc<dyn Secrets>,
    /// Agents that were uploaded.
    pub snapshots: Arc<dyn Snapshots>,
    /// Receives the notices.
    pub observer: Observer,
}

/// State that all jobs of a worker share.
#[derive(Debug)]
struct Shared {
    config: Config,
    store: Store,
    sandboxes: Arc<dyn Sandboxes>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    peers: Arc<dyn Peers>,
    observer: Observer,
    library: Library,
    journal: Journal,
    /// Notified when leases are to be renewed at once: a run may have been cancelled.
    renew: Notify,
    absence: Absence,
    /// Operations that fail and are retried.
    retries: Retries,
}

impl Shared {
    fn new(parts: Parts) -> Self {
        let Parts { config, store, sandboxes, clock, ids, peers, secrets, snapshots, observer } = parts;
        let journal = Journal::of(store.clone(), Arc::clone(&clock));
        let needed = (secrets, snapshots);
        let watching = observer.clone();
        let retries = Retries::told_to(move |problem| watching.tell(Notice::Problem(problem)));
        let library = Library::new(store.clone(), needed, config.bundles.clone(), config.scratch.clone());
        Self {
            config,
            store,
            sandboxes,
            clock,
            ids,
            peers,
            observer,
            library,
            journal,
            renew: Notify::new(),
            absence: Absence::default(),
            retries,
        }
    }
}
