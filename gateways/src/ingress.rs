//! The way in: a port of the machine's loopback that leads to one of the sandbox.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use crate::forward::{Forward, ForwardFaults, Target};

/// Number of connections at once; more wait.
const CONNECTIONS: usize = 64;

/// A port of this machine that leads into a sandbox, until it is dropped.
#[derive(Debug)]
pub struct Ingress {
    /// Address on this machine.
    pub at: SocketAddr,
    _forward: Forward,
}

impl Ingress {
    /// Opens a port of this machine that leads to one of the sandbox. It must be called within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// No port can be opened.
    pub fn open(target: Target) -> io::Result<Self> {
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let at = socket.local_addr()?;
        Ok(Self { at, _forward: Forward::serve(socket, target, CONNECTIONS, None, ForwardFaults::default())? })
    }
}
