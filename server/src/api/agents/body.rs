//! A snapshot as clients send and see it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use store::{Snapshot, bundle_key};
use utoipa::ToSchema;

/// Credentials of an agent for other services.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct Auth {
    /// Variables that it needs.
    pub(super) required_env: Vec<String>,
    /// Files that it needs.
    pub(super) config_files: Vec<ConfigFile>,
    /// Hosts that it talks to, by what they are for.
    pub(super) egress: BTreeMap<String, Vec<String>>,
}

/// A file that an agent needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ConfigFile {
    /// Where it is.
    pub(super) path: String,
    /// The content.
    pub(super) template: String,
}

/// Metadata beside the archive of an upload.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub(crate) struct SnapshotMetadata {
    /// The agent's name.
    #[schema(example = "codex")]
    pub(super) name: String,
    /// The command that is started.
    #[schema(example = json!(["python3", "agent.py"]))]
    pub(super) entrypoint: Vec<String>,
    /// Its runtime.
    #[serde(default)]
    #[schema(example = "python3")]
    pub(super) runtime: Option<String>,
    /// Its credentials for other services.
    #[serde(default)]
    pub(super) auth: Option<Auth>,
    /// A word for this version.
    #[serde(default)]
    pub(super) tag: Option<String>,
}

/// A snapshot of an agent.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct SnapshotBody {
    /// Its id.
    #[schema(example = "snap_0f3b2c")]
    id: String,
    /// The agent's name.
    name: String,
    /// Which upload of this name it is, from 1.
    version: u32,
    /// A word for it; empty when it has none.
    tag: String,
    /// The digest of its archive.
    #[schema(example = "sha256:0f3b2c")]
    digest: String,
    /// The size of its archive in bytes.
    size_bytes: u64,
    /// The name of its archive among the artifacts.
    storage_path: String,
    /// Its runtime; empty when it names none.
    runtime: String,
    /// The command that is started.
    entrypoint: Vec<String>,
    /// Its credentials for other services.
    auth: Auth,
    /// When it was uploaded.
    #[schema(format = DateTime)]
    created_at: String,
}

/// A snapshot as clients see it.
pub(super) fn shown(snapshot: Snapshot) -> SnapshotBody {
    let Snapshot { new, version, created_at } = snapshot;
    SnapshotBody {
        id: new.id,
        name: new.name,
        version,
        tag: new.tag,
        storage_path: bundle_key(&new.digest),
        digest: new.digest,
        size_bytes: new.size,
        runtime: new.runtime,
        entrypoint: new.entrypoint,
        auth: serde_json::from_value(new.auth).unwrap_or_default(),
        created_at: created_at.to_string(),
    }
}
