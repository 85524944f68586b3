//! The owner of an artifact place: a mark in the place names the one database that may write and remove there.
//!
//! Evidence is removed by comparing a place with rows, so a second database in the same place would remove what it has no
//! rows of. A mark names the database by its id, which a dump carries along, and by the instance that holds it, which a
//! dump does not: a database that was restored elsewhere is another instance of the same one.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sea_query::Query;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::ids::ExperimentId;
use crate::json;
use crate::snapshots::{BUNDLES, bundle_key};
use crate::tables::{Experiments, Snapshots};

/// The artifact that names the owner of its place.
pub(crate) const MARK: &str = "touchstone.json";
/// Where probes are written.
const PROBES: &str = "probes";
/// Timeout of a probe.
const PROBE: Duration = Duration::from_secs(10);
/// Probing the artifact place, as something that is tried again.
pub const PROBING: &str = "probing the artifact place";
/// The setting with the id of a database.
const DATABASE: &str = "database";
/// The instance of a database whose place is a folder beside its file: they are copied and moved together.
const BESIDE: &str = "beside its file";

/// The database that owns a place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactOwner {
    /// The database's id. Copies of a database have the same.
    pub database: String,
    /// The instance that holds the database: a server with a database of it, or a file. Copies have different ones.
    pub instance: String,
}

impl fmt::Display for ArtifactOwner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.database, self.instance)
    }
}

/// The right of a database to a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtifactClaim {
    /// The place is marked as this database's own.
    Own,
    /// The place has no mark, and holds things that this database does not know. It can be read and written, and nothing
    /// is removed there until somebody adopts it.
    Unmarked {
        /// The number of unknown experiments and agents.
        unknown: usize,
    },
}

/// True once the place was found to be writable for this database. Clones share the answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Writable(Arc<AtomicBool>);

impl Writable {
    fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn set(&self, is_writable: bool) {
        self.0.store(is_writable, Ordering::Release);
    }
}

row! {
    /// An experiment.
    IdRow { id: String }
}

row! {
    /// A bundle that is used.
    DigestRow { digest: String }
}

impl Store {
    /// Claims the artifact place for this database: marks one that is empty or holds only what this database knows, and
    /// refuses one that another database owns.
    pub async fn claim_artifacts(&self) -> Result<ArtifactClaim, StoreError> {
        let own = self.as_owner().await?;
        let claim = match self.artifact_owner().await? {
            Some(owner) => self.require_same(owner, &own).map(|()| ArtifactClaim::Own),
            None => match self.count_unknown().await? {
                0 => self.mark_first(&own).await.map(|()| ArtifactClaim::Own),
                unknown => Ok(ArtifactClaim::Unmarked { unknown }),
            },
        };
        self.writable.set(claim.is_ok());
        claim
    }

    /// Makes the artifact place this database's own, whoever owned it; who did. Only for a place that no other database uses.
    pub async fn adopt_artifacts(&self) -> Result<Option<ArtifactOwner>, StoreError> {
        let before = self.artifact_owner().await;
        self.artifacts.put(MARK, json::text(&self.as_owner().await?)?).await?;
        self.writable.set(true);
        match before {
            // A mark that cannot be read says nothing about who was there.
            Err(StoreError::UnreadableMark { .. }) => Ok(None),
            before => before,
        }
    }

    /// The database that owns the artifact place; `None` when it has no mark.
    pub async fn artifact_owner(&self) -> Result<Option<ArtifactOwner>, StoreError> {
        let Some(mark) = self.artifacts.find(MARK).await? else { return Ok(None) };
        let unreadable = |error: serde_json::Error| StoreError::UnreadableMark {
            place: self.artifacts.place(MARK),
            reason: error.to_string(),
        };
        serde_json::from_slice(&mark).map(Some).map_err(unreadable)
    }

    /// Proves that the artifact place belongs to this database and that artifacts can be written, read and removed there.
    /// `name` is one that no other process uses.
    pub async fn probe_artifacts(&self, name: &str) -> Result<ArtifactClaim, StoreError> {
        let late = |_| StoreError::Artifact {
            operation: "probe",
            key: self.artifacts.place(PROBES),
            cause: format!("no answer within {} s", PROBE.as_secs()),
        };
        timeout(PROBE, self.probe(name)).await.map_err(late)?
    }

    async fn probe(&self, name: &str) -> Result<ArtifactClaim, StoreError> {
        let claim = self.claim_artifacts().await?;
        let key = format!("{PROBES}/{name}");
        self.artifacts.put(&key, name.to_owned()).await?;
        let read = self.artifacts.get(&key).await?;
        self.artifacts.delete(&key).await?;
        if read != name {
            let cause = "it is not what was written a moment ago".to_owned();
            return Err(StoreError::Artifact { operation: "read", key: self.artifacts.place(&key), cause });
        }
        Ok(claim)
    }

