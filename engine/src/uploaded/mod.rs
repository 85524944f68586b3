//! An agent that was uploaded: an archive of its files, and how it is started.
//!
//! The files come into [`FOLDER`] before `setup`, owned by the agent's user, so they belong to the image that the agent
//! starts from. It runs in the workspace like any other agent: words of its entrypoint that name one of its files are
//! replaced by the whole path, and [`FOLDER`] is in `TOUCHSTONE_AGENT_DIR`, `KEYSTONE_AGENT_DIR`, `PATH` and `PYTHONPATH`.

mod archive;
mod install;

use std::fmt;
use std::sync::Arc;

pub(crate) use install::{Installed, add_variables, install, install_files};

/// Folder of an uploaded agent's files inside the sandbox.
pub const FOLDER: &str = "/opt/agent";

/// Number of files, folders and links that an archive may have.
pub const MOST_ENTRIES: usize = 50_000;
/// Number of bytes that an archive may unpack to.
pub const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// An agent that was uploaded.
#[derive(Clone, PartialEq, Eq)]
pub struct SnapshotFiles {
    /// The id of the snapshot.
    pub id: String,
    /// The name of the agent.
    pub name: String,
    /// Its version.
    pub version: i64,
    /// `sha256:` and the digest of the archive.
    pub digest: String,
    /// The archive: a tar file, compressed with gzip.
    pub archive: Arc<[u8]>,
    /// The program and its arguments.
    pub entrypoint: Vec<String>,
    /// Runtime that it is written for, such as `python3`; nothing depends on it.
    pub runtime: String,
    /// Variables that have to be in its environment.
    pub required_env: Vec<String>,
    /// Files that are written for it.
    pub config_files: Vec<ConfigFile>,
}

/// A file that is written for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// The path: an absolute one, one below `~/`, or one below the agent's own folder.
    pub path: String,
    /// Template of the content. `{{ secrets.NAME }}` and everything else that a spec may name is replaced; `${NAME}`
    /// and `{{ NAME }}` too, for the agent's required variables.
    pub template: String,
}

impl fmt::Debug for SnapshotFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, digest, .. } = self;
        formatter.debug_struct("SnapshotFiles").field("id", id).field("digest", digest).finish_non_exhaustive()
    }
}
