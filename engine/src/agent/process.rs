//! The agent as a process in the sandbox.

use std::time::Duration;

use doorkeeper::protocol::{Exited, Stream};
use gateways::redact::Redactor;
use scenario::evidence::{Fired, Leak, Limit};
use tokio::time::Instant;

use super::{Acted, Deadline};
use crate::backend;
use crate::capture::{AGENT_BYTES, Capture};
use crate::door::{Command, CommandEvent, DoorError};
use crate::environment::Environment;
use crate::error::EngineError;
use crate::limits;
use crate::probes::{Line, exit, not_started};
use crate::world::World;

/// Interval of looks at the number of bytes written over the image.
const LOOK: Duration = Duration::from_millis(500);

/// A process to run as the agent.
#[derive(Debug, Clone)]
pub(super) struct Process {
    pub(super) words: Vec<String>,
    pub(super) directory: String,
    pub(super) environment: Environment,
    pub(super) stdin: Vec<u8>,
}

/// Watches the agent while it acts.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    pub(super) world: &'a World,
    pub(super) deadline: &'a Deadline,
    /// Number of bytes that it may print.
    pub(super) output: u64,
}

/// Output of the agent's processes, one after the other.
#[derive(Debug)]
pub(super) struct Printed {
    stdout: Capture,
    stderr: Capture,
}

impl Printed {
    /// Makes captures without output.
    pub(super) fn new(redactor: &Redactor) -> Self {
        Self { stdout: Capture::new(AGENT_BYTES, redactor), stderr: Capture::new(AGENT_BYTES, redactor) }
    }

    /// Adds what was printed to what the agent did.
    pub(super) fn finish(self, acted: &mut Acted) {
        let (stdout, out) = self.stdout.finish();
        let (stderr, err) = self.stderr.finish();
        (acted.record.stdout, acted.record.stderr) = (stdout, stderr);
        acted.leaks.extend(leaks(out, "stdout").chain(leaks(err, "stderr")));
    }
}

/// Reason why a process is not watched any longer.
enum End {
    Exited(Exited),
    Limit(Fired),
    Lost(DoorError),
}

impl Watch<'_> {
    /// Runs a process to its end, or to the end that a limit sets it.
    pub(super) async fn run(
        &self,
        process: &Process,
        printed: &mut Printed,
        acted: &mut Acted,
    ) -> Result<(), EngineError> {
        let started = Instant::now();
        let line = Line {
            words: &process.words,
            directory: &process.directory,
            environment: &process.environment,
            user: &self.world.user,
            stdin: &process.stdin,
        };
        match self.world.sandbox.door().spawn(line.spawn()).await {
            Ok(mut command) => match self.follow(&mut command, printed).await? {
                End::Exited(exited) => acted.record.exit = Some(exit(&exited)),
                End::Limit(fired) => {
                    acted.record.exit = None;
                    acted.limits.push(fired);
                }
                End::Lost(error) => mourn(self.world, acted, error).await?,
            },
            Err(DoorError::Failed(failure)) => {
                printed.stderr.take(failure.message.as_bytes());
                acted.record.exit = Some(not_started(&failure));
            }
            // The agent was not there yet.
            Err(error) => return Err(EngineError::door("start the agent")(error)),
        }
        self.world.commands.note(&process.words, acted.record.exit, &self.world.redactor);
        acted.record.wall_ms += u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(())
    }

    /// The limit of what may be printed, when this is more.
    pub(super) fn printed_too_much(&self, bytes: u64) -> Option<Fired> {
        let detail = format!("more than {} printed", limits::size(self.output));
        (bytes > self.output).then_some(Fired { limit: Limit::Output, detail })
    }

    /// Returns once more was written over the image than the disk may hold.
    async fn written_over_image(&self) -> Fired {
        loop {
            tokio::time::sleep(LOOK).await;
            if let Ok(Some(fired)) = super::written_over_image(self.world).await {
                return fired;
            }
        }
    }

    async fn follow(&self, command: &mut Command, printed: &mut Printed) -> Result<End, EngineError> {
        let written = self.written_over_image();
        let used_up = self.world.gateways.limit_fired();
        tokio::pin!(written, used_up);
        loop {
            let event = tokio::select! {
                event = command.next() => event,
                () = tokio::time::sleep_until(self.deadline.at) => return Ok(End::Limit(self.deadline.fired.clone())),
                fired = &mut written => return Ok(End::Limit(fired)),
                fired = &mut used_up => return Ok(End::Limit(fired)),
            };
            match event {
                Ok(CommandEvent::Output(Stream::Out, bytes)) => printed.stdout.take(&bytes),
                Ok(CommandEvent::Output(Stream::Err, bytes)) => printed.stderr.take(&bytes),
                Ok(CommandEvent::Exited(exited)) => return Ok(End::Exited(exited)),
                Err(error @ DoorError::Closed { .. }) => return Ok(End::Lost(error)),
                Err(error) => return Err(EngineError::door("follow the agent")(error)),
            }
            if let Some(fired) = self.printed_too_much(printed.stdout.printed() + printed.stderr.printed()) {
                return Ok(End::Limit(fired));
            }
        }
    }
}

/// The sandbox ended while the agent acted: the agent is to blame, by a limit where one is known. That its container was
/// removed, or is still running, is nothing that an agent can do.
pub(crate) async fn mourn(world: &World, acted: &mut Acted, error: DoorError) -> Result<(), EngineError> {
    let post_mortem = world.sandbox.post_mortem().await;
    match post_mortem.end {
        backend::End::OutOfMemory => acted.limits.push(limits::out_of_memory(&world.limits)),
        backend::End::Ended => {
            acted.offences.push(format!("the sandbox ended while the agent acted: {}", post_mortem.description));
        }
        backend::End::Running if error.is_silence() => {
            acted.offences.push(format!("the sandbox did not answer after the agent had acted: {error}"));
        }
        backend::End::Running | backend::End::Unknown => {
            let operation = format!("follow the agent ({})", post_mortem.description);
            return Err(EngineError::Door { operation, cause: error });
        }
    }
    acted.lost = true;
    Ok(())
}

pub(super) fn leaks(found: Vec<(String, u64)>, place: &'static str) -> impl Iterator<Item = Leak> {
    found.into_iter().map(move |(secret, count)| Leak { secret, place: place.to_owned(), count })
}
