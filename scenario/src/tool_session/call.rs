//! A call of a lane: the decision on it, the answer of an approver, and its outcome.

use serde::{Deserialize, Serialize};

use super::finding::{RuleSource, Violation};

/// A call of a tool, with its decision.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LaneCall {
    /// The time since the agent started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
    /// The step, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// The call's id, which findings name.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The phase before the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The decision.
    pub decision: CallDecision,
    /// The reasons of the decision; empty for a call that was allowed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sentence: String,
    /// The first rule that refused or held the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleSource>,
    /// The question to an approver, for a call that was held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    /// True for a call that was allowed and not passed on, because its batch was refused.
    #[serde(skip_serializing_if = "crate::evidence::is_false")]
    pub withheld: bool,
    /// The outcome; `None` for a call that was not completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<CallOutcome>,
    /// True when the outcome is known from the agent only.
    #[serde(skip_serializing_if = "crate::evidence::is_false")]
    pub self_reported: bool,
    /// Set for a call that broke a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation: Option<Violation>,
}

/// The decision on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallDecision {
    /// The call was written down only.
    #[default]
    NotDecided,
    /// It was allowed.
    Allowed,
    /// It was refused.
    Blocked,
    /// It waited for an approval.
    Held,
    /// It would have been refused.
    WouldHaveBeenBlocked,
    /// It would have waited for an approval.
    WouldHaveBeenHeld,
}

/// The question to an approver, and the answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Hold {
    /// The checkpoints that held the call.
    pub checkpoints: Vec<String>,
    /// The values that the approver saw.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<(String, String)>,
    /// The answer; `None` when there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
}

/// The answer of an approver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// The decision.
    pub decision: ApprovalDecision,
    /// The approver.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
    /// The approver's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// The decision of an approver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalDecision {
    /// The call may pass.
    Approved,
    /// The call is refused.
    Denied,
    /// No answer came in time.
    TimedOut,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// It returned something.
    Ok,
    /// It returned nothing.
    OkEmpty,
    /// It returned an error.
    Error,
    /// Unknown: it may have happened.
    Lost,
}
