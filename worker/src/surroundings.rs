//! What a worker is given instead of taking it: the time, ids, who else lives, and secrets. So its life can be tested.

use std::collections::BTreeMap;
use std::fmt::Debug;

use engine::data_dir::DataDir;
use engine::entropy;
use engine::owner::{self, Life};
use jiff::Timestamp;
use scenario::spec::Spec;
use uuid::Uuid;

/// Says what time it is.
pub trait Clock: Debug + Send + Sync {
    /// The time.
    fn now(&self) -> Timestamp;
}

/// Makes ids and tokens.
pub trait Ids: Debug + Send + Sync {
    /// A new id, later than those before it.
    fn id(&self) -> Uuid;

    /// Something that nobody can guess.
    fn token(&self) -> String;
}

/// Knows which processes live.
pub trait Peers: Debug + Send + Sync {
    /// Whether the process with this owner's id is known to be gone.
    fn is_gone(&self, owner: Uuid) -> bool;
}

/// Knows the values of secrets.
pub trait Secrets: Debug + Send + Sync {
    /// The values of a spec's secrets by name; otherwise what is missing.
    fn resolve(&self, spec: &Spec) -> Result<BTreeMap<String, String>, String>;
}

/// Ids that nobody else has.
#[derive(Debug, Clone, Copy, Default)]
pub struct RandomIds;

impl Ids for RandomIds {
    fn id(&self) -> Uuid {
        entropy::uuid()
    }

    fn token(&self) -> String {
        entropy::hex(16)
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
