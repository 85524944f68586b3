//! What the sandbox was made from.

use serde::{Deserialize, Serialize};

/// What the sandbox was made from, so that a result can be followed to the bytes that produced it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct World {
    /// The sandbox's name.
    pub sandbox: String,
    /// What made it: `docker` or `local`.
    pub backend: String,
    /// What started it, such as `runc`.
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
    /// Which version of it this was.
    pub version: i64,
    /// The digest of its archive.
    pub digest: String,
}

/// An image that was used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ImageRecord {
    /// What the spec asked for.
    pub reference: String,
    /// What was used: the same, or a stand-in.
    pub name: String,
    /// The digest of its content.
    pub digest: String,
}

impl ImageRecord {
    /// Whether another image stood in for the one that was asked for.
    #[must_use]
    pub fn is_stand_in(&self) -> bool {
        self.reference != self.name
    }
}
