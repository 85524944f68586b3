//! A command inside the sandbox.

use doorkeeper::protocol::{Event, Exited, Request, Stream};

use super::DoorError;
use super::connection::Call;

/// A command that was started inside the sandbox. Dropping it throws its output away; it does not end it.
#[derive(Debug)]
pub struct Command {
    call: Call,
    pid: u32,
}

/// What a command does.
#[derive(Debug)]
pub enum CommandEvent {
    /// It printed something.
    Output(Stream, Vec<u8>),
    /// It ended.
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

    /// What it does next. Taking output makes room for more.
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

    /// Sends a signal to the command and its process group.
    pub async fn signal(&self, signal: i32) -> Result<(), DoorError> {
        let command = self.call.id;
        self.call.about(|id| Request::Signal { id, command, signal }).await
    }
}
