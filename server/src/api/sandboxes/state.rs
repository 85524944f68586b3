//! The state of a sandbox, and its changes.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use scenario::interactive::{Ask, DiffReply, Reply, StateReply};
use serde::Serialize;
use utoipa::ToSchema;

use super::asking::{ask, misunderstood};
use super::owned;
use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::extract::At;

/// The state of a sandbox at a moment.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StateBody {
    /// When it was looked at.
    #[schema(format = DateTime)]
    captured_at: String,
    /// The sandbox.
    sandbox_id: String,
    /// The files of the workspace, by their paths in it.
    files: BTreeMap<String, FileBody>,
    /// The processes.
    processes: Vec<ProcessBody>,
    /// True when the list is incomplete.
    incomplete: bool,
}

/// A file.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileBody {
    /// Its size in bytes.
    size: u64,
    /// Its permissions.
    #[schema(example = "0644")]
    mode: String,
    /// `sha256:` and the digest of its content; empty when it could not be read.
    checksum: String,
}

/// A process.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProcessBody {
    /// Its number inside the sandbox.
    pid: u32,
    /// Its command line.
    command: String,
    /// Its status.
    #[schema(example = "sleeping")]
    status: String,
}

/// Changes of the workspace since the sandbox became ready.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DiffBody {
    /// The sandbox.
    sandbox_id: String,
    /// Added files.
    added: Vec<String>,
    /// Removed files.
    removed: Vec<String>,
    /// Modified files.
    modified: Vec<String>,
    /// True when the list is incomplete.
    incomplete: bool,
}

/// Look at the files and processes of a sandbox
#[utoipa::path(get, path = "/v1/sandboxes/{id}/state", tag = "sandboxes",
    params(("id" = String, Path, description = "The sandbox's id")),
    responses((status = 200, body = StateBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 408, body = ErrorBody),
        (status = 409, body = ErrorBody), (status = 502, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn state(
    State(app): State<App>,
    caller: Caller,
    At(id): At<String>,
) -> Result<Json<StateBody>, ApiError> {
    let sandbox = owned(&app, &caller, &id, false).await?;
    match ask(&app, &sandbox, Ask::State { sandbox: id.clone() }).await? {
        Reply::State(reply) => Ok(Json(shown(id, reply))),
        _ => Err(misunderstood()),
    }
}

/// Changes of the workspace since the sandbox became ready
#[utoipa::path(get, path = "/v1/sandboxes/{id}/diff", tag = "sandboxes",
    params(("id" = String, Path, description = "The sandbox's id")),
    responses((status = 200, body = DiffBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 408, body = ErrorBody),
        (status = 409, body = ErrorBody), (status = 502, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(crate) async fn diff(
    State(app): State<App>,
    caller: Caller,
    At(id): At<String>,
) -> Result<Json<DiffBody>, ApiError> {
    let sandbox = owned(&app, &caller, &id, false).await?;
    match ask(&app, &sandbox, Ask::Diff { sandbox: id.clone() }).await? {
        Reply::Diff(DiffReply { added, removed, modified, incomplete }) => {
            Ok(Json(DiffBody { sandbox_id: id, added, removed, modified, incomplete }))
        }
        _ => Err(misunderstood()),
    }
}

fn shown(sandbox_id: String, reply: StateReply) -> StateBody {
    let file =
        |file: scenario::interactive::FileState| FileBody { size: file.size, mode: file.mode, checksum: file.checksum };
    let process = |process: scenario::interactive::ProcessState| ProcessBody {
        pid: process.pid,
        command: process.command,
        status: process.status,
    };
    StateBody {
        captured_at: reply.captured_at.to_string(),
        sandbox_id,
        files: reply.files.into_iter().map(|(path, state)| (path, file(state))).collect(),
        processes: reply.processes.into_iter().map(process).collect(),
        incomplete: reply.incomplete,
    }
}
