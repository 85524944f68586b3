//! Runs specs and sandboxes for real, and sees to it that nothing is left behind.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::attempt::{Attempt, Keep, Permissions};
use engine::backend::docker::{DockerBackend, DockerSettings};
use engine::backend::local::{LocalBackend, LocalSettings};
use engine::backend::{Backend, Identity, Limits, Sandbox, SandboxRequest};
use engine::baselines::Baselines;
use engine::bundle::BundleFolder;
use engine::data_dir::DataDir;
use engine::entropy;
use engine::error::EngineError;
use engine::event::{Event, Events};
use engine::machine::Machine;
use engine::owner::Owner;
use engine::run_scenario;
use engine::session::Session;
use engine::uploaded::SnapshotFiles;
use scenario::evidence::Evidence;
use scenario::plan::{AgentOverride, PlanOptions, Scenario, expand};
use scenario::result::ScenarioResult;
use scenario::spec::{Bundle, Spec, load};
use tokio_util::sync::CancellationToken;

use crate::engine_api::labelled;

/// Number of tests that use the engine at once, over all processes: more than this only makes each slower.
const SLOTS: usize = 3;

/// The time, for specs that want another.
#[expect(clippy::disallowed_methods, reason = "a test is its own composition root")]
fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// A backend with a data directory of its own.
pub(crate) struct Harness {
    _slot: File,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) data_dir: DataDir,
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) events: Arc<Mutex<Vec<Event>>>,
    pub(crate) bundle: BundleFolder,
    pub(crate) agent: Option<AgentOverride>,
    pub(crate) secrets: BTreeMap<String, String>,
    pub(crate) permissions: Permissions,
    pub(crate) machine: Machine,
    pub(crate) snapshot: Option<SnapshotFiles>,
}

impl Harness {
    /// A Docker backend, once there is room for another test.
    pub(crate) async fn docker() -> Self {
        Self::on(async |data_dir| Arc::new(connect(&data_dir).await) as Arc<dyn Backend>).await
    }

    /// A Docker backend whose user cannot read what the engine keeps.
    pub(crate) async fn engine_alone() -> Self {
        Self::on(async |data_dir| {
            let settings = DockerSettings { reads_layers: false, ..settings() };
            Arc::new(connect_with(&data_dir, settings).await) as Arc<dyn Backend>
        })
        .await
    }

    /// A backend without any engine.
    pub(crate) async fn local() -> Self {
        Self::on(async |data_dir| {
            let owner = Owner::register(data_dir).expect("an owner");
            let connected = LocalBackend::connect(owner, &LocalSettings::default()).await;
            Arc::new(connected.expect("namespaces: the tests need them")) as Arc<dyn Backend>
        })
        .await
    }

    async fn on(backend: impl AsyncFnOnce(DataDir) -> Arc<dyn Backend>) -> Self {
        let slot = slot().await;
        let folder = tempfile::tempdir().expect("a folder");
        let data_dir = DataDir::resolve(Some(folder.path().join("data"))).expect("a data directory");
        share_caches(&data_dir);
        let backend = backend(data_dir.clone()).await;
        Self {
            _slot: slot,
            folder,
            data_dir,
            backend,
            events: Arc::default(),
            bundle: BundleFolder::none(),
            agent: None,
            secrets: BTreeMap::new(),
            permissions: Permissions::default(),
            machine: Machine::default(),
            snapshot: None,
        }
    }

    /// Runs the first scenario of a spec, judges it, and sees that nothing is left.
    pub(crate) async fn run(&self, yaml: &str) -> (ScenarioResult, Evidence) {
        let (result, evidence) = self.try_run(yaml, &CancellationToken::new()).await.expect("evidence");
        self.assert_nothing_is_left();
        (result, evidence)
    }

    /// Runs the first scenario of a spec.
    pub(crate) async fn try_run(
        &self,
        yaml: &str,
        cancel: &CancellationToken,
    ) -> Result<(ScenarioResult, Evidence), EngineError> {
        self.try_keep(yaml, Keep::Never, cancel).await
    }

    /// Runs the first scenario of a spec, and keeps its sandbox when that is wanted.
    pub(crate) async fn try_keep(
        &self,
        yaml: &str,
        keep: Keep<'_>,
        cancel: &CancellationToken,
    ) -> Result<(ScenarioResult, Evidence), EngineError> {
        let (spec, scenario) = only_scenario(yaml, &self.bundle);
        let baselines = Baselines::new(scenario.seed);
        self.try_scenario(&spec, (&scenario, &baselines), keep, cancel).await
    }

