//! Starts the work that each request of the worker asks for.

use std::os::fd::OwnedFd;

use doorkeeper::protocol::{Event, Failure, Request, Spawn, Stream, WindowSize};
use rustix::io::Errno;

use super::command::Command;
use super::failure::{failed, refused};
use super::files::{Copy, Fingerprinting, Job, Read, Remove, Task, Walk, put, read_link, set_mode, write};
use super::filling::Filling;
use super::network::{open_connection, open_listener};
use super::sweep::{Sweep, signal_others};
use super::{Keeper, Next, input};

impl Keeper {
    /// Handles a request, or starts the work that it asks for.
    pub(super) fn handle(&mut self, request: Request) -> Next {
        match request {
            Request::Spawn { id, spawn } => self.spawn(id, spawn),
            Request::Signal { id, command, signal } => {
                let result = self.signal(command, signal);
                self.outbox.answer(id, result);
            }
            Request::Input { id, command, bytes } => self.add_input(id, command, bytes),
            Request::Resize { id, command, size } => {
                let result = self.resize(command, size);
                self.outbox.answer(id, result);
            }
            Request::SignalAll { id, signal } => {
                signal_others(&self.identity, signal);
                self.outbox.push(Event::Done { id });
            }
            Request::KillAll { id } => self.sweep.get_or_insert_with(Sweep::begin).ids.push(id),
            Request::Listen { id, transport, address } => self.hand_out(id, open_listener(transport, address)),
            Request::Connect { id, address } => self.hand_out(id, open_connection(address)),
            Request::Read { id, root, path, limit } => self.add(id, Read::begin(&root, path, limit).map(Job::Read)),
            Request::ReadLink { id, root, path } => self.answer_link(id, read_link(&root, &path)),
            Request::Write { id, file } => {
                let result = write(&file, &self.identity);
                self.outbox.answer(id, result);
            }
            Request::Put { id, root, file } => {
                let result = put(&root, &file, &self.identity);
                self.outbox.answer(id, result);
            }
            Request::Remove { id, root, path, uid, gid } => {
                self.add(id, Remove::begin(&root, path, (uid, gid)).map(|remove| Job::Remove(Box::new(remove))));
            }
            Request::SetMode { id, root, path, mode } => {
                let result = set_mode(&root, &path, mode, &self.identity);
                self.outbox.answer(id, result);
            }
            Request::Fill { id, path, leave } => {
                let result = self.fill(&path, leave);
                self.outbox.answer(id, result);
            }
            Request::Unfill { id } => {
                self.unfill();
                self.outbox.push(Event::Done { id });
            }
            Request::Walk { id, root, path, most, recursive } => {
                self.add(id, Walk::begin(&root, &path, most, recursive).map(Job::Walk));
            }
            Request::Fingerprint { id, root, paths, most_bytes } => {
                let begun = Fingerprinting::begin(&root, paths, most_bytes);
                self.add(id, begun.map(|fingerprinting| Job::Fingerprint(Box::new(fingerprinting))));
            }
            Request::Copy { id, from, to } => self.add(id, Copy::begin(&from, &to, &self.identity).map(Job::Copy)),
            Request::Space { id, path } => self.ask_space(id, &path),
            Request::Used { id } => self.outbox.push(Event::Used { id, used: std::mem::take(&mut self.used) }),
            Request::Credit { id, stream, bytes } => self.credit(id, stream, bytes),
            Request::Cancel { id } => self.cancel(id),
            Request::Stay { id } => return self.agree_to_stay(id),
            Request::Shutdown => return Next::Stop,
        }
        Next::GoOn
    }

    /// Fills the space; measurements of free space mean nothing from now on.
    fn fill(&mut self, path: &[u8], leave: u64) -> Result<(), Failure> {
        self.unfill();
        self.space.sample();
        self.filling = Some(Filling::take(path, leave)?);
        self.space.pause(true);
        Ok(())
    }

