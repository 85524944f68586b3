//! Makes the agent forget what it did.

use std::time::Duration;

use scenario::evidence::Exit;
use scenario::spec::sections::{AgentKind, Reset, ResetBy};
use scenario::spec::types::Command;

use super::http;
use super::http_error::HttpError;
use crate::attempt::Attempt;
use crate::backend::WORKSPACE;
use crate::door::DoorError;
use crate::environment;
use crate::error::EngineError;
use crate::probes::{self, Line};
use crate::world::World;

/// The time limit of a reset over HTTP.
const HTTP_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit of a reset command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
/// The number of characters shown of a failed command's output.
const SHOWN: usize = 300;

/// A reset that failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ResetError {
    /// The agent is not where the spec says, or the command could not be run.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The sandbox does not answer.
    #[error(transparent)]
    Door(#[from] DoorError),
    /// The agent did not take the request.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The command failed.
    #[error("{exit}: {said}")]
    Command {
        /// The way in which it ended.
        exit: Exit,
        /// The end of what it printed as errors.
        said: String,
    },
    /// The reset took too long.
    #[error("it took longer than {}s", .0.as_secs())]
    TooSlow(Duration),
}

/// Resets the agent, where the spec says how.
pub(super) async fn run(world: &World, attempt: &Attempt<'_>) -> Result<(), ResetError> {
    let Some(agent) = &attempt.spec.agent else { return Ok(()) };
    // An agent override has no server.
    let is_own = attempt.agent.is_none();
    match (&agent.common.reset, &agent.kind) {
        (Some(Reset::Path(path)), AgentKind::Http(asked)) if is_own => {
            let target = http::target(world, attempt, asked)?;
            within(http::post(&target, &path.render(&attempt.agents_values()))).await
        }
        (Some(Reset::By(ResetBy { http: Some(url), .. })), _) if is_own => {
            let url = url.render(&attempt.agents_values());
            let target = http::target_of(world, attempt, &url)?;
            within(http::post(&target, &target.path)).await
        }
        (Some(Reset::By(ResetBy { command: Some(command), .. })), _) => run_command(world, attempt, command).await,
        _ => Ok(()),
    }
}

async fn within(asking: impl Future<Output = Result<(), HttpError>>) -> Result<(), ResetError> {
    let asked = tokio::time::timeout(HTTP_TIMEOUT, asking).await;
    Ok(asked.map_err(|_| ResetError::TooSlow(HTTP_TIMEOUT))??)
}

async fn run_command(world: &World, attempt: &Attempt<'_>, command: &Command) -> Result<(), ResetError> {
    let words = command.render(&attempt.agents_values());
    let environment = environment::of_agent(attempt, &world.environment);
    let line = Line { words: &words, directory: WORKSPACE, environment: &environment, user: &world.user, stdin: b"" };
    let answer = probes::run_on(world.sandbox.door(), &line, COMMAND_TIMEOUT, &world.redactor).await?;
    match answer.exit {
        Some(Exit::Code(0)) => Ok(()),
        Some(exit) => Err(ResetError::Command { exit, said: answer.stderr.last(SHOWN) }),
        None => Err(ResetError::TooSlow(COMMAND_TIMEOUT)),
    }
}
