//! Agents that were uploaded, out of the store.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use engine::uploaded::{ConfigFile, SnapshotFiles};
use scenario::hex;
use scenario::plan::SnapshotAgent;
use serde::Deserialize;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use store::{Snapshot, Store, StoreError, bundle_key};

use crate::dependencies::{Snapshots, Unavailable};

/// Number of archives that are remembered: the scenarios of one run have the same.
const REMEMBERED: usize = 4;

/// Agents that were uploaded, out of the store.
#[derive(Debug)]
pub struct StoredSnapshots {
    store: Store,
    archives: Mutex<VecDeque<(String, Arc<[u8]>)>>,
}

/// Requirements of an agent, as its owner declared them when it was uploaded.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Auth {
    required_env: Option<Vec<String>>,
    config_files: Option<Vec<Config>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Config {
    path: String,
    template: String,
}

impl StoredSnapshots {
    /// The agents of a store.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store, archives: Mutex::default() }
    }

    async fn archive(&self, digest: &str) -> Result<Arc<[u8]>, Unavailable> {
        if let Some(found) = self.remembered(digest) {
            return Ok(found);
        }
        let bytes = self.store.artifacts().get(&bundle_key(digest)).await.map_err(unavailable)?;
        let found = hex(Sha256::digest(&bytes));
        if digest.trim_start_matches("sha256:") != found {
            return Err(Unavailable::Missing(format!("the archive {digest} is not what was uploaded")));
        }
        let archive: Arc<[u8]> = bytes.as_ref().into();
        let mut archives = self.archives.lock().unwrap_or_else(PoisonError::into_inner);
        archives.push_front((digest.to_owned(), Arc::clone(&archive)));
        archives.truncate(REMEMBERED);
        Ok(archive)
    }

    fn remembered(&self, digest: &str) -> Option<Arc<[u8]>> {
        let archives = self.archives.lock().unwrap_or_else(PoisonError::into_inner);
        archives.iter().find(|(known, _)| known == digest).map(|(_, archive)| Arc::clone(archive))
    }
}

#[async_trait]
impl Snapshots for StoredSnapshots {
    async fn find(&self, owner: &str, agent: &SnapshotAgent) -> Result<SnapshotFiles, Unavailable> {
        let found = self.store.named_snapshot(owner, agent).await.map_err(unavailable)?;
        let Snapshot { new, version, .. } = found
            .ok_or_else(|| Unavailable::Missing(format!("{agent} is not there; upload it with `POST /v1/agents`")))?;
        let auth = read_auth(new.auth).map_err(|error| {
            Unavailable::Missing(format!("what the agent `{}` needs cannot be read: {error}", agent.snapshot))
        })?;
        let config = |file: Config| ConfigFile { path: file.path, template: file.template };
        Ok(SnapshotFiles {
            archive: self.archive(&new.digest).await?,
            id: new.id,
            name: new.name,
            version: version.into(),
            digest: new.digest,
            entrypoint: new.entrypoint,
            runtime: new.runtime,
            required_env: auth.required_env.unwrap_or_default(),
            config_files: auth.config_files.unwrap_or_default().into_iter().map(config).collect(),
        })
    }
}

fn read_auth(auth: Json) -> Result<Auth, serde_json::Error> {
    if auth.is_null() { Ok(Auth::default()) } else { serde_json::from_value(auth) }
}

fn unavailable(error: StoreError) -> Unavailable {
    Unavailable::Unavailable(error.to_string())
}
