//! Takes jobs, runs them through the engine, and keeps evidence and verdicts.
//!
//! ```text
//!  tick: claim ─► run ─► judge ─► complete        wait: a job ended, one is ready, or some time has passed
//!                  │        └ a job of ours that was retried, cancelled or lost ends without a verdict
//!                  └ heartbeat, from a task of its own: a lease that is lost stops its sandbox
//! ```
//!
//! A [`Worker`] is given everything that it cannot know ([`Parts`]): the store, what runs scenarios, the time, ids, who else
//! lives, and secrets. `touchstone run` is a worker that ends when its queue is empty.

mod bundles;
mod config;
mod control;
mod ending;
mod execute;
mod heartbeat;
mod journal;
mod library;
mod notice;
mod numbers;
mod reaper;
mod record;
mod sandboxes;
mod slots;
mod stop;
mod surroundings;
mod upkeep;
mod worker;

use std::sync::Arc;

use store::Store;

pub use config::{Config, KeepSandbox};
pub use control::Control;
pub use library::{bundle_folder, chosen_agent, read_spec};
pub use notice::{About, Notice, Observer};
pub use numbers::Numbers;
pub use sandboxes::{OnBackend, Sandboxes};
pub use surroundings::{Clock, Ids, OwnersOf, Peers, RandomIds, Secrets};
pub use worker::{Ticked, Worker};

use journal::Journal;
use library::Library;

/// Everything that a worker is given.
#[derive(Debug)]
pub struct Parts {
    /// What it may do.
    pub config: Config,
    /// Where jobs come from, and where everything is kept.
    pub store: Store,
    /// What runs scenarios.
    pub sandboxes: Arc<dyn Sandboxes>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Arc<dyn Ids>,
    /// Who else lives.
    pub peers: Arc<dyn Peers>,
    /// The values of secrets.
    pub secrets: Arc<dyn Secrets>,
    /// Who watches.
    pub observer: Observer,
}

/// What all jobs of a worker share.
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
}

impl Shared {
    fn new(parts: Parts) -> Self {
        let Parts { config, store, sandboxes, clock, ids, peers, secrets, observer } = parts;
        let journal = Journal::of(store.clone(), Arc::clone(&clock));
        let library = Library::new(store.clone(), secrets, config.bundles.clone(), config.scratch.clone());
        Self { config, store, sandboxes, clock, ids, peers, observer, library, journal }
    }
}
