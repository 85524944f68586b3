//! A command inside the sandbox.

use std::sync::Arc;

use doorkeeper::protocol::{Event, Exited, Request, Stream, WindowSize};

use super::DoorError;
use super::connection::{Call, Connection};

/// A command that was started inside the sandbox. Dropping it throws its output away; it does not end it.
#[derive(Debug)]
pub struct Command {
    call: Call,
    pid: u32,
}

/// An event of a command.
#[derive(Debug)]
pub enum CommandEvent {
    /// The command printed something.
    Output(Stream, Vec<u8>),
    /// The command ended.
    Exited(Exited),
}

impl Command {
    pub(super) fn new(call: Call, pid: u32) -> Self {
        Self { call, pid }
    }

    /// Its process, as the sandbox numbers it.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for the next event. Taking output makes room for more.
    pub async fn next(&mut self) -> Result<CommandEvent, DoorError> {
        let event = self.call.next().await?.event;
        let credit = event.credit();
        match event {
            Event::Data { stream, bytes, .. } => {
                self.call.credit(stream, credit);
                Ok(CommandEvent::Output(stream, bytes))
            }
            Event::Exited { exited, .. } => Ok(CommandEvent::Exited(exited)),
            event => Err(DoorError::unexpected(event)),
        }
    }

    /// Returns a handle for the command's standard input and its terminal.
    #[must_use]
    pub fn input(&self) -> CommandInput {
        CommandInput { command: self.call.id, connection: self.call.connection() }
    }

    /// Sends a signal to the command and its process group.
    pub async fn signal(&self, signal: i32) -> Result<(), DoorError> {
        let command = self.call.id;
        self.call.about(|id| Request::Signal { id, command, signal }).await
    }
}

/// The standard input of a command that was started with it open, and its terminal.
#[derive(Debug, Clone)]
pub struct CommandInput {
    command: u32,
    connection: Arc<Connection>,
}

impl CommandInput {
    /// Writes to the command's standard input, and waits until the bytes were taken. A piece is at most
    /// [`doorkeeper::protocol::CHUNK`] long; an empty one is the end.
    pub async fn write(&self, bytes: Vec<u8>) -> Result<(), DoorError> {
        let command = self.command;
        // A command may read as slowly as it likes.
        self.connection.call(|id| Request::Input { id, command, bytes })?.next().await.map(|_| ())
    }

    /// Changes the size of the command's terminal.
    pub async fn resize(&self, size: WindowSize) -> Result<(), DoorError> {
        let command = self.command;
        self.connection.call(|id| Request::Resize { id, command, size })?.answer().await.map(|_| ())
    }
}
