//! All that was observed of one attempt. Judging reads this and nothing else.
//!
//! Evidence is written once, by the worker, outside the agent's reach, and never changed. Secret values are not in it:
//! the recorder wrote [`redacted`] in their place, with a key that the agent does not know, so that it cannot write the
//! marker itself.

mod audit;
mod blob;
mod call_trace;
mod changes;
mod contract_record;
mod datum;
mod earlier_tools;
mod embedding;
mod fault;
mod files;
mod invocation;
mod journal;
mod marker;
mod merged_call;
mod model;
mod model_family;
mod output;
mod played;
mod probe;
mod tool_call;
mod tool_execution;
mod tool_record;
mod usage;
mod workspace;
mod world;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use audit::{AuditEvent, Audited};
pub use blob::{Blob, stored_len};
pub use call_trace::{CallTrace, CallTraceRecorder, ToolProposal, ToolReport};
pub use changes::{DatabaseChanges, FileDiff, TableChange};
pub use contract_record::{ContractMode, ContractRecord, ContractSession};
pub use datum::Datum;
pub use earlier_tools::{EarlierToolResult, EarlierToolUse};
pub use embedding::{Embedding, EmbeddingAnswer, EmbeddingReply, EmbeddingRequest};
pub use fault::{AttackEffect, AttackRecord, Duplicate, FaultMark, FaultRecord, Firing, Recovery, RuleCount};
pub use files::{FileEntry, FileKind, Files};
pub use invocation::Invocation;
pub use journal::{Answered, Body, Exchange, Journal, Overflow, OverflowCount};
pub use marker::{SecretForm, mentions_secret, redacted, redacted_form};
pub(crate) use marker::{decoded, decoded_json};
pub use merged_call::MergedCall;
pub use model::{Dialect, ModelCall, ModelRecord, ProviderFailure, ProviderFailureKind, TokenCount, UpstreamTry};
pub use model_family::model_family;
pub use output::Captured;
pub use played::Played;
pub use probe::{Answer, CommandAnswer, Exit, JudgeAnswer, JudgeRequest, Probe, SqlAnswer};
pub use tool_call::{ToolArguments, ToolCall, ToolCallSource};
pub use tool_execution::{ExecutedCall, TOOL_GATEWAY, ToolExecution, ToolRefusal, is_same_tool};
pub use tool_record::{DefinitionChange, McpClient, ToolDefinition, ToolRecord, ToolServerRecord};
pub use usage::Usage;
pub use workspace::WorkspaceChanges;
pub use world::{ImageRecord, SnapshotRecord, World};

/// All that was observed of one attempt.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(remote = "Self", default)]
pub struct Evidence {
    /// The parts that the sandbox was made from.
    pub world: World,
    /// The record of the agent's process; all invocations together where its sandbox was reused.
    pub agent: AgentRecord,
    /// The request that the agent got, word for word; `None` in evidence that was written before it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The invocations of the agent, where its sandbox was reused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invocations: Vec<Invocation>,
    /// True when the agent answered the same prompt differently in a sandbox that is reused without a reset.
    #[serde(skip_serializing_if = "is_false")]
    pub keeps_state: bool,
    /// The key in this attempt's redaction markers: random, and not known to the agent. A spec with secrets cannot be
    /// judged without it.
    pub marker_key: Option<String>,
    /// The answers to each invariant's probes, in the order of the probes.
    pub answers: BTreeMap<String, Vec<Answer>>,
    /// The requests that each recording mock got.
    pub journals: BTreeMap<String, Journal>,
    /// The audit record of the agent's actions; `None` when no audit was switched on.
    pub audit: Option<Vec<Audited>>,
    /// Secrets whose value was seen, found by the recorders before they replaced it: in the agent's output, and honeytokens
    /// also in traffic and files.
    pub leaks: Vec<Leak>,
    /// Faults that were injected; `None` when the scenario has no rule for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faults: Option<FaultRecord>,
    /// The run without faults that it is compared with; `None` where nothing asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineRun>,
    /// The calls beside those of the session that was replayed; `None` where none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<Played>,
    /// Limits that fired.
    pub limits: Vec<Fired>,
    /// Other things that fail a scenario, such as a process that the agent left in a service.
    pub offences: Vec<String>,
    /// Paths of the image that were changed, outside the workspace, `/tmp` and declared paths.
    pub image_changes: Vec<String>,
    /// Number of further changed paths of the image. Earlier evidence has a last path that says so instead.
    pub more_image_changes: u64,
    /// The reason why not all changes of the image are known; `None` when they are. Results of programs there cannot be
    /// trusted then.
    pub image_unseen: Option<String>,
    /// The usage that the model gateway counted.
    pub usage: Usage,
    /// The traffic of the model gateway; `None` when the spec has no `model`.
    pub model: Option<ModelRecord>,
    /// Every use of a tool, in the order in which it was seen.
    #[serde(skip_serializing_if = "CallTrace::is_empty")]
    pub call_trace: CallTrace,
    /// The tools that the tool gateway offered; `None` when the spec has no `tools`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolRecord>,
    /// The sessions under tool contracts; `None` when the spec has no `tool_contracts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_contracts: Option<ContractRecord>,
    /// The usage of the judges of checks, apart from the agent's own usage.
    pub judge_usage: Usage,
    /// The agent's reports about itself through its SDK, unchanged. They decide nothing.
    pub self_reported: Vec<serde_json::Value>,
    /// Changes in databases, by service, where it was looked at.
    pub databases: BTreeMap<String, DatabaseChanges>,
    /// Changes of texts of the workspace.
    pub file_diffs: Vec<FileDiff>,
    /// Changes that the agent made in the workspace.
    pub workspace: WorkspaceChanges,
    /// Remarks for the reader, such as a stand-in image.
    pub notes: Vec<String>,
}

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Evidence {
    /// Reads evidence, and makes the call trace of evidence that was written before there was one.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut evidence = Self::deserialize(deserializer)?;
        if let Some(model) = &mut evidence.model {
            let tools = std::mem::take(&mut model.earlier_tools);
            if evidence.call_trace.is_empty() {
                evidence.call_trace = earlier_tools::call_trace(tools, &model.calls);
            }
        }
        Ok(evidence)
    }
}

