//! Runs a command in a sandbox.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use scenario::interactive::{Ask, CommandReply, MOST_COMMAND_BYTES, Reply};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::asking::{ask, misunderstood};
use super::owned;
use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, ErrorBody};
use crate::extract::{At, JsonBody};
use crate::fields::Length;

/// Timeout of a command in the foreground: less than clients wait, which is 30 s.
const LONGEST: Duration = Duration::from_secs(25);

/// A command.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CommandRequest {
    /// A line for `sh -c`, run in the workspace as the agent's user.
    #[schema(example = "ls -l")]
    command: String,
    /// The timeout: `"10s"`, or a number of seconds. At most 25 seconds, also when more is given.
    #[serde(default)]
    timeout: Option<Length>,
    /// True to return as soon as it was started; it then goes on as long as the sandbox lives.
    #[serde(default)]
    background: Option<bool>,
}

/// The result of a command.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CommandBody {
    /// The line.
    command: String,
    /// Its standard output. For a command in the background: its process id.
    stdout: String,
    /// Its standard error.
    stderr: String,
    /// Its exit code as a shell reports it; 124 after a timeout.
    exit_code: i64,
    /// The duration.
    duration_ms: u64,
    /// True when the output is truncated.
    truncated: bool,
    /// True after a timeout.
    timed_out: bool,
}

/// Run a command in a sandbox
///
/// Clients wait 30 seconds for an answer, so a command is ended after 25 (`timed_out`, exit code 124), or earlier when
/// `timeout` says so. What takes longer is started with `background: true`, and looked at later.
#[utoipa::path(post, path = "/v1/sandboxes/{id}/commands", tag = "sandboxes", request_body = CommandRequest,
    params(("id" = String, Path, description = "The sandbox's id")),
    responses((status = 200, body = CommandBody), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody),
        (status = 403, body = ErrorBody), (status = 404, body = ErrorBody), (status = 408, body = ErrorBody),
        (status = 409, body = ErrorBody), (status = 413, body = ErrorBody), (status = 502, body = ErrorBody),
        (status = 503, body = ErrorBody)))]
pub(crate) async fn run(
    State(app): State<App>,
    caller: Caller,
    At(id): At<String>,
    JsonBody(request): JsonBody<CommandRequest>,
) -> Result<Json<CommandBody>, ApiError> {
    let sandbox = owned(&app, &caller, &id, true).await?;
    let command = request.command;
    if command.trim().is_empty() || command.contains('\0') {
        return Err(ApiError::invalid("`command` must have words, and no NUL"));
    }
    if command.len() > MOST_COMMAND_BYTES {
        return Err(ApiError::too_large(format!("`command` has more than {MOST_COMMAND_BYTES} bytes")));
    }
    let background = request.background.unwrap_or_default();
    let timeout = request.timeout.map(|timeout| timeout.read("timeout")).transpose()?.unwrap_or(LONGEST).min(LONGEST);
    if timeout.is_zero() {
        return Err(ApiError::invalid("`timeout` must be more than nothing"));
    }
    let timeout_ms = (!background).then(|| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX).max(1));
    match ask(&app, &sandbox, Ask::Command { sandbox: id, command, timeout_ms, background }).await? {
        Reply::Command(reply) => Ok(Json(shown(reply))),
        _ => Err(misunderstood()),
    }
}

fn shown(reply: CommandReply) -> CommandBody {
    let CommandReply { command, stdout, stderr, exit_code, duration_ms, truncated, timed_out } = reply;
    CommandBody { command, stdout, stderr, exit_code, duration_ms, truncated, timed_out }
}
