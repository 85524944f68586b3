//! Connections into a sandbox through its door.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use async_trait::async_trait;
use gateways::dial::Dial;
use tokio::net::TcpStream;

use crate::door::Door;

/// Connects to loopback behind a door.
#[derive(Debug)]
pub(crate) struct ThroughDoor(pub(crate) Door);

#[async_trait]
impl Dial for ThroughDoor {
    async fn dial(&self, port: u16) -> io::Result<TcpStream> {
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        self.0.connect(address).await.map_err(io::Error::other)
    }
}
