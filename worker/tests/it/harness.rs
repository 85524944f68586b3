//! A store in a folder of its own, and everything that workers on it are given.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::entropy;
use scenario::plan::{PlanOptions, Scenario, expand};
use scenario::result::ScenarioResult;
use scenario::spec::load;
use store::testing::TestDatabase;
use store::{
    Clock as _, Demand, ExperimentId, Ids as _, JobId, Lane, NewExperiment, NewJob, NewRun, NewSandbox, Numbers, Run,
    RunId, Sandbox, SandboxState, Settings, SpecContent, SpecFile, Store, StoredAttempt, WorkerId,
};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use uuid::Uuid;
use worker::{Config, Control, Interactive, Notice, Observer, Parts, Service, StoredSnapshots, Worker};

use crate::dependencies::{CountingIds, FixedSecrets, KnownPeers, ManualClock};
use crate::fake::Fake;

/// Time limit for whatever a test waits for.
const PATIENCE: Duration = Duration::from_secs(30);

/// The store, the clock and all other dependencies of the workers in a test.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) folder: TempDir,
    /// Database of the rows, unless they are in the folder.
    _postgres: Option<TestDatabase>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) ids: Arc<CountingIds>,
    pub(crate) peers: Arc<KnownPeers>,
    pub(crate) secrets: Arc<FixedSecrets>,
    pub(crate) fake: Arc<Fake>,
    notices: Arc<Mutex<Vec<Notice>>>,
}

/// A run to submit.
pub(crate) struct Submission {
    pub(crate) spec_id: &'static str,
    pub(crate) replicas: usize,
    pub(crate) lane: Lane,
    pub(crate) demand: Demand,
    pub(crate) at_once: Option<u32>,
    /// Instead of the spec that was planned.
    pub(crate) text: Option<&'static str>,
    pub(crate) files: Vec<SpecFile>,
    pub(crate) settings: Settings,
    /// Uploaded agent that its scenarios are run with.
    pub(crate) snapshot: Option<String>,
}

impl Default for Submission {
    fn default() -> Self {
        Self {
            spec_id: "test",
            replicas: 1,
            lane: Lane::Shared,
            demand: Demand::default(),
            at_once: None,
            text: None,
            files: Vec::new(),
            settings: Settings::default(),
            snapshot: None,
        }
    }
}

/// A worker that works by itself.
pub(crate) struct Working {
    pub(crate) control: Control,
    task: JoinHandle<()>,
}

