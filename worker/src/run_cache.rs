//! The runs that are being worked on: their specs, the files beside them, and the values of their secrets.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::baselines::Baselines;
use engine::bundle::BundleFolder;
use engine::uploaded::SnapshotFiles;
use scenario::plan::{AgentOverride, PlanOptions, Scenario, SnapshotAgent, UnknownAgent, expand};
use scenario::spec::Spec;
use store::{Numbers, RunId, Sandbox, SpecContent, Store, StoreError, UnreadableSpec, read_spec};
use tokio::sync::Mutex;
use tokio::task;

use crate::bundles;
use crate::dependencies::{Secrets, Snapshots, Unavailable};

/// Number of runs that are remembered.
const REMEMBERED: usize = 64;

/// A run that can be worked on.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The spec.
    pub(crate) spec: Spec,
    /// The files beside it.
    pub(crate) bundle: BundleFolder,
    /// The values of its secrets.
    pub(crate) secrets: BTreeMap<String, String>,
    /// Agent that acts instead of the spec's own.
    pub(crate) agent: Option<AgentOverride>,
    /// The runs without faults that its scenarios are compared with.
    pub(crate) baselines: Baselines,
    /// Owner of the run.
    owner: String,
    /// Computes the run's numbers.
    pub(crate) numbers: Arc<Numbers>,
}

/// The parts of an interactive sandbox that can be made.
#[derive(Debug)]
pub(crate) struct OpenedSandbox {
    /// The spec.
    pub(crate) spec: Spec,
    /// The first scenario of its plan.
    pub(crate) scenario: Scenario,
    /// The files beside it.
    pub(crate) bundle: BundleFolder,
    /// The values of its secrets.
    pub(crate) secrets: BTreeMap<String, String>,
    /// The uploaded agent that it names.
    pub(crate) snapshot: Option<SnapshotFiles>,
}

/// Reason why a run cannot be worked on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unopened {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The files beside the spec cannot be unpacked.
    #[error("the files beside the spec cannot be unpacked: {0}")]
    Files(#[from] io::Error),
    /// The stored spec cannot be used by this version or on this machine.
    #[error("{0}")]
    Unusable(String),
    /// A source of something that it needs does not answer.
    #[error("{0}")]
    Unavailable(String),
}

impl From<UnknownAgent> for Unopened {
    fn from(unknown: UnknownAgent) -> Self {
        Self::Unusable(unknown.to_string())
    }
}

impl From<UnreadableSpec> for Unopened {
    fn from(unreadable: UnreadableSpec) -> Self {
        Self::Unusable(unreadable.to_string())
    }
}

impl From<Unavailable> for Unopened {
    fn from(lack: Unavailable) -> Self {
        match lack {
            Unavailable::Missing(message) => Self::Unusable(message),
            Unavailable::Unavailable(message) => Self::Unavailable(message),
        }
    }
}

/// The runs that are being worked on.
#[derive(Debug)]
pub(crate) struct Library {
    store: Store,
    secrets: Arc<dyn Secrets>,
    snapshots: Arc<dyn Snapshots>,
    bundles: PathBuf,
    scratch: PathBuf,
    opened: Mutex<HashMap<RunId, Arc<Opened>>>,
}

impl Library {
    /// The runs of a store.
    pub(crate) fn new(
        store: Store,
        (secrets, snapshots): (Arc<dyn Secrets>, Arc<dyn Snapshots>),
        bundles: PathBuf,
        scratch: PathBuf,
    ) -> Self {
        Self { store, secrets, snapshots, bundles, scratch, opened: Mutex::default() }
    }

    /// Opens a run, once.
    pub(crate) async fn open(&self, run: RunId) -> Result<Arc<Opened>, Unopened> {
        let mut opened = self.opened.lock().await;
        if let Some(found) = opened.get(&run) {
            return Ok(Arc::clone(found));
        }
        if opened.len() >= REMEMBERED {
            opened.clear();
        }
        let found = Arc::new(self.read(run).await?);
        opened.insert(run, Arc::clone(&found));
        Ok(found)
    }

    /// Forgets a run that has ended.
    pub(crate) async fn forget(&self, run: RunId) {
        self.opened.lock().await.remove(&run);
    }

    async fn read(&self, run: RunId) -> Result<Opened, Unopened> {
        let experiment = self.store.experiment(run.experiment).await?;
        let digest = self.store.run(run).await?.digest;
        let content = self.store.spec(&digest).await?;
        let spec = read_spec(&content)?;
        let secrets = self.secrets.resolve(&experiment, &spec).await?;
        let agent = experiment.settings.agent_override()?;
        let bundle = self.unpack(digest, content).await?;
        let numbers = Arc::new(Numbers::read(&self.store, run, &experiment, &spec).await?);
        let baselines = Baselines::new(experiment.seed);
        Ok(Opened { spec, bundle, secrets, agent, baselines, owner: experiment.owner, numbers })
    }

    /// The uploaded agent of a scenario, when it has one.
    pub(crate) async fn snapshot(
        &self,
        opened: &Opened,
        scenario: &Scenario,
    ) -> Result<Option<SnapshotFiles>, Unopened> {
        let wanted = SnapshotAgent::of(&opened.spec, scenario, &opened.secrets).filter(|_| opened.agent.is_none());
        match wanted {
            Some(wanted) => Ok(Some(self.snapshots.find(&opened.owner, &wanted).await?)),
            None => Ok(None),
        }
    }

    /// Opens the parts that a sandbox is made from.
    pub(crate) async fn open_sandbox(&self, sandbox: &Sandbox) -> Result<OpenedSandbox, Unopened> {
        let content = self.store.spec(&sandbox.new.digest).await?;
        let spec = read_spec(&content)?;
        let plan = expand(&spec, PlanOptions::default()).map_err(|error| Unopened::Unusable(error.to_string()))?;
        let nothing = || Unopened::Unusable("the spec has no scenario".to_owned());
        let scenario = plan.scenarios.into_iter().next().ok_or_else(nothing)?;
        let secrets = self.secrets.resolve_for_sandbox(sandbox, &spec).await?;
        let snapshot = match SnapshotAgent::of(&spec, &scenario, &secrets) {
            Some(wanted) => Some(self.snapshots.find(&sandbox.new.owner, &wanted).await?),
            None => None,
        };
        let bundle = self.unpack(sandbox.new.digest.clone(), content).await?;
        Ok(OpenedSandbox { spec, scenario, bundle, secrets, snapshot })
    }

    async fn unpack(&self, digest: String, content: SpecContent) -> Result<BundleFolder, Unopened> {
        if content.files.is_empty() {
            return Ok(BundleFolder::none());
        }
        let (bundles, scratch) = (self.bundles.clone(), self.scratch.clone());
        let unpacking = task::spawn_blocking(move || bundles::unpack(&bundles, &scratch, &digest, &content));
        Ok(BundleFolder::at(unpacking.await.map_err(io::Error::other)??))
    }
}

/// Returns the folder of a spec's unpacked files.
#[must_use]
pub fn bundle_folder(bundles: &Path, digest: &str) -> PathBuf {
    bundles.join(digest)
}
