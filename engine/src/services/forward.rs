//! Passes connections on to services that have a network of their own.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use gateways::forward::{Forward, ForwardFaults, Target};
use gateways::tls::Terminator;

use crate::database::ThroughDoor;
use crate::database::wire::Recorder;
use crate::door::Door;

/// Number of connections that one service gets at once; more wait.
const MOST_CONNECTIONS: usize = 512;

/// Connections that are passed on, until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Forwards {
    forwards: Vec<Forward>,
    /// Recorder of the databases whose writes are recorded.
    pub(crate) recorder: Recorder,
}

impl Forwards {
    /// Passes what comes to a listener of the sandbox on to a port behind another door; without TLS, where that may come,
    /// and with these faults.
    pub(crate) fn add(
        &mut self,
        listener: TcpListener,
        door: Door,
        port: u16,
        terminator: Option<Terminator>,
        faults: ForwardFaults,
    ) -> io::Result<()> {
        let target = Target { dial: Arc::new(ThroughDoor(door)), port };
        self.forwards.push(Forward::serve(listener, target, MOST_CONNECTIONS, terminator, faults)?);
        Ok(())
    }
}
