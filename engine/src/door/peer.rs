//! The process at the other end of a door.

use std::io;

use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;

/// A process that connected, as the kernel tells it: nobody can pretend to be another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Peer {
    /// Its number as this process counts; 0 for one that it cannot see.
    pub(crate) pid: i32,
    /// Its user, as this process counts.
    pub(crate) uid: u32,
}

impl Peer {
    /// Returns the process at the other end of a connection.
    pub(super) fn of(stream: &UnixStream) -> io::Result<Self> {
        let credentials = stream.peer_cred()?;
        Ok(Self { pid: credentials.pid().unwrap_or(0), uid: credentials.uid() })
    }
}
