//! The way in: a port of the machine's loopback that leads to one of the sandbox.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::copy_bidirectional;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::door::Door;

/// How many connections there may be at once; more wait.
const CONNECTIONS: usize = 64;
/// The pause after a connection that could not be accepted, so that a lack of descriptors is no busy loop.
const PAUSE: Duration = Duration::from_millis(50);

/// A port of this machine that leads into a sandbox, until it is dropped.
#[derive(Debug)]
pub(crate) struct Ingress {
    /// Where it is on this machine.
    pub(crate) at: SocketAddr,
    _end: DropGuard,
}

impl Ingress {
    /// Opens a port of this machine that leads to one of the sandbox.
    pub(crate) async fn open(door: Door, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let at = listener.local_addr()?;
        let end = CancellationToken::new();
        tokio::spawn(end.clone().run_until_cancelled_owned(serve(listener, door, port)));
        Ok(Self { at, _end: end.drop_guard() })
    }
}

async fn serve(listener: TcpListener, door: Door, port: u16) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    // They end with this.
    let mut connections = JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        while connections.try_join_next().is_some() {}
        let Ok((mut from, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let door = door.clone();
        connections.spawn(async move {
            if let Ok(mut to) = door.connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await {
                let _ = copy_bidirectional(&mut from, &mut to).await;
            }
            drop(place);
        });
    }
}
