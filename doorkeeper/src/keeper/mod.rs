//! The doorkeeper at work: one thread that waits for the worker, for commands and for their ends, and does what is due.

mod clock;
mod command;
mod door;
mod failure;
mod files;
mod filling;
mod identity;
mod input;
mod network;
mod outbox;
mod requests;
mod space;
mod spawn;
mod start;
mod stay;
mod sweep;
mod terminal;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use doorkeeper::protocol::{CHUNK, Decoder, Message, Used};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};

use self::command::{Command, Part};
use self::door::Door;
use self::files::{Progress, Task};
use self::filling::Filling;
use self::identity::Identity;
use self::outbox::Outbox;
use self::space::SpaceWatch;
pub(crate) use self::start::Ending;
use self::start::{Arguments, Start};
use self::sweep::{Sweep, kill_others};
use crate::sys;

/// Interval at which a sweep looks again for processes that are left.
const SWEEP_PERIOD: Duration = Duration::from_millis(5);
/// Number of ended processes that are reaped in a row. An agent can end processes as fast as we can reap them.
const REAPED_AT_ONCE: usize = 1024;
/// Number of rounds of killing the last processes before the doorkeeper itself ends, 5 ms apart.
const LAST_ROUNDS: usize = 400;

/// Serves the worker's requests until the worker asks it to end (`Ok`) or something else ends it.
pub(crate) fn keep(arguments: impl Iterator<Item = OsString>) -> Result<(), Ending> {
    let arguments = Arguments::read(arguments)?;
    let start = start::start(&arguments)?;
    let mut keeper = Keeper::new(start, &arguments);
    let ending = keeper.run();
    keeper.end_everybody();
    ending
}

/// A source that became ready.
enum Ready {
    /// The connection to the worker.
    Worker,
    /// A signal arrived.
    Signal,
    /// A part of a command.
    Command(u32, Part),
}

/// Continuation of the loop after a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The loop continues.
    GoOn,
    /// The worker asked to stay without it.
    Stay,
    /// The worker asked to end.
    Stop,
}

/// The doorkeeper.
struct Keeper {
    /// User, group and capabilities of the doorkeeper.
    identity: Identity,
    /// Descriptor that becomes readable when a signal arrived.
    signals: OwnedFd,
    /// The connection to the worker.
    stream: UnixStream,
    /// The place where a visitor listens, once it stays without the worker.
    door: Door,
    /// Decodes messages from the worker.
    decoder: Decoder,
    /// Frames that wait to be sent to the worker.
    outbox: Outbox,
    /// Commands, by their number.
    commands: BTreeMap<u32, Command>,
    /// Work on files, by its number.
    jobs: BTreeMap<u32, Task>,
    /// Ending everybody, when that is under way.
    sweep: Option<Sweep>,
    /// Watches the free space of the workspace.
    space: SpaceWatch,
    /// The space that is filled.
    filling: Option<Filling>,
    /// Resources of processes that ended since the last question.
    used: Used,
}

impl Keeper {
    /// A doorkeeper that was not asked for anything.
    fn new(start: Start, arguments: &Arguments) -> Self {
        let Start { identity, signals, stream, door, decoder } = start;
        Self {
            identity,
            signals,
            stream,
            door,
            decoder,
            outbox: Outbox::default(),
            commands: BTreeMap::new(),
            jobs: BTreeMap::new(),
            sweep: None,
            space: SpaceWatch::new(arguments.watched.as_deref()),
            filling: None,
            used: Used::default(),
        }
    }

    /// Works until it is to end.
    fn run(&mut self) -> Result<(), Ending> {
        let mut next = self.serve()?;
        while next == Next::Stay {
            self.wait_for_visitor()?;
            next = self.receive_visitor()?;
        }
        let _ = self.outbox.flush(&self.stream);
        Ok(())
    }

    /// Serves the worker or visitor that is connected, until it is asked to stay without or to end.
    fn serve(&mut self) -> Result<Next, Ending> {
        // Requests can have arrived together with the greeting.
        let mut next = self.take_requests()?;
        while next == Next::GoOn {
            self.work();
            self.outbox.flush(&self.stream).map_err(worker_failed)?;
            next = self.wait_and_proceed()?;
        }
        Ok(next)
    }

    /// Does all work that is due without waiting for anything.
    fn work(&mut self) {
        self.reap();
        self.commands.retain(|_, command| !command.finish(&mut self.outbox));
        self.step_jobs();
        self.step_sweep();
        if !self.commands.is_empty() {
            self.space.sample_sometimes();
        }
    }

    /// Waits until something is ready and goes on with it.
    fn wait_and_proceed(&mut self) -> Result<Next, Ending> {
        let mut next = Next::GoOn;
        for ready in self.wait().map_err(Ending::Connection)? {
            match ready {
                Ready::Worker => next = self.receive()?,
                Ready::Signal => self.hear_signals()?,
                Ready::Command(id, part) => self.proceed(id, part),
            }
            if next != Next::GoOn {
                break;
            }
        }
        Ok(next)
    }

