//! Changes that the agent made in the workspace.

use serde::{Deserialize, Serialize};

/// Changes that the agent made in the workspace, by path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkspaceChanges {
    /// Added paths.
    pub added: Vec<String>,
    /// Removed paths.
    pub removed: Vec<String>,
    /// Modified paths.
    pub modified: Vec<String>,
    /// True when there was more than is listed.
    pub incomplete: bool,
}