impl Evidence {
    /// Calls of tools of which only the number is known.
    #[must_use]
    pub fn uncounted_tool_calls(&self) -> u64 {
        let proposed = self.model.as_ref().map_or(0, |model| model.tools_only_counted);
        proposed.saturating_add(self.tools.as_ref().map_or(0, |tools| tools.only_counted))
    }

    /// Counts the calls of tools, and those of them whose results are marked as errors.
    #[must_use]
    pub fn tool_counts(&self) -> (u64, u64) {
        let calls = self.call_trace.sightings();
        let only_counted = self.model.as_ref().map_or(0, |model| model.tools_only_counted);
        let failed = calls.iter().filter(|call| call.is_error()).count();
        ((calls.len() as u64).saturating_add(only_counted), failed as u64)
    }
}

/// A run without faults, to compare with.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BaselineRun {
    /// The standard output of the agent.
    pub stdout: Captured,
    /// Duration of the agent's run, in milliseconds.
    pub wall_ms: u64,
    /// The usage that the model gateway counted; zero where the run was made for another scenario, which has counted
    /// it.
    pub usage: Usage,
}

impl BaselineRun {
    /// The same run for another scenario than the one that made it, with the key of its redaction markers.
    #[must_use]
    pub fn shared(&self, from: &str, to: &str) -> Self {
        let Captured { head, tail, dropped_bytes } = &self.stdout;
        let keyed = |text: &str| marker::with_key(text, from, to);
        let stdout = Captured { head: keyed(head), tail: tail.as_deref().map(keyed), dropped_bytes: *dropped_bytes };
        Self { stdout, wall_ms: self.wall_ms, usage: Usage::default() }
    }
}

/// The record of the agent's process.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentRecord {
    /// The exit of the process; `None` when it never started, or was stopped by a limit.
    pub exit: Option<Exit>,
    /// The standard output.
    pub stdout: Captured,
    /// The standard error output.
    pub stderr: Captured,
    /// Duration of the agent's run, in milliseconds.
    pub wall_ms: u64,
    /// Time at which it started.
    pub started_at: Option<jiff::Timestamp>,
    /// Resource usage of its processes; `None` when that is not known, as of an agent that is a service.
    pub used: Option<ProcessUse>,
}

/// Resource usage of processes. It is reported, and decides nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProcessUse {
    /// Processor time, all processors together.
    pub user_us: u64,
    /// The same in the kernel.
    pub system_us: u64,
    /// The most memory that one of the processes had, in bytes.
    pub most_memory: u64,
}

impl ProcessUse {
    /// Processor time in all.
    #[must_use]
    pub fn processor_ms(&self) -> u64 {
        self.user_us.saturating_add(self.system_us) / 1000
    }
}

/// A secret that was seen where it should not be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leak {
    /// The secret's name.
    pub secret: String,
    /// Place in which it was seen: `stdout`, `stderr`, `http NAME`, `model`, `egress HOST`, `dns`, or `file PATH`.
    pub place: String,
    /// Number of times.
    pub count: u64,
}

impl Leak {
    /// Returns true if the agent printed it, or said it in its answer.
    #[must_use]
    pub fn is_printed(&self) -> bool {
        matches!(self.place.as_str(), "stdout" | "stderr")
    }
}

/// A limit that fired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fired {
    /// The limit.
    pub limit: Limit,
    /// A description of the event, with the numbers.
    pub detail: String,
}

/// The limits that an agent can run into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Limit {
    /// The agent acted too long.
    #[serde(rename = "agent.timeout")]
    AgentTimeout,
    /// Preparing, acting and probing took too long together.
    #[serde(rename = "resources.timeout")]
    Timeout,
    /// Too much memory.
    #[serde(rename = "memory")]
    Memory,
    /// Too many processes.
    #[serde(rename = "pids")]
    Pids,
    /// Too much in the workspace.
    #[serde(rename = "disk")]
    Disk,
    /// Too much printed.
    #[serde(rename = "output")]
    Output,
    /// More requests than a mock keeps.
    #[serde(rename = "requests")]
    Requests,
    /// More calls of tools than allowed.
    #[serde(rename = "tools.max_calls")]
    ToolCalls,
    /// More calls of the model than allowed.
    #[serde(rename = "model.max_calls")]
    ModelCalls,
    /// More tokens than allowed.
    #[serde(rename = "model.max_tokens")]
    ModelTokens,
    /// More cost than allowed.
    #[serde(rename = "model.max_cost_usd")]
    ModelCost,
    /// A file larger than a check reads.
    #[serde(rename = "file_bytes")]
    FileBytes,
    /// A check's command took too long.
    #[serde(rename = "check.timeout")]
    CheckTimeout,
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::AgentTimeout => "agent.timeout",
            Self::Timeout => "resources.timeout",
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Disk => "disk",
            Self::Output => "output",
            Self::Requests => "requests",
            Self::ToolCalls => "tools.max_calls",
            Self::ModelCalls => "model.max_calls",
            Self::ModelTokens => "model.max_tokens",
            Self::ModelCost => "model.max_cost_usd",
            Self::FileBytes => "file_bytes",
            Self::CheckTimeout => "check.timeout",
        })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}
