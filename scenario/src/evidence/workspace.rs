//! What the agent changed in the workspace.

use serde::{Deserialize, Serialize};

/// What the agent changed in the workspace, by path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkspaceChanges {
    /// What was not there before.
    pub added: Vec<String>,
    /// What is not there any more.
    pub removed: Vec<String>,
    /// What was changed.
    pub modified: Vec<String>,
    /// Set when there was more than is listed.
    pub incomplete: bool,
}
