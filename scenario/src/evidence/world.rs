//! The parts that the sandbox was made from.

use serde::{Deserialize, Serialize};

/// The parts that the sandbox was made from, so that a result can be traced to the bytes that produced it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct World {
    /// The sandbox's name.
    pub sandbox: String,
    /// The backend that made it: `docker` or `local`.
    pub backend: String,
    /// The runtime that started it, such as `runc`.
    pub runtime: String,
    /// The images, with the sandbox's own first.
    pub images: Vec<ImageRecord>,
    /// The uploaded agent, when it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotRecord>,
}

/// An uploaded agent that was used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SnapshotRecord {
    /// The id of the snapshot.
    pub id: String,
    /// The name of the agent.
    pub name: String,
    /// Its version.
    pub version: i64,
    /// The digest of its archive.
    pub digest: String,
}

/// An image that was used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ImageRecord {
    /// The reference in the spec.
    pub reference: String,
    /// The image that was used: the same, or a stand-in.
    pub name: String,
    /// The digest of its content.
    pub digest: String,
}

impl ImageRecord {
    /// Returns true if another image stood in for the requested one.
    #[must_use]
    pub fn is_stand_in(&self) -> bool {
        self.reference != self.name
    }
}
