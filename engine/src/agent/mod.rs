//! Runs the agent, and reports its end.

mod cheat;
mod http;
mod http_error;
mod invocations;
mod process;
mod reset;

use scenario::evidence::{AgentRecord, Fired, Leak, Limit};
use scenario::spec::sections::AgentKind;
use tokio::time::Instant;

use crate::attempt::Attempt;
use crate::backend::{Image, WORKSPACE};
use crate::environment::{self, Environment};
use crate::error::EngineError;
use crate::limits;
use crate::world::World;
pub(crate) use process::mourn;
use process::{Printed, Process, Watch};

use invocations::Invoking;
pub(crate) use invocations::TASK_COPY;

/// Number of bytes that a service may write over its image; its volumes are bounded by themselves.
const MOST_BY_SERVICE: u64 = 1024 * 1024 * 1024;

/// Result of the agent's work.
#[derive(Debug, Default)]
pub(crate) struct Acted {
    /// Its exit and its output.
    pub(crate) record: AgentRecord,
    /// Secrets that it printed.
    pub(crate) leaks: Vec<Leak>,
    /// The limits that ended it.
    pub(crate) limits: Vec<Fired>,
    /// Reasons to fail that are no limits.
    pub(crate) offences: Vec<String>,
    /// The doorkeeper is gone: nothing can be asked any more.
    pub(crate) lost: bool,
    /// Its record of each invocation, where its sandbox is reused.
    pub(crate) invocations: Vec<AgentRecord>,
    /// True when it answered the same differently in a sandbox that is reused.
    pub(crate) keeps_state: bool,
    /// Remarks for the reader.
    pub(crate) notes: Vec<String>,
}

/// Time limit of the agent, and the limit that fires then.
#[derive(Debug, Clone)]
struct Deadline {
    /// The moment.
    at: Instant,
    /// The limit that fires.
    fired: Fired,
}

impl Deadline {
    /// The earlier of `agent.timeout` and what is left of `resources.timeout`.
    fn of(attempt: &Attempt<'_>, overall: Instant) -> Self {
        let overall = Self::overall(attempt, overall);
        let own = attempt.spec.agent.as_ref().and_then(|agent| agent.common.timeout);
        let Some(own) = own.map(|timeout| timeout.get()) else { return overall };
        let detail = format!("the agent did not end within {}s", own.as_secs_f64());
        let own = Self { at: Instant::now() + own, fired: Fired { limit: Limit::AgentTimeout, detail } };
        if own.at <= overall.at { own } else { overall }
    }

    /// The end of `resources.timeout`.
    fn overall(attempt: &Attempt<'_>, at: Instant) -> Self {
        let whole = attempt.spec.resources.timeout.get();
        let detail = format!("preparing and acting took longer than {}s", whole.as_secs_f64());
        Self { at, fired: Fired { limit: Limit::Timeout, detail } }
    }
}

/// Runs the agent, until the end of `resources.timeout` at the latest.
pub(crate) async fn act(
    world: &World,
    attempt: &Attempt<'_>,
    image: &Image,
    overall: Instant,
) -> Result<Acted, EngineError> {
    let Some(agent) = attempt.agent() else {
        let what = "the spec has no `agent`, so there is nobody to run; add one, or use `--agent`".to_owned();
        return Err(EngineError::Unsupported { what });
    };
    let planned = attempt.scenario.invocations(attempt.spec);
    if !planned.is_empty() {
        return Invoking { world, attempt, agent: &agent, image, overall }.act(&planned).await;
    }
    let deadline = Deadline::of(attempt, overall);
    let watch = Watch { world, deadline: &deadline, output: attempt.spec.resources.output.get() };
    act_as(&watch, attempt, &agent, image).await
}

/// Runs an agent of this kind once.
async fn act_as(
    watch: &Watch<'_>,
    attempt: &Attempt<'_>,
    agent: &AgentKind,
    image: &Image,
) -> Result<Acted, EngineError> {
    let environment = environment::of_agent(attempt, &watch.world.environment);
    match agent {
        AgentKind::Noop(_) => Ok(Acted::default()),
        AgentKind::Http(http) => http::ask(watch, attempt, http, image, &environment).await,
        _ => {
            let mut acted = Acted::default();
            let mut printed = Printed::new(&watch.world.redactor);
            for process in processes(watch.world, attempt, agent, image, &environment)? {
                watch.run(&process, &mut printed, &mut acted).await?;
                if acted.lost || !acted.limits.is_empty() {
                    break;
                }
            }
            printed.finish(&mut acted);
            cheat::send_requests(watch, attempt, &mut acted).await?;
            Ok(acted)
        }
    }
}

