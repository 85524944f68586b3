//! The network behind the egress gateway: the internet, or in tests a network that plays it.

use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, SocketAddr};

use async_trait::async_trait;
use tokio::net::TcpStream;

/// The network behind the egress gateway.
#[async_trait]
pub trait Outside: Debug + Send + Sync {
    /// The addresses of a name.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;

    /// Connects to an address that was found to be allowed.
    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream>;
}

/// The machine's own network.
#[derive(Debug, Clone, Copy, Default)]
pub struct Internet;

#[async_trait]
impl Outside for Internet {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        // The port is not looked at.
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        TcpStream::connect(address).await
    }
}
