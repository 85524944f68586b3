//! The worker's end of a doorkeeper: asks PID 1 of a sandbox to do things.
//!
//! One connection carries everything. A task reads it and hands each event to its caller; because the doorkeeper sends
//! no more of a stream than it was given credit for, nothing piles up here, however much a command prints.

mod command;
mod connection;
mod error;
mod files;
mod fingerprints;
mod listener;
mod peer;

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use doorkeeper::protocol::{Copied, Event, Request, Space, Spawn, Transport, Used};
use tokio::net::TcpStream;

pub use command::{Command, CommandEvent, CommandInput};
use connection::{Connection, Reply};
pub use doorkeeper::protocol::{Status, Stream, WindowSize};
pub use error::DoorError;
pub use files::Listing;
pub use listener::DoorListener;
pub(crate) use peer::Peer;

/// A doorkeeper that is connected. Clones speak to the same one.
#[derive(Debug, Clone)]
pub struct Door {
    connection: Arc<Connection>,
    peer: Peer,
}

impl Door {
    /// Starts a command.
    pub async fn spawn(&self, spawn: Spawn) -> Result<Command, DoorError> {
        let mut call = self.connection.call(|id| Request::Spawn { id, spawn })?;
        match call.answer().await?.event {
            Event::Started { pid, .. } => Ok(Command::new(call, pid)),
            event => Err(DoorError::unexpected(event)),
        }
    }

    /// The doorkeeper's process, as it was when it connected.
    pub(crate) fn peer(&self) -> Peer {
        self.peer
    }

    /// Ends every process of the sandbox but the doorkeeper.
    pub async fn kill_all(&self) -> Result<(), DoorError> {
        self.done(|id| Request::KillAll { id }).await
    }

    /// Sends a signal to every process of the sandbox but the doorkeeper.
    pub async fn signal_all(&self, signal: i32) -> Result<(), DoorError> {
        self.done(|id| Request::SignalAll { id, signal }).await
    }

    /// Takes all room of the file system of a folder but for so many bytes.
    pub async fn fill(&self, path: &str, leave: u64) -> Result<(), DoorError> {
        self.done(|id| Request::Fill { id, path: path.into(), leave }).await
    }

    /// Frees the space that [`Door::fill`] took.
    pub async fn unfill(&self) -> Result<(), DoorError> {
        self.done(|id| Request::Unfill { id }).await
    }

    /// Opens a listening socket inside the sandbox.
    pub async fn listen(&self, transport: Transport, address: SocketAddr) -> Result<OwnedFd, DoorError> {
        self.descriptor(|id| Request::Listen { id, transport, address }).await
    }

    /// Connects to a port on the sandbox's loopback.
    pub async fn connect(&self, address: SocketAddr) -> Result<TcpStream, DoorError> {
        let descriptor = self.descriptor(|id| Request::Connect { id, address }).await?;
        connected(descriptor).await.map_err(|cause| DoorError::Connect { address, cause })
    }

    /// Copies a folder of the sandbox into another.
    pub async fn copy(&self, from: &str, to: &str) -> Result<Copied, DoorError> {
        let (from, to) = (from.into(), to.into());
        let mut call = self.connection.call(|id| Request::Copy { id, from, to })?;
        match call.answer().await?.event {
            Event::Copied { copied, .. } => Ok(copied),
            event => Err(DoorError::unexpected(event)),
        }
    }

    /// Returns the space of a path's file system.
    pub async fn space(&self, path: &str) -> Result<Space, DoorError> {
        let mut call = self.connection.call(|id| Request::Space { id, path: path.into() })?;
        match call.answer().await?.event {
            Event::Space { space, .. } => Ok(space),
            event => Err(DoorError::unexpected(event)),
        }
    }

    /// Returns the resources of processes that ended since the last call.
    pub async fn used(&self) -> Result<Used, DoorError> {
        match self.connection.call(|id| Request::Used { id })?.answer().await?.event {
            Event::Used { used, .. } => Ok(used),
            event => Err(DoorError::unexpected(event)),
        }
    }

    /// Makes the doorkeeper stay when the connection ends, which it then does. Everything else must have ended before.
    pub async fn stay(&self) -> Result<(), DoorError> {
        self.done(|id| Request::Stay { id }).await
    }

    /// Ends the doorkeeper, and with it everything in the sandbox.
    pub fn shut(&self) {
        self.connection.send(&Request::Shutdown);
    }

    /// Returns true if the connection has ended: the doorkeeper is gone.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.connection.is_closed()
    }

    async fn done(&self, request: impl FnOnce(u32) -> Request) -> Result<(), DoorError> {
        match self.connection.call(request)?.answer().await?.event {
            Event::Done { .. } => Ok(()),
            event => Err(DoorError::unexpected(event)),
        }
    }

    async fn descriptor(&self, request: impl FnOnce(u32) -> Request) -> Result<OwnedFd, DoorError> {
        match self.connection.call(request)?.answer().await? {
            Reply { event: Event::Descriptor { .. }, descriptor: Some(descriptor) } => Ok(descriptor),
            Reply { event, .. } => Err(DoorError::unexpected(event)),
        }
    }
}

/// Waits until a socket that is still connecting is connected.
async fn connected(descriptor: OwnedFd) -> std::io::Result<TcpStream> {
    let stream = TcpStream::from_std(descriptor.into())?;
    stream.writable().await?;
    match stream.take_error()? {
        Some(error) => Err(error),
        None => stream.peer_addr().map(|_| stream),
    }
}
