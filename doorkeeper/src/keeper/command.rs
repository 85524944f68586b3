//! A running command, its output, and its exit.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use doorkeeper::protocol::{CHUNK, Event, Exited, Failure, Spawn, Status, Stream, WINDOW, WindowSize};
use rustix::event::PollFlags;
use rustix::io::{Errno, ioctl_fionread, retry_on_intr};

use super::clock::now;
use super::identity::Identity;
use super::input::{self, Input};
use super::outbox::Outbox;
use super::spawn::{self, Child, Origin, Streams};
use super::terminal;
use crate::sys::{self, Ended};

/// The most that is still sent of a stream after its command ended.
const AFTERWARDS: u64 = 1024 * 1024;
/// Time limit for reading a terminal after its command ended, when processes that it left behind still hold the
/// terminal.
const DRAINING: Duration = Duration::from_millis(500);

/// A part of a command that is polled.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    /// Its report of a failure before exec.
    Report,
    /// Its standard input.
    Stdin,
    /// Its output.
    Output(Stream),
}

/// A command.
pub(crate) struct Command {
    /// The number that the worker gave it.
    id: u32,
    /// The process.
    pub(crate) pid: i32,
    /// When it was started.
    started: Instant,
    /// Names of the command for messages about failures.
    origin: Origin,
    /// Pipe on which the child reports a failure; `None` when it became the program.
    report: Option<OwnedFd>,
    /// Standard input, while it is open.
    stdin: Option<Input>,
    /// The terminal that all of its streams are, if it has one.
    terminal: Option<OwnedFd>,
    /// Standard output.
    out: Output,
    /// Standard error.
    err: Output,
    /// Exit of the process; `None` while it runs.
    exited: Option<Exited>,
    /// True when the worker wants nothing more of its output.
    cancelled: bool,
}

impl Command {
    /// Starts a command.
    pub(crate) fn start(id: u32, spawn: Spawn, identity: &Identity) -> Result<Self, Failure> {
        let Child { pid, report, streams } = spawn::start(&spawn, identity)?;
        let Spawn { mut arguments, directory, uid, gid, stdin: input, more_input, .. } = spawn;
        let (stdin, out, err, terminal) = match streams {
            Streams::Pipes { stdin, stdout, stderr } => (Some(stdin), Output::new(stdout), Output::new(stderr), None),
            Streams::Terminal(terminal) => {
                // When there are too many descriptors for a copy, nothing can be typed or resized.
                let [typed, sized] = [terminal.try_clone().ok(), terminal.try_clone().ok()];
                (typed, Output::of_terminal(terminal), Output::none(), sized)
            }
        };
        Ok(Self {
            id,
            pid,
            started: now(),
            origin: Origin { program: arguments.swap_remove(0), directory, owner: (uid, gid) },
            report: Some(report),
            stdin: stdin.and_then(|stdin| Input::new(stdin, input, more_input)),
            terminal,
            out,
            err,
            exited: None,
            cancelled: false,
        })
    }

    /// Returns the descriptors to poll, with the events to wait for.
    pub(crate) fn interests(&self, may_send: bool) -> impl Iterator<Item = (Part, BorrowedFd<'_>, PollFlags)> {
        let report = self.report.as_ref().map(|pipe| (Part::Report, pipe.as_fd(), PollFlags::IN));
        let stdin = self.stdin.as_ref().and_then(Input::interest);
        let stdin = stdin.map(|descriptor| (Part::Stdin, descriptor, PollFlags::OUT));
        // What it prints comes after the word that it started.
        let may_read = self.report.is_none() && (may_send || self.cancelled);
        let outputs =
            [(Stream::Out, &self.out), (Stream::Err, &self.err)].into_iter().filter_map(move |(stream, output)| {
                let pipe = output.pipe.as_ref().filter(|_| may_read && output.wanted(self.cancelled) > 0)?;
                Some((Part::Output(stream), pipe.as_fd(), PollFlags::IN))
            });
        report.into_iter().chain(stdin).chain(outputs)
    }

