//! Passes connections on to services that have a network of their own.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::door::Door;

/// How many connections one service gets at once; more wait.
const MOST_CONNECTIONS: usize = 512;
/// The pause after a connection that could not be accepted, so that a lack of descriptors is no busy loop.
const PAUSE: Duration = Duration::from_millis(50);

/// Connections that are passed on, until this is dropped.
#[derive(Debug, Default)]
pub(crate) struct Forwards {
    guards: Vec<DropGuard>,
}

impl Forwards {
    /// Passes what comes to a listener of the sandbox on to a port behind another door.
    pub(crate) fn add(&mut self, listener: StdListener, door: Door, port: u16) -> std::io::Result<()> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let stop = CancellationToken::new();
        tokio::spawn(stop.clone().run_until_cancelled_owned(serve(listener, door, port)));
        self.guards.push(stop.drop_guard());
        Ok(())
    }
}

async fn serve(listener: TcpListener, door: Door, port: u16) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        while connections.try_join_next().is_some() {}
        // Too many open files pass; an end of the listener does not come while we hold it.
        let Ok((mut from, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let door = door.clone();
        connections.spawn(async move {
            let _place = place;
            let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
            if let Ok(mut to) = door.connect(address).await {
                let _ = copy_bidirectional(&mut from, &mut to).await;
            }
        });
    }
}
