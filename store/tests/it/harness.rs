//! A store in a folder of its own, with a clock and ids that are the same each time.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use indexmap::IndexMap;
use jiff::Timestamp;
use scenario::evidence::Evidence;
use scenario::plan::{CellId, Plan, Scenario, ScenarioId, Seed};
use scenario::result::{InvariantResult, RowStatus, ScenarioResult};
use scenario::score::{ExperimentScore, ScoreOptions};
use scenario::spec::sections::{GateRule, Scoring};
use scenario::spec::types::Fraction;
use scenario::verdict::{ErrorKind, Verdict};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use store::{
    ClaimRequest, Completion, Demand, ExperimentId, Held, JobId, Kept, Lane, NewExperiment, NewJob, NewRun, RunId,
    Settings, SpecContent, SpecVersion, Store, WorkerId,
};
use tempfile::TempDir;
use uuid::Uuid;

/// More than what stands in a row.
pub(crate) const LARGE: usize = 40 * 1024;

/// A store, its folder, and ids.
pub(crate) struct World {
    pub(crate) store: Store,
    folder: TempDir,
    last: AtomicU64,
}

/// A number of seconds after the beginning of time.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).expect("a time")
}

impl World {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path()).await.expect("a store");
        Self { store, folder, last: AtomicU64::new(0) }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Another process's store in the same folder.
    pub(crate) async fn other(&self) -> Store {
        Store::open(self.folder()).await.expect("another store")
    }

    /// A connection that the store knows nothing of.
    pub(crate) async fn raw(&self) -> SqliteConnection {
        let path = self.folder().join("touchstone.db");
        SqliteConnectOptions::new().filename(path).connect().await.expect("a connection")
    }

    /// An id that is later than those before it.
    pub(crate) fn uuid(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.last.fetch_add(1, Ordering::Relaxed) + 1))
    }

    pub(crate) async fn spec(&self) -> SpecVersion {
        let content = SpecContent { text: "id: ledger".to_owned(), files: Vec::new() };
        self.store.keep_spec("ledger", &content, at(0)).await.expect("a spec")
    }

    pub(crate) fn jobs(&self, many: u32) -> Vec<NewJob> {
        let job = |number| NewJob {
            id: JobId(self.uuid()),
            scenario: scenario(number),
            demand: Demand::default(),
            at_once: None,
        };
        (0..many).map(job).collect()
    }

    pub(crate) fn run(&self, jobs: u32) -> NewRun {
        NewRun { lane: Lane::Shared, priority: 0, jobs: self.jobs(jobs) }
    }

    pub(crate) async fn experiment(&self) -> NewExperiment {
        NewExperiment {
            id: ExperimentId(self.uuid()),
            spec: self.spec().await,
            source: "ledger.yaml".to_owned(),
            seed: Seed::new(u64::MAX),
            settings: Settings::default(),
        }
    }

    /// An experiment with so many scenarios.
    pub(crate) async fn submitted(&self, jobs: u32) -> RunId {
        self.submit(&self.run(jobs), at(0)).await
    }

    pub(crate) async fn submit(&self, run: &NewRun, now: Timestamp) -> RunId {
        self.store.submit(&self.experiment().await, run, now).await.expect("submitted")
    }

    pub(crate) async fn claim(&self, now: i64) -> Option<Held> {
        self.store.claim(&request(Lane::Shared, now)).await.expect("a claim")
    }

    /// Takes the next job and passes it.
    pub(crate) async fn finish_one(&self, now: i64) -> Kept {
        let held = self.claim(now).await.expect("a job");
        complete(&self.store, &held, &Evidence::default(), now).await
    }

    pub(crate) fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        list(&self.folder().join("evidence"), &mut found);
        found
    }
}

fn list(folder: &Path, found: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.expect("an entry").path();
        found.push(path.display().to_string());
        list(&path, found);
    }
}

/// The scenario with this number.
pub(crate) fn scenario(number: u32) -> Scenario {
    let parameters: IndexMap<_, _> = [("number".to_owned(), number.into())].into_iter().collect();
    let cell = CellId::of(&parameters);
    Scenario {
        id: ScenarioId::of(&cell, 0),
        cell,
        replica: 0,
        seed: Seed::new(u64::from(number)),
        parameters,
        variants: Vec::new(),
    }
}

/// A request for whatever comes first, with a lease of ten seconds.
pub(crate) fn request(lane: Lane, now: i64) -> ClaimRequest {
    ClaimRequest {
        lane,
        worker: WorkerId { data_dir: Uuid::from_u128(1), owner: Uuid::from_u128(2) },
        token: format!("token-{now}"),
        now: at(now),
        until: at(now + 10),
        room: None,
    }
}

/// A scenario that passed, with two invariants.
pub(crate) fn passed(scenario: &Scenario) -> ScenarioResult {
    let invariant = |name: &str| InvariantResult {
        name: name.to_owned(),
        description: "what it means".to_owned(),
        weight: 1.0,
        gate: true,
        verdict: Verdict::passed(),
    };
    let result = ScenarioResult::failed_to_run(scenario, ErrorKind::Infrastructure, "");
    let invariants = vec![invariant("first"), invariant("second")];
    ScenarioResult { status: RowStatus::Pass, composite: 1.0, invariants, error: None, ..result }
}

/// Evidence of about so many bytes.
pub(crate) fn evidence(bytes: usize) -> Evidence {
    Evidence { notes: vec!["x".repeat(bytes)], ..Evidence::default() }
}

/// Completes a job.
pub(crate) async fn complete(store: &Store, held: &Held, evidence: &Evidence, now: i64) -> Kept {
    let result = passed(&held.scenario);
    let completion = Completion { evidence: Some(evidence), result: &result, at: at(now) };
    store.complete(&held.lease, held.run, completion, &summary).await.expect("a completion")
}

/// The numbers of a run whose results are all there are.
pub(crate) fn summary(results: &[ScenarioResult]) -> ExperimentScore {
    let scenarios = results.iter().map(|result| result.scenario.clone()).collect();
    let plan = Plan { spec_id: "ledger".to_owned(), seed: Seed::new(7), scenarios };
    let scoring = Scoring {
        pass_threshold: Fraction::ONE,
        gate: GateRule::Score,
        replica_aggregation: None,
        min_pass_rate: None,
    };
    scenario::score::score(&plan, &scoring, results, ScoreOptions::default())
}