    /// Handles a part that is ready. Returns true if the command could not be started and is to be forgotten.
    pub(crate) fn proceed(&mut self, part: Part, outbox: &mut Outbox) -> bool {
        match part {
            Part::Report => return self.hear(outbox),
            Part::Stdin => self.feed(outbox),
            Part::Output(stream) => {
                let (id, cancelled) = (self.id, self.cancelled);
                self.output(stream).pump(id, stream, cancelled, outbox);
            }
        }
        false
    }

    /// Returns one of the two streams.
    fn output(&mut self, stream: Stream) -> &mut Output {
        match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        }
    }

    /// Reads the child's report, and tells the worker if the command started. Returns true if it could not be started.
    fn hear(&mut self, outbox: &mut Outbox) -> bool {
        let Some(report) = &self.report else { return false };
        let Some(result) = spawn::read_report(report, &self.origin) else { return false };
        self.report = None;
        let failed = result.is_err();
        outbox.push(match result {
            Ok(()) => Event::Started { id: self.id, pid: self.pid.unsigned_abs() },
            Err(failure) => Event::Failed { id: self.id, failure },
        });
        failed
    }

    /// Writes as much to standard input as the pipe takes now.
    fn feed(&mut self, outbox: &mut Outbox) {
        if self.stdin.as_mut().is_some_and(|input| !input.feed(outbox)) {
            self.stdin = None;
        }
    }

    /// Writes bytes to its standard input; no bytes mean the end.
    pub(crate) fn add_input(&mut self, request: u32, bytes: Vec<u8>, outbox: &mut Outbox) -> Result<(), Failure> {
        self.stdin.as_mut().ok_or_else(input::closed)?.add(request, bytes)?;
        self.feed(outbox);
        Ok(())
    }

    /// Changes the size of its terminal.
    pub(crate) fn resize(&self, size: WindowSize) -> Result<(), Errno> {
        terminal::resize(self.terminal.as_ref().ok_or(Errno::NOTTY)?, size)
    }

    /// Allows more bytes of a stream.
    pub(crate) fn credit(&mut self, stream: Stream, bytes: u32) {
        let output = self.output(stream);
        output.credit = output.credit.saturating_add(u64::from(bytes));
    }

    /// Drops its output from now on.
    pub(crate) fn cancel(&mut self) {
        self.cancelled = true;
    }

    /// Sends a signal to its process group, or to itself while it has none of its own yet.
    pub(crate) fn signal(&self, signal: i32) -> Result<(), Errno> {
        match sys::kill(-self.pid, signal) {
            Err(Errno::SRCH) if self.exited.is_none() => sys::kill(self.pid, signal),
            result => result,
        }
    }

    /// Remembers how it ended. What is in its pipes now is still sent.
    pub(crate) fn ended(&mut self, ended: &Ended) {
        let status = if libc::WIFSIGNALED(ended.status) {
            Status::Signal(libc::WTERMSIG(ended.status))
        } else {
            Status::Code(libc::WEXITSTATUS(ended.status))
        };
        self.exited = Some(Exited {
            status,
            wall_us: u64::try_from(now().duration_since(self.started).as_micros()).unwrap_or(u64::MAX),
            user_us: ended.user_us,
            system_us: ended.system_us,
            max_rss_kib: ended.max_rss_kib,
        });
        self.terminal = None;
        self.out.end();
        self.err.end();
    }

    /// Returns true if it ended, and its terminal may have something to show yet.
    pub(crate) fn is_draining(&self) -> bool {
        self.exited.is_some() && self.out.is_draining()
    }

    /// Returns true if its process still exists.
    pub(crate) fn is_running(&self) -> bool {
        self.exited.is_none()
    }

    /// Reports its exit, once all of its output was sent. Returns true if the command is to be forgotten.
    pub(crate) fn finish(&mut self, outbox: &mut Outbox) -> bool {
        let Some(exited) = self.exited else { return false };
        if let Some(mut input) = self.stdin.take() {
            input.refuse(outbox);
        }
        if self.hear(outbox) {
            return true;
        }
        self.out.end_draining();
        let printed = self.out.pipe.is_none() && self.err.pipe.is_none();
        let finished = self.report.is_none() && (printed || self.cancelled);
        if finished {
            outbox.push(Event::Exited { id: self.id, exited });
        }
        finished
    }
}