    /// Waits until something is ready.
    fn wait(&self) -> Result<Vec<Ready>, Errno> {
        let out = if self.outbox.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        let mut ready = vec![Ready::Worker, Ready::Signal];
        let mut polled =
            vec![PollFd::new(&self.stream, PollFlags::IN | out), PollFd::new(&self.signals, PollFlags::IN)];
        for (id, command) in &self.commands {
            for (part, descriptor, flags) in command.interests(!self.outbox.is_full()) {
                ready.push(Ready::Command(*id, part));
                polled.push(PollFd::from_borrowed_fd(descriptor, flags));
            }
        }
        match poll(&mut polled, self.patience().as_ref()) {
            Ok(_) => {}
            // Out of memory for a moment, or interrupted: look again.
            Err(Errno::INTR | Errno::NOMEM | Errno::AGAIN) => return Ok(Vec::new()),
            Err(errno) => return Err(errno),
        }
        let happened = polled.iter().map(|polled| polled.revents());
        Ok(ready.into_iter().zip(happened).filter(|(_, events)| !events.is_empty()).map(|(ready, _)| ready).collect())
    }

    /// Returns the timeout of the next poll; `None` is forever.
    fn patience(&self) -> Option<Timespec> {
        let may_send = !self.outbox.is_full();
        let busy = self.jobs.values().any(|task| task.progress() == Progress::More) && may_send;
        let watching = self.space.is_watching() && self.commands.values().any(Command::is_running);
        let waits = [
            busy.then_some(Duration::ZERO),
            self.sweep.as_ref().map(|_| SWEEP_PERIOD),
            watching.then_some(space::PERIOD),
            self.commands.values().any(Command::is_draining).then_some(SWEEP_PERIOD),
        ];
        let shortest = waits.into_iter().flatten().min()?;
        Some(Timespec { tv_sec: 0, tv_nsec: shortest.subsec_nanos().into() })
    }

    /// Receives bytes from the worker, and handles its requests.
    fn receive(&mut self) -> Result<Next, Ending> {
        let mut bytes = vec![0; CHUNK];
        match retry_on_intr(|| rustix::io::read(&self.stream, &mut bytes)) {
            Ok(0) => return Err(Ending::WorkerGone),
            Ok(read) => self.decoder.feed(&bytes[..read]),
            Err(Errno::AGAIN) => return Ok(Next::GoOn),
            Err(errno) => return Err(worker_failed(errno)),
        }
        self.take_requests()
    }

    /// Handles the requests that arrived.
    fn take_requests(&mut self) -> Result<Next, Ending> {
        while let Some(message) = self.decoder.take().map_err(Ending::Malformed)? {
            let Message::Request(request) = message else { return Err(Ending::NoRequest) };
            let next = self.handle(request);
            if next != Next::GoOn {
                return Ok(next);
            }
        }
        Ok(Next::GoOn)
    }

    /// Reads which signals arrived. An ended child is seen by [`Self::reap`]; the others ask the doorkeeper to end.
    fn hear_signals(&self) -> Result<(), Ending> {
        // The size of `signalfd_siginfo`, which begins with the signal, an error, how it was sent, and who sent it.
        let mut signal = [0; 128];
        while let Ok(128) = rustix::io::read(&self.signals, &mut signal) {
            let word = |at: usize| u32::from_ne_bytes([signal[at], signal[at + 1], signal[at + 2], signal[at + 3]]);
            let (number, how, sender) = (word(0), word(8), word(12));
            // Somebody outside of the sandbox has no number in it. The kernel itself sends signals for who asks it to, as
            // with `F_SETOWN`, and does not look well at who that is.
            let is_from_outside = how == libc::SI_USER.unsigned_abs() && (sender == 0 || !self.identity.is_init);
            if number != libc::SIGCHLD.unsigned_abs() && is_from_outside {
                return Err(Ending::Terminated);
            }
        }
        Ok(())
    }

    /// Handles a part of a command that is ready.
    fn proceed(&mut self, id: u32, part: Part) {
        let Some(command) = self.commands.get_mut(&id) else { return };
        if command.proceed(part, &mut self.outbox) {
            self.commands.remove(&id);
        }
    }

    /// Takes the processes that ended: commands, and orphans that nobody else takes.
    fn reap(&mut self) {
        for ended in std::iter::from_fn(sys::wait_any).take(REAPED_AT_ONCE) {
            self.used.user_us = self.used.user_us.saturating_add(ended.user_us);
            self.used.system_us = self.used.system_us.saturating_add(ended.system_us);
            self.used.max_rss_kib = self.used.max_rss_kib.max(ended.max_rss_kib);
            let command = self.commands.values_mut().find(|command| command.is_running() && command.pid == ended.pid);
            if let Some(command) = command {
                command.ended(&ended);
                self.space.sample();
            }
        }
    }

    /// Gives every job its turn.
    fn step_jobs(&mut self) {
        for (id, task) in &mut self.jobs {
            if !self.outbox.is_full() {
                task.step(*id, &self.identity, &mut self.outbox);
            }
        }
        self.jobs.retain(|_, task| task.progress() != Progress::Finished);
    }

    /// Continues killing all processes, and answers when it is done.
    fn step_sweep(&mut self) {
        let Some(sweep) = &self.sweep else { return };
        if let Some(result) = sweep.step(&self.identity, self.commands.is_empty()) {
            for id in &sweep.ids {
                self.outbox.answer(*id, result.clone());
            }
            self.sweep = None;
        }
    }

    /// Ends everybody before the doorkeeper does. As PID 1 that is only polite: the kernel does it too.
    fn end_everybody(&mut self) {
        for _ in 0..LAST_ROUNDS {
            self.reap();
            if kill_others(&self.identity) {
                return;
            }
            std::thread::sleep(SWEEP_PERIOD);
        }
    }
}

/// Returns the ending for an error of the connection to the worker.
fn worker_failed(errno: Errno) -> Ending {
    match errno {
        Errno::PIPE | Errno::CONNRESET => Ending::WorkerGone,
        errno => Ending::Connection(errno),
    }
}
