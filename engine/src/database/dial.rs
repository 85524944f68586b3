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

/// Connects to an address behind a door.
#[derive(Debug)]
pub(crate) struct ToAddress {
    /// The door.
    pub(crate) door: Door,
    /// The address.
    pub(crate) address: Ipv4Addr,
}

#[async_trait]
impl Dial for ToAddress {
    async fn dial(&self, port: u16) -> io::Result<TcpStream> {
        self.door.connect(SocketAddr::from((self.address, port))).await.map_err(io::Error::other)
    }
}

#[async_trait]
impl Dial for ThroughDoor {
    async fn dial(&self, port: u16) -> io::Result<TcpStream> {
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        self.0.connect(address).await.map_err(io::Error::other)
    }
}