    /// Runs every scenario of a spec at once, and sees that nothing is left.
    pub(crate) async fn run_all(&self, yaml: &str) -> Vec<(ScenarioResult, Evidence)> {
        let spec = load(yaml, None).spec.expect("a spec");
        let plan = expand(&spec, PlanOptions::default()).expect("a plan");
        let (baselines, cancel) = (Baselines::new(plan.seed), CancellationToken::new());
        let running =
            plan.scenarios.iter().map(|one| self.try_scenario(&spec, (one, &baselines), Keep::Never, &cancel));
        let ran = futures::future::join_all(running).await;
        self.assert_nothing_is_left();
        ran.into_iter().map(|ran| ran.expect("evidence")).collect()
    }

    async fn try_scenario(
        &self,
        spec: &Spec,
        (scenario, baselines): (&Scenario, &Baselines),
        keep: Keep<'_>,
        cancel: &CancellationToken,
    ) -> Result<(ScenarioResult, Evidence), EngineError> {
        let attempt = Attempt {
            spec,
            scenario,
            bundle: &self.bundle,
            secrets: &self.secrets,
            identity: identity(scenario),
            permissions: self.permissions.clone(),
            agent: self.agent.as_ref(),
            machine: &self.machine,
            baselines,
            started_at: now(),
            keep,
            snapshot: self.snapshot.as_ref(),
            session: None,
            prompt: None,
            sandbox_id: None,
            approvals: None,
        };
        let kept = Arc::clone(&self.events);
        let events = Events::to(move |event| kept.lock().expect("events").push(event));
        let evidence = run_scenario(&*self.backend, &attempt, &events, cancel).await?;
        Ok((ScenarioResult::judge(spec, scenario, &evidence), evidence))
    }

    /// Opens the sandbox of a spec for somebody to work in.
    pub(crate) async fn open(&self, yaml: &str, cancel: &CancellationToken) -> Result<Session, EngineError> {
        let (spec, scenario) = only_scenario(yaml, &self.bundle);
        let attempt = Attempt {
            spec: &spec,
            scenario: &scenario,
            bundle: &self.bundle,
            secrets: &self.secrets,
            identity: identity(&scenario),
            permissions: self.permissions.clone(),
            agent: None,
            machine: &self.machine,
            baselines: &Baselines::new(scenario.seed),
            started_at: now(),
            keep: Keep::Never,
            snapshot: self.snapshot.as_ref(),
            session: None,
            prompt: None,
            sandbox_id: Some("sb-0123456789ab"),
            approvals: None,
        };
        Session::open(&*self.backend, &attempt, &Events::nowhere(), cancel).await
    }

    /// Makes a bare sandbox of an image.
    pub(crate) async fn sandbox(&self, image: &str, limits: Limits) -> Box<dyn Sandbox> {
        let image = self.backend.image(image, &Events::nowhere()).await.expect("the image");
        let identity =
            Identity { experiment: "test".to_owned(), scenario: "test".to_owned(), job: entropy::uuid(), attempt: 1 };
        let request = SandboxRequest {
            identity,
            image,
            limits,
            hosts: Vec::new(),
            name_server: None,
            read_only: false,
            has_tools: false,
        };
        self.backend.create(request).await.expect("a sandbox")
    }

    /// Fails when a container, volume, network or door of this data directory is left.
    pub(crate) fn assert_nothing_is_left(&self) {
        assert_eq!(self.left(), Vec::<String>::new());
        let doors: Vec<_> = walk(&self.data_dir.path().join("doors"));
        assert!(doors.iter().all(|path| !path.contains("ts-")), "{doors:?}");
        let kept = walk(&self.data_dir.path().join("kept"));
        assert!(kept.is_empty(), "{kept:?}");
        let scratch = self.data_dir.path().join("scratch");
        let temporary: Vec<_> = walk(&scratch);
        let is_owners = |path: &String| Path::new(path).parent() == Some(&scratch);
        assert!(temporary.iter().all(is_owners), "{temporary:?}");
    }

    /// The containers, volumes and networks of this data directory.
    pub(crate) fn left(&self) -> Vec<String> {
        left_of(&self.data_dir)
    }
}

