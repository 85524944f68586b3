//! Passes connections on to a port inside a sandbox.

mod governed;
mod http;
#[cfg(test)]
mod http_tests;
mod opening;

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use scenario::spec::sections::ServiceMode;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy, split};
use tokio::time::{sleep, timeout};

use crate::contract_session::ServiceGovernor;
use crate::dial::Dial;
use crate::faults::{Fault, ServiceFaults, ServiceLink, ToolFaults, hang_time};
use crate::listener::{Connection, DRAIN, IdleTimeout, Listener, ListenerLimits};
use crate::redact::Redactor;
use crate::tls::Terminator;
use http::Requests;

/// Idle timeout of a connection that is passed on: as long as MySQL waits for a silent client, so that no pool of
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

/// The faults of a forwarded port, and the values that are looked for on the way to it.
#[derive(Debug, Clone, Default)]
pub struct ForwardFaults {
    /// Faults of the network on the way to it.
    pub link: Option<ServiceLink>,
    /// Faults of its connections.
    pub service: Option<ServiceFaults>,
    /// Faults of its requests over HTTP.
    pub http: Option<ToolFaults>,
    /// Redactor that finds values in the bytes of clients, if there are any to find.
    pub watch: Option<Redactor>,
    /// Decides on requests that are tool calls under contracts.
    pub governor: Option<Arc<ServiceGovernor>>,
}

impl Forward {
    /// Passes connections of a socket on to a port behind a dial, this many at once; takes TLS off where there may be
    /// some, and applies these faults. It must be called within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// The socket cannot be used.
    pub fn serve(
        socket: TcpListener,
        target: Target,
        connections: usize,
        terminator: Option<Terminator>,
        faults: ForwardFaults,
    ) -> io::Result<Self> {
        let limits = ListenerLimits { connections, idle: IdleTimeout::Bytes(FORWARD_IDLE), drain: DRAIN };
        let listener = Listener::new("a forwarded port", limits);
        let ForwardFaults { link, service: faults, http, watch, governor } = faults;
        let is_by_request = http.is_some() || governor.is_some();
        let requests = is_by_request.then(|| Arc::new(Requests::new(http, governor, target.clone())));
        listener.serve_link(socket, terminator, link, move |connection| {
            let way = Way { target: target.clone(), requests: requests.clone() };
            let faults = faults.clone();
            let connection = connection.watched(watch.as_ref());
            async move {
                match faults {
                    Some(faults) => pass_on_faulted(connection, way, &faults).await,
                    None => pass_on(connection, way).await,
                }
            }
        })?;
        Ok(Self { _listener: listener })
    }
}

/// The way of a connection: to its target, and request by request where those have faults.
struct Way {
    target: Target,
    requests: Option<Arc<Requests>>,
}

async fn pass_on(connection: Connection, way: Way) {
    let Ok(to) = way.target.dial.dial(way.target.port).await else { return };
    // However it ends, nothing is owed to it.
    match way.requests {
        Some(requests) => {
            let _ = http::pass_on(connection, to, requests).await;
        }
        None => {
            let _ = connection.relay(to).await;
        }
    }
}

/// Passes a connection on with its fault: late, not at all, or until the client says something.
async fn pass_on_faulted(connection: Connection, way: Way, faults: &ServiceFaults) {
    let decision = faults.connection();
    match decision.fault {
        Some(Fault { mode: ServiceMode::Refuse(_), .. }) => connection.reset.arm(),
        Some(fault) if fault.mode.is_about_whole_service() => {
            sleep(decision.delay).await;
            faults.carry_out(&fault).await;
            pass_on(connection, way).await;
        }
        Some(fault) => {
            sleep(decision.delay).await;
            if !break_off(connection, way.target, &fault).await {
                faults.take_back(&fault);
            }
        }
        None => {
            sleep(decision.delay).await;
            pass_on(connection, way).await;
        }
    }
}

/// Resets a connection at the first bytes of the client, or answers nothing after them. Before that, the service may
/// greet. Returns false if one of them ended before.
async fn break_off(mut connection: Connection, target: Target, fault: &Fault<ServiceMode>) -> bool {
    let Ok(to) = target.dial.dial(target.port).await else { return false };
    let mut first = [0; 1024];
    let has_spoken = {
        let (mut from_client, mut to_client) = split(&mut connection.stream);
        let (mut from_server, _to_server) = to.into_split();
        tokio::select! {
            read = from_client.read(&mut first) => matches!(read, Ok(1..)),
            _ = copy(&mut from_server, &mut to_client) => false,
        }
    };
    match hang_time(&fault.mode) {
        _ if !has_spoken => {}
        Some(wait) => {
            let rest = async { while matches!(connection.stream.read(&mut first).await, Ok(1..)) {} };
            // The client may go before that.
            let _ = timeout(wait, rest).await;
            let _ = connection.stream.shutdown().await;
        }
        None => connection.reset.arm(),
    }
    has_spoken
}

#[cfg(test)]
mod tests;
