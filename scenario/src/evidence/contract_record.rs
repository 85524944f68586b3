//! Sessions under tool contracts, as they were decided while the agent acted.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// All sessions of a scenario under the `tool_contracts` of its spec.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ContractRecord {
    /// The way in which decisions took effect.
    pub mode: ContractMode,
    /// The sessions, in the order in which they opened. Without a workflow there is one.
    pub sessions: Vec<ContractSession>,
    /// The records of the workflow: handoffs, kills; empty without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workflow: Vec<Json>,
}

/// The way in which decisions took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContractMode {
    /// Calls were written down, and nothing was decided.
    Record,
    /// Decisions were computed, and never applied.
    #[default]
    Observe,
    /// Decisions were applied.
    Govern,
}

/// One session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ContractSession {
    /// Its id.
    pub session: String,
    /// Its role in the workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The session that handed work to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The hash of the contracts.
    pub contract: String,
    /// The last status: `active`, `paused`, `cancel_requested`, `killed` or `closed`.
    pub status: String,
    /// The last phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The records (`docs/tool-contracts.md`), each with the hash of the one before it.
    pub records: Vec<Json>,
    /// Records beyond those that are kept.
    #[serde(skip_serializing_if = "is_zero")]
    pub only_counted: u64,
    /// The hash of the last record: records that end earlier were cut off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_hash: Option<String>,
}

impl ContractMode {
    /// The word for it, as specs have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Observe => "observe",
            Self::Govern => "govern",
        }
    }
}

impl fmt::Display for ContractMode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl ContractSession {
    /// The log of the session, as JSON Lines.
    #[must_use]
    pub fn log(&self) -> String {
        self.records.iter().map(|record| format!("{record}\n")).collect()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
