//! Dependencies of a worker, passed in like the time: ids, liveness of other processes, secrets and uploaded agents. So
//! its life can be tested.

use std::collections::BTreeMap;
use std::fmt::Debug;

use async_trait::async_trait;
use engine::data_dir::DataDir;
use engine::entropy;
use engine::owner::{self, Life};
use engine::uploaded::SnapshotFiles;
use scenario::plan::SnapshotAgent;
use scenario::spec::Spec;
use store::{Experiment, Ids, Sandbox};
use uuid::Uuid;

/// Tells which processes are alive.
pub trait Peers: Debug + Send + Sync {
    /// Returns true if the process with this owner's id is known to be gone.
    fn is_gone(&self, owner: Uuid) -> bool;
}

/// Resolves the values of secrets.
#[async_trait]
pub trait Secrets: Debug + Send + Sync {
    /// The values of a spec's secrets by name, for an experiment of it.
    async fn resolve(&self, experiment: &Experiment, spec: &Spec) -> Result<BTreeMap<String, String>, Unavailable>;

    /// Returns the values of a spec's secrets by name, for an interactive sandbox. The sandbox has its sealed ones.
    async fn resolve_for_sandbox(
        &self,
        sandbox: &Sandbox,
        spec: &Spec,
    ) -> Result<BTreeMap<String, String>, Unavailable> {
        let Sandbox { new, .. } = sandbox;
        if spec.secrets.is_empty() {
            return Ok(BTreeMap::new());
        }
        Err(Unavailable::Missing(format!("the secrets of sandbox {} are not known here", new.id)))
    }
}

/// Finds uploaded agents.
#[async_trait]
pub trait Snapshots: Debug + Send + Sync {
    /// The agent of an owner that a spec names.
    async fn find(&self, owner: &str, agent: &SnapshotAgent) -> Result<SnapshotFiles, Unavailable>;
}

/// Reason why something that a spec needs is unavailable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// It does not exist, and asking again will not help.
    #[error("{0}")]
    Missing(String),
    /// The source does not answer now.
    #[error("{0}")]
    Unavailable(String),
}

/// Snapshots without uploaded agents.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSnapshots;

#[async_trait]
impl Snapshots for NoSnapshots {
    async fn find(&self, _owner: &str, agent: &SnapshotAgent) -> Result<SnapshotFiles, Unavailable> {
        let message = format!("the agent `{}` needs a server that holds its snapshot", agent.snapshot);
        Err(Unavailable::Missing(message))
    }
}

/// Ids that nobody else has.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn id(&self) -> Uuid {
        entropy::uuid()
    }

    fn random(&self, bytes: &mut [u8]) {
        entropy::fill(bytes);
    }
}

/// The owners of a data directory, whose locks say whether they live.
#[derive(Debug, Clone)]
pub struct OwnersOf(pub DataDir);

impl Peers for OwnersOf {
    fn is_gone(&self, owner: Uuid) -> bool {
        owner::life_of(&self.0, owner).is_ok_and(|life| life == Life::Gone)
    }
}