/// An output stream of a command.
struct Output {
    /// The pipe; `None` when it ended.
    pipe: Option<OwnedFd>,
    /// Number of bytes that the worker allows.
    credit: u64,
    /// Number of bytes that are still to be sent once the command ended.
    left: Option<u64>,
    /// The source of the output, which decides when everything was read once the command ended.
    kind: OutputKind,
}

/// The source that a command's output is read from.
enum OutputKind {
    /// A pipe, of which the kernel says how much is in it.
    Pipe,
    /// A terminal, of which it does not. The kernel ends it with the command, unless the command gave it up before; then it
    /// is read until this time.
    Terminal(Option<Instant>),
}

impl Output {
    /// A stream of which nothing was read.
    fn new(pipe: OwnedFd) -> Self {
        Self { pipe: Some(pipe), credit: u64::from(WINDOW), left: None, kind: OutputKind::Pipe }
    }

    /// Reads the output of a terminal.
    fn of_terminal(terminal: OwnedFd) -> Self {
        Self { kind: OutputKind::Terminal(None), ..Self::new(terminal) }
    }

    /// A stream that ended before it began.
    fn none() -> Self {
        Self { pipe: None, credit: 0, left: Some(0), kind: OutputKind::Pipe }
    }

    /// Returns true if more output may come although the command ended.
    fn is_draining(&self) -> bool {
        matches!(self.kind, OutputKind::Terminal(Some(_))) && self.pipe.is_some()
    }

    /// Closes a terminal that was read for long enough.
    fn end_draining(&mut self) {
        if matches!(self.kind, OutputKind::Terminal(Some(until)) if now() >= until && self.credit > 0) {
            self.pipe = None;
        }
    }

    /// Returns the number of bytes that may be read now.
    fn wanted(&self, cancelled: bool) -> usize {
        let allowed = if cancelled { u64::MAX } else { self.credit };
        let most = allowed.min(self.left.unwrap_or(u64::MAX));
        usize::try_from(most).unwrap_or(CHUNK).min(CHUNK)
    }

    /// Reads a piece and sends it, or drops it.
    fn pump(&mut self, id: u32, stream: Stream, cancelled: bool, outbox: &mut Outbox) {
        let wanted = self.wanted(cancelled);
        let Some(pipe) = self.pipe.as_ref().filter(|_| wanted > 0) else { return };
        let mut bytes = vec![0; wanted];
        match retry_on_intr(|| rustix::io::read(pipe, &mut bytes)) {
            Ok(0) => self.pipe = None,
            Ok(read) => {
                bytes.truncate(read);
                self.spend(read as u64);
                if !cancelled {
                    outbox.push(Event::Data { id, stream, bytes });
                }
            }
            Err(Errno::AGAIN) if self.left.is_none() || self.is_draining() => {}
            // Somebody else took what was in the pipe.
            Err(_) => self.pipe = None,
        }
    }

    /// Counts bytes that were read.
    fn spend(&mut self, read: u64) {
        self.credit = self.credit.saturating_sub(read);
        self.left = self.left.map(|left| left.saturating_sub(read));
        self.close_when_empty();
    }

    /// Handles the end of the command: only bytes that are in the pipe now are still sent, so that a process which the
    /// command left behind cannot hold the end back.
    fn end(&mut self) {
        if let OutputKind::Terminal(until) = &mut self.kind {
            *until = Some(now() + DRAINING);
            self.left = Some(AFTERWARDS);
            return;
        }
        let there = self.pipe.as_ref().and_then(|pipe| ioctl_fionread(pipe).ok());
        self.left = Some(there.unwrap_or(0).min(AFTERWARDS));
        self.close_when_empty();
    }

    /// Closes the pipe when nothing is left to be sent.
    fn close_when_empty(&mut self) {
        if self.left == Some(0) {
            self.pipe = None;
        }
    }
}