impl Working {
    /// Waits for its end.
    pub(crate) async fn ended(self) {
        tokio::time::timeout(PATIENCE, self.task).await.expect("the worker ends in time").expect("it does not panic");
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    /// Ends it as if its process was killed.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

impl World {
    /// A world with a store in a file.
    pub(crate) async fn sqlite() -> Self {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).await.unwrap();
        Self::with(store, folder, None)
    }

    /// A world with a store in Postgres, if there is one.
    #[expect(clippy::print_stdout, reason = "a test that is passed over says so")]
    pub(crate) async fn postgres() -> Option<Self> {
        let Some(database) = TestDatabase::new().await else {
            println!("passed over: `scripts/test-postgres` starts a Postgres, which `scripts/test` tells of");
            return None;
        };
        let folder = TempDir::new().unwrap();
        let store = Store::connect(&database.url(), folder.path()).await.unwrap();
        Some(Self::with(store, folder, Some(database)))
    }

    fn with(store: Store, folder: TempDir, postgres: Option<TestDatabase>) -> Self {
        Self {
            store,
            folder,
            _postgres: postgres,
            clock: Arc::new(ManualClock::new()),
            ids: Arc::default(),
            peers: Arc::default(),
            secrets: Arc::default(),
            fake: Arc::new(Fake::new()),
            notices: Arc::default(),
        }
    }

    /// Replaces the artifact place by a file, in which nothing can be kept; returns its path.
    pub(crate) fn break_place(&self) -> PathBuf {
        let place = self.folder.path().join("evidence");
        std::fs::remove_dir_all(&place).unwrap();
        std::fs::write(&place, "no folder can be made here").unwrap();
        place
    }

    /// Submits one cell with this many replicas, for all workers.
    pub(crate) async fn submit(&self, replicas: usize) -> RunId {
        self.submit_with(Submission { replicas, ..Submission::default() }).await
    }

    pub(crate) async fn submit_with(&self, submission: Submission) -> RunId {
        let text = spec_text(submission.spec_id);
        let spec = load(&text, None).spec.expect("the spec is valid");
        let plan =
            expand(&spec, PlanOptions { replicas: Some(submission.replicas), ..PlanOptions::default() }).unwrap();
        let text = submission.text.map_or(text, ToOwned::to_owned);
        let content = SpecContent { text, files: submission.files };
        let now = self.clock.now();
        let version = self.store.keep_spec("", submission.spec_id, &content, now).await.unwrap();
        let job = |scenario: Scenario| NewJob {
            id: JobId(self.ids.id()),
            scenario: Scenario { snapshot: submission.snapshot.clone(), ..scenario },
            demand: submission.demand,
            at_once: submission.at_once,
        };
        let jobs = plan.scenarios.into_iter().map(job).collect();
        let experiment = NewExperiment {
            id: ExperimentId(entropy::uuid()),
            spec: version,
            source: "test".to_owned(),
            seed: plan.seed,
            settings: submission.settings,
            owner: String::new(),
            name: String::new(),
            secrets: None,
        };
        let run = NewRun { lane: submission.lane, priority: 0, jobs };
        self.store.submit(&experiment, &run, now).await.unwrap()
    }

    /// The worker with this number, which does one job at a time.
    pub(crate) fn worker(&self, number: u128) -> Worker {
        self.worker_with(number, |_| ())
    }

    pub(crate) fn worker_with(&self, number: u128, change: impl FnOnce(&mut Config)) -> Worker {
        let data = self.folder.path().to_owned();
        let mut config = Config::new(Lane::Shared, worker_id(number), data.clone(), data.join("scratch"));
        config.poll = Duration::from_millis(5);
        config.backoff = Duration::ZERO;
        change(&mut config);
        let notices = Arc::clone(&self.notices);
        Worker::new(Parts {
            config,
            store: self.store.clone(),
            sandboxes: Arc::clone(&self.fake) as _,
            clock: Arc::clone(&self.clock) as _,
            ids: Arc::clone(&self.ids) as _,
            peers: Arc::clone(&self.peers) as _,
            secrets: Arc::clone(&self.secrets) as _,
            snapshots: Arc::new(StoredSnapshots::new(self.store.clone())),
            observer: Observer::to(move |notice| notices.lock().unwrap().push(notice)),
        })
    }

    /// The worker with this number, as a service.
    pub(crate) fn service_with(&self, number: u128, change: impl FnOnce(&mut Config)) -> Worker {
        self.worker_with(number, |config| {
            config.slots = 2;
            config.service = Some(service());
            change(config);
        })
    }

    /// Requests an interactive sandbox.
    pub(crate) async fn want_sandbox(&self, id: &str) {
        self.want_sandbox_for(id, Duration::from_secs(3600)).await;
    }

    /// Requests an interactive sandbox for some time.
    pub(crate) async fn want_sandbox_for(&self, id: &str, timeout: Duration) {
        let now = self.clock.now();
        let content = SpecContent { text: spec_text("test"), files: Vec::new() };
        let version = self.store.keep_spec("anna", "test", &content, now).await.unwrap();
        let new = NewSandbox {
            id: id.to_owned(),
            owner: "anna".to_owned(),
            spec_id: version.spec_id,
            digest: version.digest,
            metadata: serde_json::json!({}),
            secrets: Some(b"sealed".to_vec()),
            timeout,
            demand: Demand { cpu_milli: 1000, memory: 1 << 30 },
        };
        self.store.ask_for_sandbox(&new, now).await.unwrap();
    }

    pub(crate) async fn sandbox(&self, id: &str) -> Sandbox {
        self.store.sandbox(id).await.unwrap().expect("a sandbox")
    }

    /// Waits until a sandbox stands there.
    pub(crate) async fn until_sandbox(&self, id: &str, state: SandboxState) {
        until(&format!("{id} is {state:?}"), async || self.sandbox(id).await.state == state).await;
    }

    /// Works until nothing is left, and ends.
    pub(crate) async fn work(&self, worker: Worker) {
        start(worker).ended().await;
    }

    pub(crate) fn notices(&self) -> Vec<Notice> {
        self.notices.lock().unwrap().clone()
    }

    pub(crate) fn has_problem(&self, part: &str) -> bool {
        self.notices().iter().any(|notice| matches!(notice, Notice::Problem(text) if text.contains(part)))
    }

    /// Returns the number of times a job was given back for another attempt.
    pub(crate) fn retried(&self) -> usize {
        self.notices().iter().filter(|notice| matches!(notice, Notice::Retrying { .. })).count()
    }

    pub(crate) async fn run(&self, run: RunId) -> Run {
        self.store.run(run).await.unwrap()
    }

    /// Returns the results so far, in the order of the plan.
    pub(crate) async fn results(&self, run: RunId) -> Vec<ScenarioResult> {
        self.store.scenarios(run).await.unwrap().into_iter().filter_map(|stored| stored.result).collect()
    }

    pub(crate) async fn attempts(&self, run: RunId) -> Vec<StoredAttempt> {
        self.store.attempts(run).await.unwrap()
    }

    /// Lists the events of a run, in one word each, with their phase.
    pub(crate) async fn events(&self, run: RunId) -> Vec<String> {
        let events = self.store.events(run, 0, 100_000).await.unwrap();
        let word = |phase: &serde_json::Value| phase.as_str().map(|phase| format!(" {phase}")).unwrap_or_default();
        events
            .into_iter()
            .map(|stored| format!("{}{}", stored.event.happened.kind(), word(&stored.event.happened.body()["phase"])))
            .collect()
    }

    /// Cancels a run, as another process would.
    pub(crate) async fn cancel(&self, run: RunId) {
        let numbers = Numbers::of(&self.store, run).await.unwrap();
        self.store.cancel(run, "by hand", self.clock.now(), &numbers).await.unwrap();
    }
}

/// A worker that is a service, and works by itself.
pub(crate) struct Serving {
    pub(crate) control: Control,
    pub(crate) interactive: Interactive,
    task: JoinHandle<()>,
}

impl Serving {
    /// Waits for its end.
    pub(crate) async fn ended(self) {
        tokio::time::timeout(PATIENCE, self.task).await.expect("the worker ends in time").expect("it does not panic");
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }

