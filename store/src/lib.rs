//! The database of Touchstone: the queue, experiments, evidence and results.
//!
//! ```text
//! specs ◄── spec_versions, _tags   experiments ◄── runs ◄── scenarios ◄── verdicts, scores ──► score_rules
//!   ▲ ▲                                │   ▲        ▲           ▲
//!   │ └──── spec_files ──► blobs       │   │        │           └── jobs ◄── attempts (evidence)
//!   ├──────────────────────────────────┘   │        │           └── approvals, labels, contract_interventions
//!   │                                      │        └── events, traces, run_ends, score_requests
//!   └── sandboxes                          │                  └── alert_firings ──► alerts
//!                                          └── experiment_secrets
//! by themselves: api_keys, secrets, certificates, snapshots, datasets ◄── dataset_records ◄── record_tags, deliveries, idempotency,
//!                workers, counters, settings, baselines, contract_sessions ◄── contract_session_requests
//! ```
//!
//! Things that people make have an owner; '' is this machine's own. Lists are read in pages: see [`Page`].
//!
//! A [`Store`] is opened in a data directory: `touchstone.db`, and `evidence/` for what is too large for a row. Its rows can
//! be in a Postgres instead. What it is told about the time and about ids is passed in. All changes that belong together
//! become visible together.
//!
//! `db` is the only module that knows which database it is; `migrations/` has the tables.

mod alerts;
mod approvals;
mod artifact_owner;
mod artifacts;
mod attempts;
mod baselines;
mod certificates;
mod clock;
mod contract_interventions;
mod contract_sessions;
mod counters;
mod datasets;
mod db;
mod error;
mod events;
mod evidence;
mod experiments;
mod gc;
mod history;
mod idempotency;
mod ids;
mod json;
mod keys;
mod labels;
mod migrate;
mod newest;
mod number;
mod owned;
mod page;
mod past_runs;
mod prune;
mod queue;
mod reading;
mod rescored;
mod rescoring;
mod results;
mod retries;
mod run_ends;
mod runs;
mod sandboxes;
mod scores;
mod sealing;
mod secrets;
mod settings;
mod snapshots;
mod specs;
mod submission;
mod tables;
mod tags;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod time;
mod traces;
mod unreadable_spec;
mod wakeups;
mod workers;

use std::fs;
use std::path::Path;

pub use alerts::{Alert, Delivery, DeliveryState, Firing, NewAlert, NewDelivery, NewFiring};
pub use approvals::{
    Approval, ApprovalFilter, ApprovalNews, ApprovalStatus, Decided, Decision, DecisionKind, MadeDecision, NewApproval,
    NewsKind,
};
pub use artifact_owner::{ArtifactClaim, ArtifactOwner, PROBING};
pub use artifacts::{Artifact, Artifacts};
pub use attempts::{AttemptOutcome, StoredAttempt};
pub use baselines::{BaselineLine, NewBaseline, SaveTerms, Saved, baseline_candidate};
pub use certificates::StoredCertificate;
pub use clock::Clock;
pub use contract_sessions::{ContractSession, ContractSessionProgress, NewContractSession, SessionLimits};
pub use datasets::{Dataset, NewDataset, NewRecord, Record};
pub use error::StoreError;
pub use events::{NewEvent, StoredEvent};
pub use experiments::{Experiment, NewExperiment, Settings, StoredAgent};
pub use gc::{Garbage, Removed, Usage};
pub use history::{ComparableFilter, ComparableRun, HistoryFilter, InvariantCount, Past, PastStatus, RunNumbers};
pub use idempotency::{Once, Submitted};
pub use ids::{ExperimentId, Ids, JobId, Lane, RunId};
pub use keys::{ApiKey, NewKey, Scope};
pub use labels::{LabelFilter, NewLabel, StoredLabel};
pub use newest::newer_than;
pub use page::{Listed, Page};
pub use past_runs::past_runs;
pub use prune::{Prune, Pruned};
pub use queue::{
    Beat, ClaimRequest, Completion, Failure, Held, Kept, Lease, Limits, QueueDepth, RunScoring, SpecDepth, Summarise,
    WorkerId,
};
pub use reading::{
    Numbers, Printed, ReportParts, header, read_spec, report, report_without_output, spec_of, with_output,
};
pub use rescored::Rescored;
pub use rescoring::{Judged, JudgedOutputs, Version, experiment_name};
pub use results::{FoundScenario, ScenarioFilter, StoredScenario};
pub use retries::{Retries, RetryObserver};
pub use run_ends::RunEnd;
pub use runs::{NewJob, NewRun, Run, RunKind, RunState};
pub use sandboxes::{HeldSandbox, NewSandbox, Sandbox, SandboxClaim, SandboxFilter, SandboxLease, SandboxState};
pub use scenario::Demand;
pub use scores::{NewScore, NewScoreRule, Score, ScoreFilter, ScoreRequest, ScoreRule};
pub use sealing::MasterKey;
pub use snapshots::{NewSnapshot, Snapshot, Which, bundle_key};
pub use specs::{SpecContent, SpecFile, SpecVersion, StoredSpecVersion};
pub use submission::JobTerms;
pub use traces::{NewTrace, StoredTrace, TraceFilter};
pub use unreadable_spec::UnreadableSpec;
pub use wakeups::{Wakeup, Wakeups};
pub use workers::{NewWorker, Pulse, Worker};

use artifact_owner::Writable;
use db::Db;

/// The database in a data directory. Clones are the same store.
#[derive(Debug, Clone)]
pub struct Store {
    db: Db,
    artifacts: Artifacts,
    writable: Writable,
}

impl Store {
    /// Opens the store in a folder, making both when they are not there.
    pub async fn open(folder: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(folder).map_err(StoreError::files("make", folder))?;
        let db = Db::sqlite(&folder.join("touchstone.db")).await?;
        Self::new(db, Artifacts::folder(&folder.join("evidence"))?).tagged().await
    }

    /// The same store with its artifacts somewhere else.
    #[must_use]
    pub fn with_artifacts(self, artifacts: Artifacts) -> Self {
        Self::new(self.db, artifacts)
    }

    fn new(db: Db, artifacts: Artifacts) -> Self {
        Self { db, artifacts, writable: Writable::default() }
    }

    /// Where its artifacts are.
    #[must_use]
    pub fn artifacts(&self) -> &Artifacts {
        &self.artifacts
    }

    /// Opens the store whose rows are where a URL says, and whose files are in a folder: `postgres://…` is a database of a
    /// Postgres server, `sqlite:PATH` or a path is a SQLite file.
    pub async fn connect(url: &str, folder: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(folder).map_err(StoreError::files("make", folder))?;
        let db = match url.split_once(':') {
            Some(("postgres" | "postgresql", _)) => Db::postgres(url).await?,
            Some(("sqlite", path)) => Db::sqlite(Path::new(path.strip_prefix("//").unwrap_or(path))).await?,
            // The URL may have a password, which is not told.
            Some((scheme, rest)) if rest.starts_with("//") => {
                return Err(StoreError::DatabaseUrl(format!("`{scheme}` is neither `postgres` nor `sqlite`")));
            }
            _ => Db::sqlite(Path::new(url)).await?,
        };
        Self::new(db, Artifacts::folder(&folder.join("evidence"))?).tagged().await
    }

    /// Ends all connections; what was kept stays.
    pub async fn close(&self) {
        self.db.close().await;
    }
}
