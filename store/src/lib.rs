//! The database of Touchstone: the queue, experiments, evidence and results.
//!
//! ```text
//! specs ◄── spec_versions          experiments ◄── runs ◄── scenarios ◄── verdicts
//!   ▲ ▲                                │                        ▲
//!   │ └──── spec_files ──► blobs       │                        └── jobs ◄── attempts (evidence)
//!   └──────────────────────────────────┘              runs ◄── events
//! ```
//!
//! A [`Store`] is opened in a data directory: `touchstone.db`, and `evidence/` for what is too large for a row. What it is
//! told about the time and about ids is passed in. All changes that belong together become visible together.
//!
//! `db` is the only file that knows which database it is; `migrations/` has the tables.

mod attempts;
mod db;
mod error;
mod events;
mod evidence;
mod experiments;
mod gc;
mod ids;
mod json;
mod migrate;
mod number;
mod queue;
mod rescored;
mod results;
mod runs;
mod specs;
mod tables;
mod time;

use std::fs;
use std::path::Path;

pub use attempts::{AttemptOutcome, StoredAttempt};
pub use error::StoreError;
pub use events::{NewEvent, StoredEvent};
pub use experiments::{Experiment, NewExperiment, Settings};
pub use gc::{Garbage, Removed};
pub use ids::{ExperimentId, JobId, Lane, RunId};
pub use queue::{Beat, ClaimRequest, Completion, Failure, Held, Kept, Lease, Summarise, WorkerId};
pub use rescored::Rescored;
pub use results::StoredScenario;
pub use runs::{Demand, NewJob, NewRun, Run, RunKind, RunState};
pub use specs::{SpecContent, SpecFile, SpecVersion};

use db::Db;
use evidence::Bodies;

/// The database in a data directory. Clones are the same store.
#[derive(Debug, Clone)]
pub struct Store {
    db: Db,
    bodies: Bodies,
}

impl Store {
    /// Opens the store in a folder, making both when they are not there.
    pub async fn open(folder: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(folder).map_err(StoreError::files("make", folder))?;
        let db = Db::sqlite(&folder.join("touchstone.db")).await?;
        Ok(Self { db, bodies: Bodies::at(folder.join("evidence")) })
    }

    /// Ends all connections; what was kept stays.
    pub async fn close(&self) {
        self.db.close().await;
    }
}
