//! The record of the tool gateway.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// The tools that the tool gateway offered. Calls are in the call trace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolRecord {
    /// The tools, as they were offered first.
    pub definitions: Vec<ToolDefinition>,
    /// Tools whose definition changed while the agent acted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<DefinitionChange>,
    /// The MCP servers of the spec.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ToolServerRecord>,
    /// The programs that connected.
    pub clients: Vec<McpClient>,
    /// Number of requests for the list of tools.
    pub lists: u64,
    /// All calls.
    pub calls: u64,
    /// Calls beyond the number that is kept, of which only the count is known.
    #[serde(skip_serializing_if = "is_zero")]
    pub only_counted: u64,
    /// Calls that the recording has no answer to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub misses: Vec<String>,
    /// Number of calls of the recording that were not made.
    #[serde(skip_serializing_if = "is_zero")]
    pub unused: u64,
}

/// A tool as it was offered first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolDefinition {
    /// The name by which the agent calls it.
    pub name: String,
    /// The MCP server that has it; `None` for a tool that the spec declares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The SHA-256 of name, description and schema in canonical JSON, in hex.
    pub sha256: String,
    /// The whole definition, as MCP has it; `null` when it is too large to be kept.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub definition: Json,
}

/// A tool whose definition changed while the agent acted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefinitionChange {
    /// The tool.
    pub tool: String,
    /// The time at which the gateway saw it, in milliseconds since the agent started.
    pub at_ms: u64,
    /// The hash of the new definition; `None` when the tool is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// True when a fault of the spec did it.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub injected: bool,
}

/// An MCP server of the spec.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolServerRecord {
    /// Its name in the spec.
    pub name: String,
    /// The name and version that it gives itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The version of the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Time until it answered `tools/list`, in milliseconds.
    pub ready_ms: u64,
    /// The tools that it has and that are not offered.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<String>,
    /// The reason why it stopped answering; `None` when it answered to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// The end of what it printed as errors.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stderr: String,
}

/// A program that connected to the tool gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpClient {
    /// The name that it gives itself.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The version of the protocol that was agreed upon.
    pub protocol: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
