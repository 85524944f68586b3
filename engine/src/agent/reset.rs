//! Has the agent forget what it did.

use std::time::Duration;

use scenario::evidence::Exit;
use scenario::spec::sections::{AgentKind, Reset, ResetBy};
use scenario::spec::types::Command;

use super::http;
use crate::attempt::Attempt;
use crate::backend::WORKSPACE;
use crate::environment;
use crate::probes::{self, Line};
use crate::world::World;

/// The time limit of a reset over HTTP.
const HTTP_TIMEOUT: Duration = Duration::from_secs(5);
/// The time limit of a reset command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
/// The number of characters shown of a failed command's output.
const SHOWN: usize = 300;

/// Resets the agent, where the spec says how; otherwise why that failed.
pub(super) async fn run(world: &World, attempt: &Attempt<'_>) -> Result<(), String> {
    let Some(agent) = &attempt.spec.agent else { return Ok(()) };
    // An agent override has no server.
    let is_own = attempt.agent.is_none();
    match (&agent.common.reset, &agent.kind) {
        (Some(Reset::Path(path)), AgentKind::Http(asked)) if is_own => {
            let target = http::target(world, attempt, asked).map_err(|error| error.to_string())?;
            within(http::post(&target, &path.render(&attempt.agents_values()))).await
        }
        (Some(Reset::By(ResetBy { http: Some(url), .. })), _) if is_own => {
            let url = url.render(&attempt.agents_values());
            let target = http::target_of(world, attempt, &url).map_err(|error| error.to_string())?;
            within(http::post(&target, &target.path)).await
        }
        (Some(Reset::By(ResetBy { command: Some(command), .. })), _) => run_command(world, attempt, command).await,
        _ => Ok(()),
    }
}

async fn within(asking: impl Future<Output = Result<(), String>>) -> Result<(), String> {
    let asked = tokio::time::timeout(HTTP_TIMEOUT, asking).await;
    asked.unwrap_or_else(|_| Err(format!("it took longer than {}s", HTTP_TIMEOUT.as_secs())))
}

async fn run_command(world: &World, attempt: &Attempt<'_>, command: &Command) -> Result<(), String> {
    let words = command.render(&attempt.agents_values());
    let environment = environment::of_agent(attempt, &world.environment);
    let line = Line { words: &words, directory: WORKSPACE, environment: &environment, user: &world.user, stdin: b"" };
    let ran = probes::run_on(world.sandbox.door(), &line, COMMAND_TIMEOUT, &world.redactor).await;
    let answer = ran.map_err(|error| error.to_string())?;
    match answer.exit {
        Some(Exit::Code(0)) => Ok(()),
        Some(exit) => Err(format!("{exit}: {}", answer.stderr.last(SHOWN))),
        None => Err(format!("it took longer than {}s", COMMAND_TIMEOUT.as_secs())),
    }
}
