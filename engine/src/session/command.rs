//! Commands in a sandbox that somebody works in.

use std::sync::Arc;
use std::time::Duration;

use doorkeeper::protocol::Stream;
use scenario::interactive::{CommandReply, MOST_COMMAND_BYTES, MOST_OUTPUT_BYTES, Refusal, RefusalKind, TIMED_OUT};
use tokio::time::Instant;

use super::{Live, Session, place};
use crate::backend::WORKSPACE;
use crate::capture::Capture;
use crate::door::{Command, CommandEvent, DoorError};
use crate::probes::{Line, exit, not_started};

/// Time limit of a command when nothing else is said.
const USUAL: Duration = Duration::from_secs(60);
/// Time limit for the end of a command that was killed.
const END: Duration = Duration::from_secs(5);
/// The signal that nothing can refuse.
const KILL: i32 = 9;

impl Session {
    /// Runs a line with `sh -c` in the workspace, as the agent's user and with the agent's environment.
    ///
    /// The command has a minute unless `timeout` says otherwise; then its process group is killed, and the reply has
    /// the output until then, [`TIMED_OUT`] as its exit code, and says so. Of long output both ends are kept. In the
    /// background, it is started and left alone: its output is dropped, its time is the sandbox's own, and the number
    /// of its process group is the reply's output.
    ///
    /// A command is followed to its end also when nobody waits for the reply any more.
    pub async fn command(
        &self,
        line: &str,
        timeout: Option<Duration>,
        background: bool,
    ) -> Result<CommandReply, Refusal> {
        if line.trim().is_empty() || line.contains('\0') {
            return Err(Refusal::new(RefusalKind::Invalid, "a command needs words, and has no zero bytes"));
        }
        if line.len() > MOST_COMMAND_BYTES {
            let message = format!("a command has at most {MOST_COMMAND_BYTES} bytes; write longer ones into a file");
            return Err(Refusal::new(RefusalKind::TooLarge, message));
        }
        let (live, line) = (Arc::clone(&self.live), line.to_owned());
        let following = tokio::spawn(async move { live.run(line, timeout.unwrap_or(USUAL), background).await });
        match following.await {
            Ok(reply) => reply,
            Err(error) => Err(Refusal::new(RefusalKind::Failed, error.to_string())),
        }
    }
}

impl Live {
    async fn run(&self, line: String, timeout: Duration, background: bool) -> Result<CommandReply, Refusal> {
        let _place = place(&self.commands, "commands")?;
        let started = Instant::now();
        let words = ["sh".to_owned(), "-c".to_owned(), line.clone()];
        let spawn = Line {
            words: &words,
            directory: WORKSPACE,
            environment: &self.environment,
            user: &self.world.user,
            stdin: b"",
        };
        let spawned = self.world.sandbox.door().spawn(spawn.spawn()).await;
        let mut reply = CommandReply { command: self.world.redactor.text(&line), ..CommandReply::default() };
        match spawned {
            Ok(command) if background => reply.stdout = format!("{}\n", command.pid()),
            Ok(mut command) => self.follow(&mut command, timeout, &mut reply).await.map_err(|e| self.refused(&e))?,
            Err(DoorError::Failed(failure)) => {
                reply.stderr = self.world.redactor.text(&failure.message);
                reply.exit_code = not_started(&failure).shell_code().into();
            }
            Err(error) => return Err(self.refused(&error)),
        }
        reply.duration_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(reply)
    }

    async fn follow(
        &self,
        command: &mut Command,
        timeout: Duration,
        reply: &mut CommandReply,
    ) -> Result<(), DoorError> {
        let most = MOST_OUTPUT_BYTES / 2;
        let redactor = &self.world.redactor;
        let (mut stdout, mut stderr) = (Capture::new(most, redactor), Capture::new(most, redactor));
        let ended = tokio::time::timeout(timeout, take(command, &mut stdout, &mut stderr)).await;
        reply.exit_code = match ended {
            Ok(exited) => exited?.into(),
            Err(_) => {
                reply.timed_out = true;
                command.signal(KILL).await?;
                // What it printed last is worth a moment.
                let _ = tokio::time::timeout(END, take(command, &mut stdout, &mut stderr)).await;
                TIMED_OUT
            }
        };
        let (stdout, stderr) = (stdout.finish().0, stderr.finish().0);
        reply.truncated = stdout.dropped_bytes + stderr.dropped_bytes > 0;
        (reply.stdout, reply.stderr) = (stdout.text(), stderr.text());
        Ok(())
    }
}

/// Takes what a command prints until it ends; its exit code, as a shell says it.
async fn take(command: &mut Command, stdout: &mut Capture, stderr: &mut Capture) -> Result<i32, DoorError> {
    loop {
        match command.next().await? {
            CommandEvent::Output(Stream::Out, bytes) => stdout.take(&bytes),
            CommandEvent::Output(Stream::Err, bytes) => stderr.take(&bytes),
            CommandEvent::Exited(exited) => return Ok(exit(&exited).shell_code()),
        }
    }
}