impl Drop for Harness {
    fn drop(&mut self) {
        // A test that failed in the middle leaves nothing either.
        for thing in self.left() {
            let (kind, id) = thing.split_once(' ').expect("a kind and an id");
            if kind == "box" || kind == "group" {
                continue;
            }
            let force: &[&str] = if kind == "container" { &["rm", "-f", "-v"] } else { &["rm", "-f"] };
            let _ = Command::new("docker").arg(kind).args(force).arg(id).output();
        }
    }
}

/// The containers, volumes and networks of a data directory.
pub(crate) fn left_of(data_dir: &DataDir) -> Vec<String> {
    // Who has no rights has no containers.
    let is_root = crate::unprivileged::is_root();
    let mut left = if is_root { labelled(&format!("touchstone.data={}", data_dir.id())) } else { Vec::new() };
    // Boxes that need no engine have a folder that they are put together on, and control groups.
    let stages = walk(&data_dir.path().join("doors")).into_iter().filter(|path| path.ends_with("/stage"));
    left.extend(stages.map(|path| format!("box {path}")));
    for controller in ["", "memory/", "pids/", "cpu/"] {
        let groups = format!("/sys/fs/cgroup/{controller}touchstone/{}", data_dir.id());
        let is_box = |path: &String| Path::new(path).is_dir() && path.contains("/ts-");
        left.extend(walk(Path::new(&groups)).into_iter().filter(is_box).map(|path| format!("group {path}")));
    }
    left
}

/// Connects another backend to a data directory, as another process would have.
pub(crate) async fn connect(data_dir: &DataDir) -> DockerBackend {
    connect_with(data_dir, settings()).await
}

fn settings() -> DockerSettings {
    DockerSettings { pull: false, ..DockerSettings::default() }
}

async fn connect_with(data_dir: &DataDir, settings: DockerSettings) -> DockerBackend {
    let owner = Owner::register(data_dir.clone()).expect("an owner");
    DockerBackend::connect(owner, settings).await.expect("a Docker engine: the tests need one")
}

/// Enough for anything small.
pub(crate) fn small() -> Limits {
    Limits { cpus: 2.0, memory: 256 << 20, disk: 64 << 20, pids: 128 }
}

pub(crate) fn only_scenario(yaml: &str, bundle: &BundleFolder) -> (Spec, Scenario) {
    let files = bundle.files(".").ok();
    let sizes = files.map(|files| files.into_iter().map(|file| (file.path, file.content.len() as u64)));
    let beside =
        sizes.map(|sizes| Bundle::new(sizes).expect("a small bundle").with_texts(|path| bundle.read(path).ok()));
    let loaded = load(yaml, beside.as_ref());
    let spec = loaded.spec.unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics));
    let plan = expand(&spec, PlanOptions::default()).expect("a plan");
    let scenario = plan.scenarios.into_iter().next().expect("a scenario");
    (spec, scenario)
}

fn identity(scenario: &Scenario) -> Identity {
    Identity { experiment: "test".to_owned(), scenario: scenario.id.to_string(), job: entropy::uuid(), attempt: 1 }
}

/// Shares what the local backend makes once for each data directory among the tests of one run: the userland, and the
/// templates of databases. `scripts/test` names the place; each user has a folder of its own there.
fn share_caches(data_dir: &DataDir) {
    let Some(shared) = std::env::var_os("TOUCHSTONE_TEST_SHARED") else { return };
    let shared = Path::new(&shared).join(rustix::process::getuid().as_raw().to_string());
    for name in ["userland", "templates", "services"] {
        fs::create_dir_all(shared.join(name)).expect("a shared folder");
        std::os::unix::fs::symlink(shared.join(name), data_dir.path().join(name)).expect("a link");
    }
}

/// Waits for one of a few locks, which the kernel frees when the test ends.
pub(crate) async fn slot() -> File {
    if std::env::var_os(crate::unprivileged::WAITED).is_some() {
        return File::open("/dev/null").expect("a file");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("slots");
    fs::create_dir_all(&folder).expect("a folder for locks");
    let deadline = tokio::time::Instant::now() + Duration::from_secs(150);
    loop {
        for number in 0..SLOTS {
            let file = File::create(folder.join(number.to_string())).expect("a lock");
            match file.try_lock() {
                Ok(()) => return file,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => panic!("{error}"),
            }
        }
        assert!(tokio::time::Instant::now() < deadline, "no slot became free");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn walk(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    entries.flat_map(|entry| [vec![entry.path().display().to_string()], walk(&entry.path())].concat()).collect()
}
