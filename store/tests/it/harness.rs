//! A store of its own, with a clock and ids that are the same each time.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use indexmap::IndexMap;
use jiff::Timestamp;
use scenario::evidence::Evidence;
use scenario::plan::{CellId, CellKey, Plan, Purpose, Scenario, ScenarioId, Seed};
use scenario::result::{InvariantResult, RowStatus, ScenarioResult};
use scenario::score::{ExperimentScore, ScoreOptions};
use scenario::spec::sections::Scoring;
use scenario::verdict::{ErrorKind, Verdict};
use sqlx::postgres::PgConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};
use store::testing::TestDatabase;
use store::{
    ClaimRequest, Completion, Demand, ExperimentId, Held, JobId, Kept, Lane, Limits, NewExperiment, NewJob, NewRun,
    RunId, Settings, SpecContent, SpecVersion, Store, StoreError, WorkerId,
};
use tempfile::TempDir;
use uuid::Uuid;

/// More than what stands in a row.
pub(crate) const LARGE: usize = 40 * 1024;

/// Where rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Database {
    Sqlite,
    Postgres,
}

/// A store, its folder, and ids.
pub(crate) struct World {
    pub(crate) store: Store,
    folder: TempDir,
    postgres: Option<TestDatabase>,
    last: AtomicU64,
}

/// A number of seconds after the beginning of time.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + seconds).expect("a time")
}

impl World {
    /// A world with a store in a file.
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path()).await.expect("a store");
        Self { store, folder, postgres: None, last: AtomicU64::new(0) }
    }

    /// A world with a store in Postgres, if there is one.
    pub(crate) async fn postgres() -> Option<Self> {
        // `scripts/test-postgres` starts one, which `scripts/test` tells of.
        let database = TestDatabase::new().await?;
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::connect(&database.url(), folder.path()).await.expect("a store");
        Some(Self { store, folder, postgres: Some(database), last: AtomicU64::new(0) })
    }

    pub(crate) async fn on(database: Database) -> Option<Self> {
        match database {
            Database::Sqlite => Some(Self::sqlite().await),
            Database::Postgres => Self::postgres().await,
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn is_postgres(&self) -> bool {
        self.postgres.is_some()
    }

    /// Another process's store in the same database.
    pub(crate) async fn other(&self) -> Store {
        self.open().await.expect("another store")
    }

    pub(crate) async fn open(&self) -> Result<Store, StoreError> {
        match &self.postgres {
            None => Store::open(self.folder()).await,
            Some(database) => Store::connect(&database.url(), self.folder()).await,
        }
    }

    /// A connection to Postgres.
    pub(crate) async fn server(&self) -> PgConnection {
        server(self.postgres.as_ref().expect("a world in Postgres")).await
    }

    /// The URL of its database in Postgres.
    pub(crate) fn url(&self) -> String {
        self.postgres.as_ref().expect("a world in Postgres").url()
    }

    /// Changes something behind the store's back.
    pub(crate) async fn execute(&self, sql: &'static str) {
        match &self.postgres {
            None => sqlx::query(sql).execute(&mut self.file().await).await.map(|_| ()),
            Some(database) => sqlx::query(sql).execute(&mut server(database).await).await.map(|_| ()),
        }
        .expect("changed");
    }

    /// A number that the store knows nothing of.
    pub(crate) async fn number(&self, sql: &'static str) -> i64 {
        match &self.postgres {
            None => sqlx::query_scalar(sql).fetch_one(&mut self.file().await).await,
            Some(database) => sqlx::query_scalar(sql).fetch_one(&mut server(database).await).await,
        }
        .expect("a number")
    }

    pub(crate) async fn file(&self) -> SqliteConnection {
        let path = self.folder().join("touchstone.db");
        SqliteConnectOptions::new().filename(path).connect().await.expect("a connection")
    }

    /// An id that is later than those before it.
    pub(crate) fn uuid(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.last.fetch_add(1, Ordering::Relaxed) + 1))
    }

    pub(crate) async fn spec(&self) -> SpecVersion {
        let content = SpecContent { text: "id: ledger".to_owned(), files: Vec::new() };
        self.store.keep_spec("", "ledger", &content, at(0)).await.expect("a spec")
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
            owner: String::new(),
            name: String::new(),
            secrets: None,
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
        found.retain(|file| !file.ends_with("evidence/touchstone.json"));
        found
    }
}

async fn server(database: &TestDatabase) -> PgConnection {
    PgConnection::connect(&database.url()).await.expect("a connection")
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
    let cell = CellId::of(&CellKey::from(parameters.clone()));
    Scenario {
        id: ScenarioId::of(&cell, 0),
        cell,
        replica: 0,
        seed: Seed::new(u64::from(number)),
        parameters,
        chaos: String::new(),
        purpose: Purpose::default(),
        prompt: None,
        variants: Vec::new(),
        snapshot: None,
        breakage: None,
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
        limits: Limits::default(),
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
    let completion = Completion { evidence: Some(evidence), result: &result, traces: &[], at: at(now) };
    store.complete(&held.lease, held.run, completion, &summary).await.expect("a completion")
}

/// The numbers of a run whose results are all there are.
pub(crate) fn summary(results: &[ScenarioResult]) -> ExperimentScore {
    let scenarios = results.iter().map(|result| result.scenario.clone()).collect();
    let plan = Plan { spec_id: "ledger".to_owned(), seed: Seed::new(7), scenarios };
    scenario::score::score(&plan, &Scoring::default(), results, ScoreOptions::default())
}