    /// Frees the space that was filled.
    fn unfill(&mut self) {
        self.filling = None;
        self.space.pause(false);
    }

    /// Starts a command.
    fn spawn(&mut self, id: u32, spawn: Spawn) {
        let started = match self.is_taken(id) {
            true => Err(number_taken(id)),
            false => Command::start(id, spawn, &self.identity),
        };
        match started {
            Ok(command) => drop(self.commands.insert(id, command)),
            Err(failure) => self.outbox.push(Event::Failed { id, failure }),
        }
    }

    /// Signals a command.
    fn signal(&self, command: u32, signal: i32) -> Result<(), Failure> {
        let tried = format!("send signal {signal} to command {command}");
        let running = self.commands.get(&command).ok_or_else(|| failed(Errno::SRCH, &tried))?;
        running.signal(signal).map_err(|errno| failed(errno, &tried))
    }

    /// Writes to a command's standard input; the answer is sent when the command took it.
    fn add_input(&mut self, id: u32, command: u32, bytes: Vec<u8>) {
        let added = match self.commands.get_mut(&command) {
            Some(command) => command.add_input(id, bytes, &mut self.outbox),
            None => Err(input::closed()),
        };
        if let Err(failure) = added {
            self.outbox.push(Event::Failed { id, failure });
        }
    }

    /// Changes the size of a command's terminal.
    fn resize(&self, command: u32, size: WindowSize) -> Result<(), Failure> {
        let tried = format!("resize the terminal of command {command}");
        let running = self.commands.get(&command).ok_or_else(|| failed(Errno::SRCH, &tried))?;
        running.resize(size).map_err(|errno| failed(errno, &tried))
    }

    /// Hands a socket out.
    fn hand_out(&mut self, id: u32, socket: Result<OwnedFd, Failure>) {
        match socket {
            Ok(socket) => self.outbox.push_descriptor(id, socket),
            Err(failure) => self.outbox.push(Event::Failed { id, failure }),
        }
    }

    /// Adds work on files.
    fn add(&mut self, id: u32, job: Result<Job, Failure>) {
        let job = if self.is_taken(id) { Err(number_taken(id)) } else { job };
        match job {
            Ok(job) => drop(self.jobs.insert(id, Task::new(job))),
            Err(failure) => self.outbox.push(Event::Failed { id, failure }),
        }
    }

    /// Returns true if the number belongs to a command or job that is under way.
    fn is_taken(&self, id: u32) -> bool {
        self.commands.contains_key(&id) || self.jobs.contains_key(&id)
    }

    /// Answers with the target of a link.
    fn answer_link(&mut self, id: u32, target: Result<Vec<u8>, Failure>) {
        let done = target.map(|bytes| self.outbox.push(Event::Data { id, stream: Stream::Out, bytes }));
        self.outbox.answer(id, done);
    }

    /// Answers with the space of a file system.
    fn ask_space(&mut self, id: u32, path: &[u8]) {
        self.outbox.push(match self.space.ask(path) {
            Ok(space) => Event::Space { id, space },
            Err(failure) => Event::Failed { id, failure },
        });
    }

    /// Allows more bytes. What ended in the meantime needs none.
    fn credit(&mut self, id: u32, stream: Stream, bytes: u32) {
        if let Some(command) = self.commands.get_mut(&id) {
            command.credit(stream, bytes);
        }
        if let Some(task) = self.jobs.get_mut(&id) {
            task.credit(bytes);
        }
    }

    /// Forgets work on files, or the output of a command.
    fn cancel(&mut self, id: u32) {
        self.jobs.remove(&id);
        if let Some(command) = self.commands.get_mut(&id) {
            command.cancel();
        }
    }
}

/// The failure of a request whose number belongs to another one.
fn number_taken(id: u32) -> Failure {
    refused(format!("number {id} belongs to a request that is under way"))
}
