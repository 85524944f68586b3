//! The requests of a remote session, as they are kept.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// Something that happened, or is to be decided on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RemoteRequest {
    /// A request to a model is about to be sent.
    ModelRequest(ModelRequestTold),
    /// A model proposed calls.
    Step(StepTold),
    /// A call is about to be carried out.
    Execution(ExecutionTold),
    /// A call that was let out ended.
    Completion(CompletionTold),
    /// Somebody decided on the held call.
    Approval(ApprovalTold),
    /// Nobody decided on the held call in time.
    Deadline,
    /// A label is added.
    Label {
        /// The label.
        label: String,
        /// The one who added it.
        origin: String,
    },
    /// Only some tools may be used, or all again.
    Filter {
        /// The tools; `None` for all.
        tools: Option<BTreeSet<String>>,
    },
    /// The session is killed.
    Kill {
        /// The reason.
        cause: String,
    },
    /// The session is closed.
    Close,
}

/// A request to a model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ModelRequestTold {
    /// The provider, such as `openai`.
    pub provider: String,
    /// The body.
    pub body: Json,
    /// The tools that it offers, each with the JSON Schema of its arguments.
    pub offered: Vec<(String, Option<Json>)>,
    /// The results of tools that it brings.
    pub results: Vec<ResultTold>,
}

/// A result of a tool that the agent reports to the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ResultTold {
    /// The model's id of the call.
    pub id: String,
    /// The text.
    pub text: String,
    /// True when it is an error.
    pub is_error: bool,
}

/// The calls of a response of the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StepTold {
    /// The calls, in their order.
    pub calls: Vec<ProposalTold>,
    /// The request and the response in the form that assertions read.
    pub exchange: Option<(Json, Json)>,
    /// The cost of the response, in millionths of a dollar.
    pub cost_micros: u64,
}

/// A call that a response proposes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProposalTold {
    /// The model's id of it.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments; a string when they are no JSON.
    pub arguments: Json,
}

/// A call that is about to be carried out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ExecutionTold {
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Json,
    /// The model's id of the call, where it is known.
    pub call: Option<String>,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompletionTold {
    /// The call's id in the session.
    pub call: String,
    /// The kind of outcome.
    pub outcome: OutcomeTold,
    /// The output, or the error.
    pub output: Json,
    /// The time that it took.
    pub latency_ms: Option<u64>,
    /// True when the agent itself says so.
    pub is_self_reported: bool,
}

/// A kind of outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeTold {
    /// It succeeded.
    Ok,
    /// It failed.
    Error,
    /// No reply came.
    Lost,
}

/// A decision on the held call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ApprovalTold {
    /// True when it may go on.
    pub is_approved: bool,
    /// The hash of the arguments that were looked at.
    pub args_hash: String,
    /// The name of who decided.
    pub by: String,
    /// The note of who decided.
    pub note: String,
}
