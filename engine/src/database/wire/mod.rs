//! Reads what passes between the agent and a database, to tell which tables it wrote.
//!
//! A database's own logs can be switched off by its superuser, who the agent may be. So the database has a network of its
//! own, and the way to it leads through a [`Recorder`], which reads the protocol in both directions. It offers no
//! encryption and no compression, and closes a connection that it cannot follow.

mod faulted;
mod frames;
mod ledger;
mod mysql;
mod postgres;
mod recorder;
mod session;
mod sql;
#[cfg(test)]
mod testing;

pub(crate) use recorder::{Recorded, Recorder};

/// Reason why a connection cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfollowable(String);

impl Unfollowable {
    fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// Bytes to send after something was received.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Passed {
    to_server: Vec<u8>,
    to_client: Vec<u8>,
}

/// A connection, as it is followed.
trait Conversation: Send + std::fmt::Debug {
    /// Takes bytes of the client.
    fn client_said(&mut self, bytes: &[u8]) -> Result<Passed, Unfollowable>;

    /// Takes bytes of the server.
    fn server_said(&mut self, bytes: &[u8]) -> Result<Passed, Unfollowable>;

    /// Returns true if the server has answered everything.
    fn is_quiet(&self) -> bool;

    /// The connection is over, or recording is. A statement that still runs may yet be kept, so it counts; a transaction that is
    /// open is undone.
    fn end(&mut self);
}
