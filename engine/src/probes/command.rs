//! Commands of checks.

use std::sync::atomic::Ordering;
use std::time::Duration;

use doorkeeper::protocol::{Exited, Failure, Spawn, Status, Stream};
use gateways::redact::Redactor;
use scenario::checks::Verify;
use scenario::evidence::{Answer, CommandAnswer, Exit, Limit};

use super::Prober;
use crate::backend::{End, PostMortem, Sandbox, WORKSPACE};
use crate::capture::{CHECK_BYTES, Capture};
use crate::door::{Command, CommandEvent, Door, DoorError};
use crate::environment::Environment;
use crate::error::EngineError;
use crate::users::User;

/// A command to run in a sandbox.
#[derive(Debug, Clone)]
pub(crate) struct Line<'a> {
    /// The program and its arguments.
    pub(crate) words: &'a [String],
    /// Working directory.
    pub(crate) directory: &'a str,
    /// Its environment.
    pub(crate) environment: &'a Environment,
    /// User who runs it.
    pub(crate) user: &'a User,
    /// Its standard input.
    pub(crate) stdin: &'a [u8],
}

impl Line<'_> {
    /// Returns the request to the doorkeeper.
    pub(crate) fn spawn(&self) -> Spawn {
        Spawn {
            arguments: self.words.iter().map(|word| word.clone().into_bytes()).collect(),
            environment: self
                .environment
                .iter()
                .map(|(name, value)| (name.clone().into_bytes(), value.clone().into_bytes()))
                .collect(),
            directory: self.directory.into(),
            uid: self.user.uid,
            gid: self.user.gid,
            groups: self.user.groups.clone(),
            stdin: self.stdin.to_vec(),
            ..Spawn::default()
        }
    }
}

/// The exit code that a shell has for a program that is not there, or cannot be run.
pub(crate) fn not_started(failure: &Failure) -> Exit {
    let missing = failure.errno == rustix::io::Errno::NOENT.raw_os_error();
    Exit::Code(if missing { 127 } else { 126 })
}

/// Returns the exit of a process, as evidence has it.
pub(crate) fn exit(exited: &Exited) -> Exit {
    match exited.status {
        Status::Code(code) => Exit::Code(code),
        Status::Signal(signal) => Exit::Signal(signal),
    }
}

/// Runs a command, and ends everything that it started: it must not be there when the next one looks.
pub(crate) async fn run(
    door: &Door,
    line: &Line<'_>,
    timeout: Duration,
    redactor: &Redactor,
) -> Result<CommandAnswer, DoorError> {
    let answer = run_on(door, line, timeout, redactor).await?;
    door.kill_all().await?;
    Ok(answer)
}

/// Runs a command to its end, or for as long as it may take.
pub(crate) async fn run_on(
    door: &Door,
    line: &Line<'_>,
    timeout: Duration,
    redactor: &Redactor,
) -> Result<CommandAnswer, DoorError> {
    let mut stdout = Capture::new(CHECK_BYTES, redactor);
    let mut stderr = Capture::new(CHECK_BYTES, redactor);
    let ended = match door.spawn(line.spawn()).await {
        Ok(mut command) => {
            let following = follow(&mut command, &mut stdout, &mut stderr);
            match tokio::time::timeout(timeout, following).await {
                Ok(ended) => Some(exit(&ended?)),
                Err(_) => None,
            }
        }
        Err(DoorError::Failed(failure)) => {
            stderr.take(failure.message.as_bytes());
            Some(not_started(&failure))
        }
        Err(error) => return Err(error),
    };
    let (stdout, stderr) = (stdout.finish().0, stderr.finish().0);
    Ok(CommandAnswer { exit: ended, stdout, stderr, image_changes: Vec::new() })
}

async fn follow(command: &mut Command, stdout: &mut Capture, stderr: &mut Capture) -> Result<Exited, DoorError> {
    loop {
        match command.next().await? {
            CommandEvent::Output(Stream::Out, bytes) => stdout.take(&bytes),
            CommandEvent::Output(Stream::Err, bytes) => stderr.take(&bytes),
            CommandEvent::Exited(exited) => return Ok(exited),
        }
    }
}

/// Removes a sandbox whose answer is known. What stays behind is removed with the sandbox that it was made for.
pub(super) async fn part_with(fresh: &dyn Sandbox) {
    if let Err(error) = fresh.destroy().await {
        tracing::warn!(sandbox = fresh.name(), %error, "the sandbox {} was not removed at once", fresh.name());
    }
}

impl Prober<'_> {
    /// Runs a check's command where it is to be run.
    pub(super) async fn command(
        &self,
        words: &[String],
        timeout: Duration,
        verify: &Verify,
    ) -> Result<Answer, EngineError> {
        let line = self.line(words, b"");
        match verify {
            Verify::Sandbox => self.in_sandbox(&line, timeout).await,
            Verify::Fresh(carried) => {
                let fresh = match self.fresh(carried).await? {
                    Ok(fresh) => fresh,
                    Err(answer) => return Ok(answer),
                };
                let answer = self.in_fresh(&*fresh, &line, timeout).await;
                part_with(&*fresh).await;
                answer
            }
        }
    }

    /// A command of a check: in the workspace, as the agent's user, with `setup.env`.
    pub(super) fn line<'a>(&'a self, words: &'a [String], stdin: &'a [u8]) -> Line<'a> {
        Line { words, directory: WORKSPACE, environment: &self.world.environment, user: &self.world.user, stdin }
    }

    /// Runs a line in the sandbox that the agent left.
    pub(super) async fn in_sandbox(&self, line: &Line<'_>, timeout: Duration) -> Result<Answer, EngineError> {
        let door = self.world.sandbox.door();
        self.databases.stir(self.world).await?;
        self.ran.store(true, Ordering::Relaxed);
        match run(door, line, timeout, &self.world.redactor).await {
            Ok(answer) => Ok(Answer::Command(CommandAnswer { image_changes: self.image_changes.to_vec(), ..answer })),
            Err(error) => Ok(self.blame(error).await),
        }
    }

    /// Runs a line in a new sandbox.
    pub(super) async fn in_fresh(
        &self,
        fresh: &dyn Sandbox,
        line: &Line<'_>,
        timeout: Duration,
    ) -> Result<Answer, EngineError> {
        match run(fresh.door(), line, timeout, &self.world.redactor).await {
            Ok(answer) => Ok(Answer::Command(answer)),
            Err(error) => Ok(blame_copy(fresh, &error).await),
        }
    }
}

/// Blames the agent for the failure of a new sandbox: it was made like others, and only the copy of the workspace, and
/// the files of it that the check ran, make a difference.
pub(super) async fn blame_copy(fresh: &dyn Sandbox, error: &DoorError) -> Answer {
    if !error.is_closed() {
        let reason = format!("the check could not be run in a new sandbox with a copy of the workspace: {error}");
        return Answer::Unavailable { reason, limit: None };
    }
    let PostMortem { end, description } = fresh.post_mortem().await;
    let reason = format!("the new sandbox ended while the check ran in it: {description}");
    Answer::Unavailable { reason, limit: (end == End::OutOfMemory).then_some(Limit::Memory) }
}
