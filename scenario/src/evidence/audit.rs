//! The audit record of the agent's actions.

use serde::{Deserialize, Serialize};

/// One doing of the agent, and when it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audited {
    /// Time of the action, in milliseconds since the agent started; `None` when only the outcome was seen, as with
    /// files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
    /// The action.
    #[serde(flatten)]
    pub event: AuditEvent,
}

impl From<AuditEvent> for Audited {
    /// Wraps an event whose time is not known.
    fn from(event: AuditEvent) -> Self {
        Self { at_ms: None, event }
    }
}

/// One doing of the agent, as the gateways and the sandbox saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "details", rename_all = "snake_case")]
pub enum AuditEvent {
    /// Rows of a table were written.
    DbWrite {
        /// The database service.
        service: String,
        /// The table, with its schema unless that is the default one; `(unknown)` when the statement did not tell.
        table: String,
        /// `insert`, `update`, `delete`, `merge`, `replace`, `copy`, `load`, `truncate`, `create`, `drop` or `alter`; or `changed` when no
        /// statement names the table, but its content is another one.
        op: String,
        /// Number of rows.
        rows: u64,
    },
    /// A call over HTTP.
    HttpCall {
        /// The service that the name led to; `None` for the outside and for names that led nowhere.
        service: Option<String>,
        /// The name that was called.
        host: String,
        /// The method.
        method: String,
        /// The path.
        path: String,
        /// The status of the answer; `None` when it was refused.
        status: Option<u16>,
        /// The body of the answer, as far as it was kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        response_body: Option<String>,
    },
    /// A file was written, changed or removed.
    FileWrite {
        /// The path, relative to the workspace; one that begins with `/` is of the image.
        path: String,
        /// `added`, `modified` or `removed`; `changed` in the image, where only the outcome is known.
        op: String,
    },
    /// A name was looked up.
    Dns {
        /// The name.
        name: String,
        /// The kind of record, such as `A`.
        kind: String,
        /// The address that the name leads to, which is answered to questions for `A` and `ANY` only; `None` when the name does
        /// not exist for the sandbox. Older evidence calls it `answer`.
        #[serde(rename = "leads_to", alias = "answer")]
        answer: Option<String>,
    },
    /// A connection to the outside that was let through.
    Egress {
        /// The name that was called.
        host: String,
        /// The port.
        port: u16,
        /// The address that the name led to.
        address: String,
        /// Bytes that the sandbox sent.
        bytes_out: u64,
        /// Bytes that it got.
        bytes_in: u64,
    },
    /// A connection to the outside that was refused.
    EgressDenied {
        /// The name that was called; empty when the client did not say.
        host: String,
        /// The port.
        port: u16,
        /// The reason.
        reason: String,
    },
    /// A call of the model; the whole of it is in the model's own record.
    ModelCall {
        /// The model that was asked for.
        model: String,
        /// The shape of the call, such as `chat`.
        dialect: String,
        /// The status of the answer.
        status: u16,
        /// Tokens of the request.
        input_tokens: u64,
        /// Tokens of the answer.
        output_tokens: u64,
    },
    /// A tool that an answer of the model called: a view of the call trace. It stands in no stored audit, except for evidence of
    /// earlier versions.
    ToolCall {
        /// The id with which calls and results find each other.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments, as the model wrote them.
        arguments: String,
        /// The result that the agent sent back; `None` when it sent none.
        result: Option<String>,
    },
    /// A command was started.
    Command {
        /// The command.
        command: String,
        /// The exit code, when it ended.
        exit_code: Option<i32>,
    },
}