/// The processes that the agent is, one after the other.
fn processes(
    world: &World,
    attempt: &Attempt<'_>,
    agent: &AgentKind,
    image: &Image,
    environment: &Environment,
) -> Result<Vec<Process>, EngineError> {
    use scenario::spec::sections::Stdin;
    let values = attempt.agents_values();
    let stdin = |stdin: Stdin| if stdin == Stdin::Prompt { values.prompt().into_bytes() } else { Vec::new() };
    let process = |words: Vec<String>, directory: String, stdin: Vec<u8>| Process {
        words,
        directory,
        environment: environment.clone(),
        stdin,
    };
    match agent {
        AgentKind::Cli(cli) => {
            Ok(vec![process(cli.command.render(&values), cli.workdir.render(&values), stdin(cli.stdin))])
        }
        AgentKind::Image(own) => {
            let command = own.command.as_ref().map(|command| command.render(&values));
            let words = image_words(image, command)?;
            Ok(vec![process(words, image.directory.clone(), stdin(own.stdin))])
        }
        AgentKind::Oracle(_) => {
            let lines = match cheat::program(attempt)? {
                Some(cheat) => cheat.lines,
                None => {
                    let solution = attempt.spec.task.solution.iter().flat_map(|lines| &lines.0);
                    solution.map(|line| line.render(&values)).collect()
                }
            };
            let words = |line: String| vec!["sh".to_owned(), "-c".to_owned(), line];
            Ok(lines.into_iter().map(|line| process(words(line), WORKSPACE.to_owned(), Vec::new())).collect())
        }
        AgentKind::Snapshot(_) => {
            let uploaded = world.agent.iter().map(|agent| agent.words.clone());
            Ok(uploaded.map(|words| process(words, WORKSPACE.to_owned(), stdin(Stdin::Prompt))).collect())
        }
        AgentKind::Noop(_) | AgentKind::Http(_) | AgentKind::Paragon(_) => Ok(Vec::new()),
    }
}

/// Returns the command line that an image runs.
fn image_words(image: &Image, command: Option<Vec<String>>) -> Result<Vec<String>, EngineError> {
    let command = command.unwrap_or_else(|| image.command.clone());
    let words: Vec<_> = image.entrypoint.iter().cloned().chain(command).collect();
    if words.is_empty() {
        let what = format!(
            "the image `{}` has neither an entrypoint nor a command; give `agent.command`",
            image.record.reference
        );
        return Err(EngineError::Unsupported { what });
    }
    Ok(words)
}

/// The limits that the kernel kept, and whether the disk was full, once the agent has ended.
pub(crate) async fn kernel_limits(world: &World) -> Result<Vec<Fired>, EngineError> {
    let door = world.sandbox.door();
    let operation = "look at the limits of the sandbox";
    let counters = limits::Counters::read(door).await.map_err(EngineError::door(operation))?;
    let mut fired = world.before.counters.fired(counters, &world.limits);
    fired.extend(limits::disk(door, &world.limits).await.map_err(EngineError::door(operation))?);
    fired.extend(written_over_image(world).await?);
    if fired.is_empty() && lacked_memory_outside(world, counters).await {
        return Err(EngineError::NoMemoryOutside);
    }
    Ok(fired)
}

/// Returns true if the kernel killed processes of the sandbox or of its services because there was no memory outside of
/// them: others used it up, and no agent that is below its own limit is to blame.
async fn lacked_memory_outside(world: &World, counters: limits::Counters) -> bool {
    if world.before.counters.lacked_memory_outside(counters) {
        return true;
    }
    for service in world.services.values() {
        if service.running.lacked_memory_outside().await {
            return true;
        }
    }
    false
}

/// Returns the firing of the disk limit, if the agent wrote more over the image than the disk may hold. Where only the
/// slow way tells, the room that is left decides whether it is worth it.
pub(crate) async fn written_over_image(world: &World) -> Result<Option<Fired>, EngineError> {
    let before = world.before.written_over_image.unwrap_or(0);
    let fired = |written: u64| limits::written_over_image(written.saturating_sub(before), &world.limits);
    if let Some(fired) = written_over_services(world).await {
        return Ok(Some(fired));
    }
    if let Some(written) = world.sandbox.written_over_image(false).await? {
        return Ok(fired(written));
    }
    let room = world.sandbox.door().space("/").await.map_err(EngineError::door("look at the image's disk"))?.free;
    if world.before.image_room.saturating_sub(room) <= world.limits.disk {
        return Ok(None);
    }
    Ok(world.sandbox.written_over_image(true).await?.and_then(fired))
}

/// Returns the firing of the disk limit, if a service was made to write too much over its image: a database can be told
/// to write files.
async fn written_over_services(world: &World) -> Option<Fired> {
    for (name, service) in &world.services {
        let written = service.running.written_over_image().await.unwrap_or(0);
        if written > MOST_BY_SERVICE {
            let detail =
                format!("the service `{name}` wrote more than {} over its image", limits::size(MOST_BY_SERVICE));
            return Some(Fired { limit: Limit::Disk, detail });
        }
    }
    None
}
