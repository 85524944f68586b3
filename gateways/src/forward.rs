//! Passes connections on to a port inside a sandbox.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use crate::dial::Dial;
use crate::faults::ServiceLink;
use crate::listener::{Connection, DRAIN, IdleTimeout, Listener, ListenerLimits};
use crate::tls::Terminator;

/// How long a connection that is passed on may carry nothing: as long as MySQL waits for a silent client, so that no pool of
/// connections notices.
pub const FORWARD_IDLE: Duration = Duration::from_secs(8 * 60 * 60);

/// Connections that are passed on, until this is dropped.
#[derive(Debug)]
pub struct Forward {
    _listener: Listener,
}

/// The end that connections are passed on to.
#[derive(Debug, Clone)]
pub struct Target {
    /// Connects to it.
    pub dial: Arc<dyn Dial>,
    /// Its port.
    pub port: u16,
}

impl Forward {
    /// Passes what comes to a socket on to a port behind a dial, so many connections at once; without TLS, where that may come.
    /// Faults of the network may lie on the way. It must be called within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// The socket cannot be used.
    pub fn serve(
        socket: TcpListener,
        target: Target,
        connections: usize,
        terminator: Option<Terminator>,
        link: Option<ServiceLink>,
    ) -> io::Result<Self> {
        let limits = ListenerLimits { connections, idle: IdleTimeout::Bytes(FORWARD_IDLE), drain: DRAIN };
        let listener = Listener::new("a forwarded port", limits);
        listener.serve_link(socket, terminator, link, move |connection| pass_on(connection, target.clone()))?;
        Ok(Self { _listener: listener })
    }
}

async fn pass_on(connection: Connection, target: Target) {
    let Ok(to) = target.dial.dial(target.port).await else { return };
    // However it ends, nothing is owed to it.
    let _ = connection.relay(to).await;
}
