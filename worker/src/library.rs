//! The runs that are being worked on: their specs, the files beside them, and the values of their secrets.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::attempt::AgentChoice;
use engine::bundle::BundleFolder;
use scenario::spec::{Bundle, Spec, load};
use store::{Experiment, RunId, SpecContent, Store, StoreError};
use tokio::sync::Mutex;
use tokio::task;

use crate::bundles;
use crate::numbers::Numbers;
use crate::surroundings::Secrets;

/// How many runs are remembered.
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
    /// Who acts instead of the spec's own agent.
    pub(crate) agent: Option<AgentChoice>,
    /// How its numbers are made.
    pub(crate) numbers: Arc<Numbers>,
}

/// Why a run cannot be worked on.
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
}

/// The runs that are being worked on.
#[derive(Debug)]
pub(crate) struct Library {
    store: Store,
    secrets: Arc<dyn Secrets>,
    bundles: PathBuf,
    scratch: PathBuf,
    opened: Mutex<HashMap<RunId, Arc<Opened>>>,
}

impl Library {
    /// The runs of a store.
    pub(crate) fn new(store: Store, secrets: Arc<dyn Secrets>, bundles: PathBuf, scratch: PathBuf) -> Self {
        Self { store, secrets, bundles, scratch, opened: Mutex::default() }
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
        let spec = read_spec(&content).map_err(Unopened::Unusable)?;
        let secrets = self.secrets.resolve(&spec).map_err(Unopened::Unusable)?;
        let agent = chosen_agent(&experiment).map_err(Unopened::Unusable)?;
        let bundle = self.unpack(digest, content).await?;
        let numbers = Arc::new(Numbers::read(&self.store, run, &experiment, &spec).await?);
        Ok(Opened { spec, bundle, secrets, agent, numbers })
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

/// Reads a spec that was kept.
pub fn read_spec(content: &SpecContent) -> Result<Spec, String> {
    let files = content.files.iter().map(|file| (file.path.clone(), file.content.len() as u64));
    let bundle = if content.files.is_empty() { None } else { Some(Bundle::new(files)?) };
    let loaded = load(&content.text, bundle.as_ref());
    loaded.spec.ok_or_else(|| {
        let first = loaded.diagnostics.first().map_or_else(String::new, |finding| finding.message.clone());
        format!("the stored spec is not valid for this version: {first}")
    })
}

/// Who acts instead of the spec's own agent.
pub fn chosen_agent(experiment: &Experiment) -> Result<Option<AgentChoice>, String> {
    match experiment.settings.agent.as_deref() {
        None => Ok(None),
        Some("noop") => Ok(Some(AgentChoice::Noop)),
        Some("oracle") => Ok(Some(AgentChoice::Oracle)),
        Some(other) => Err(format!("this version knows no agent `{other}`")),
    }
}

/// Where a spec's files are once they are unpacked.
#[must_use]
pub fn bundle_folder(bundles: &Path, digest: &str) -> PathBuf {
    bundles.join(digest)
}