    /// Ends it as if its process was killed.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// Starts a worker as a service.
pub(crate) fn serve(worker: Worker) -> Serving {
    let (control, interactive) = (worker.control(), worker.interactive());
    Serving { control, interactive, task: tokio::spawn(worker.run()) }
}

/// Makes the settings of a service of these tests.
pub(crate) fn service() -> Service {
    let mut service = Service::new("here".to_owned(), "http://127.0.0.1:1".to_owned(), "1.2.3".to_owned());
    service.pulse = Duration::from_millis(20);
    service
}

/// Starts a worker that works until nothing is left.
pub(crate) fn start(mut worker: Worker) -> Working {
    let control = worker.control();
    let task = tokio::spawn(async move {
        worker.run_until_empty().await.unwrap();
        worker.finish().await;
    });
    Working { control, task }
}

/// Makes the identity of the worker with this number.
pub(crate) fn worker_id(number: u128) -> WorkerId {
    WorkerId { data_dir: Uuid::from_u128(1), owner: Uuid::from_u128(number) }
}

/// The scenario with this replica.
pub(crate) fn scenario(replica: usize) -> String {
    format!("default-r{replica}")
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so().await {
        assert!(Instant::now() < deadline, "{what}: not so after {PATIENCE:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn spec_text(id: &str) -> String {
    format!(
        "version: 1\nid: {id}\ndescription: A test.\nbase: debian:bookworm-slim\ntask:\n  prompt: Do it.\nagent:\n  type: cli\n  \
         command: sh agent.sh\ninvariants:\n  fine:\n    description: It is done\n    check: {{ type: command_exit, command: \
         \"true\" }}\n"
    )
}