    /// Why an artifact that should be there is not: it is gone, or this is the place of another database.
    pub(crate) async fn why_gone(&self, what: String, key: &str) -> StoreError {
        let own = match self.artifact_owner().await {
            Ok(Some(owner)) => self.as_owner().await.and_then(|own| self.require_same(owner, &own)),
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        own.err().unwrap_or_else(|| StoreError::EvidenceGone { what, place: self.artifacts.place(key) })
    }

    /// Keeps the content of a file as an artifact, in a place of this database only.
    pub async fn keep_artifact(&self, key: &str, path: &Path) -> Result<(), StoreError> {
        self.require_writable().await?;
        self.artifacts.put_file(key, path).await
    }

    /// Refuses to write to a place that another database owns.
    pub(crate) async fn require_writable(&self) -> Result<(), StoreError> {
        if self.writable.get() {
            return Ok(());
        }
        self.claim_artifacts().await.map(drop)
    }

    /// Refuses to remove anything from a place that is not marked as this database's own.
    pub async fn require_own_artifacts(&self) -> Result<(), StoreError> {
        match self.claim_artifacts().await? {
            ArtifactClaim::Own => Ok(()),
            ArtifactClaim::Unmarked { unknown } => {
                Err(StoreError::UnmarkedPlace { place: self.artifacts.whole_place().to_owned(), unknown })
            }
        }
    }

    /// This database as an owner.
    async fn as_owner(&self) -> Result<ArtifactOwner, StoreError> {
        let database = match self.setting(DATABASE).await? {
            Some(id) => id,
            None => self.set_setting_once(DATABASE, &self.db.random_id().await?).await?,
        };
        let instance = self.instance().await?;
        Ok(ArtifactOwner { database, instance })
    }

    async fn instance(&self) -> Result<String, StoreError> {
        let file = self.db.instance().await?;
        let is_beside = self.db.is_file() && self.artifacts.is_beside(file.as_ref());
        Ok(if is_beside { BESIDE.to_owned() } else { file })
    }

    fn require_same(&self, owner: ArtifactOwner, own: &ArtifactOwner) -> Result<(), StoreError> {
        let place = || self.artifacts.whole_place().to_owned();
        if owner.database != own.database {
            return Err(StoreError::ForeignPlace {
                place: place(),
                owner: Box::new(owner),
                own: Box::new(own.clone()),
            });
        }
        if owner.instance != own.instance {
            return Err(StoreError::CopiedDatabase {
                place: place(),
                owner: Box::new(owner),
                own: Box::new(own.clone()),
            });
        }
        Ok(())
    }

    /// Marks a place, unless another database was faster.
    async fn mark_first(&self, own: &ArtifactOwner) -> Result<(), StoreError> {
        self.artifacts.put_first(MARK, json::text(own)?).await?;
        let owner = self.artifact_owner().await?.unwrap_or_else(|| own.clone());
        self.require_same(owner, own)
    }

    /// The number of experiments and agents in the place that this database does not know.
    async fn count_unknown(&self) -> Result<usize, StoreError> {
        let experiments = self.unknown_experiments().await?.len();
        let used = Query::select().distinct().column(Snapshots::Digest).from(Snapshots::Table).to_owned();
        let bundles = self.artifacts.list(BUNDLES).await?;
        let used: Vec<DigestRow> = self.db.fetch_all(&used).await?;
        let used: HashSet<String> = used.into_iter().map(|row| bundle_key(&row.digest)).collect();
        Ok(experiments + bundles.iter().filter(|bundle| !used.contains(&bundle.key)).count())
    }

    /// The experiments that have a folder of evidence and no row.
    pub(crate) async fn unknown_experiments(&self) -> Result<Vec<ExperimentId>, StoreError> {
        let select = Query::select().column(Experiments::Id).from(Experiments::Table).to_owned();
        // Listed before the rows are read: a folder that is made meanwhile is not in the list.
        let folders = self.artifacts.first_parts().await?;
        let folders: Vec<ExperimentId> = folders.iter().filter_map(|name| name.parse().ok()).collect();
        let rows: Vec<IdRow> = self.db.fetch_all(&select).await?;
        let known: HashSet<String> = rows.into_iter().map(|row| row.id).collect();
        Ok(folders.into_iter().filter(|experiment| !known.contains(&experiment.to_string())).collect())
    }
}
