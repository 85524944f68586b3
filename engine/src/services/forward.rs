//! Passes connections on to services that have a network of their own.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::database::wire::Recorder;
use crate::door::Door;
use crate::gateways::tls::{Duplex, Terminator};

/// How many connections one service gets at once; more wait.
const MOST_CONNECTIONS: usize = 512;
/// The pause after a connection that could not be accepted, so that a lack of descriptors is no busy loop.
const PAUSE: Duration = Duration::from_millis(50);

/// Connections that are passed on, until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Forwards {
    guards: Vec<DropGuard>,
    /// Those to databases whose writes are recorded.
    pub(crate) recorder: Recorder,
}

impl Forwards {
    /// Passes what comes to a listener of the sandbox on to a port behind another door; without TLS, where that may come.
    pub(crate) fn add(
        &mut self,
        listener: StdListener,
        door: Door,
        port: u16,
        terminator: Option<Terminator>,
    ) -> std::io::Result<()> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let stop = CancellationToken::new();
        tokio::spawn(stop.clone().run_until_cancelled_owned(serve(listener, door, port, terminator)));
        self.guards.push(stop.drop_guard());
        Ok(())
    }
}

async fn serve(listener: TcpListener, door: Door, port: u16, terminator: Option<Terminator>) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        while connections.try_join_next().is_some() {}
        // Too many open files pass; an end of the listener does not come while we hold it.
        let Ok((from, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let (door, terminator) = (door.clone(), terminator.clone());
        connections.spawn(async move {
            // However it ends, nothing is owed to it.
            let _ = pass_on(from, &door, port, terminator.as_ref()).await;
            drop(place);
        });
    }
}

async fn pass_on(from: TcpStream, door: &Door, port: u16, terminator: Option<&Terminator>) -> io::Result<()> {
    let mut from: Box<dyn Duplex> = match terminator {
        Some(terminator) => terminator.open(from).await?,
        None => Box::new(from),
    };
    let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let mut to = door.connect(address).await.map_err(io::Error::other)?;
    copy_bidirectional(&mut from, &mut to).await.map(|_| ())
}
