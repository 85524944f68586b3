//! What was written down about the agent's doings.

use serde::{Deserialize, Serialize};

/// One doing of the agent, as the gateways and the sandbox saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "details", rename_all = "snake_case")]
pub enum AuditEvent {
    /// Rows of a table were written.
    DbWrite {
        /// The database service.
        service: String,
        /// The table, with its schema where the database told.
        table: String,
        /// `insert`, `update` or `delete`.
        op: String,
        /// How many rows.
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
    /// A file of the workspace was written, changed or removed.
    FileWrite {
        /// The path, relative to the workspace.
        path: String,
        /// `added`, `modified` or `removed`.
        op: String,
    },
    /// A command was started.
    Command {
        /// The command.
        command: String,
        /// How it ended, when it did.
        exit_code: Option<i32>,
    },
}
