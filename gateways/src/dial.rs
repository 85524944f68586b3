//! Connections into a sandbox.

use std::fmt::Debug;
use std::io;

use async_trait::async_trait;
use tokio::net::TcpStream;

/// Connects to a port inside the sandbox, which has no network that could be reached from outside.
#[async_trait]
pub trait Dial: Debug + Send + Sync {
    /// A connection to `port` on the sandbox's loopback.
    async fn dial(&self, port: u16) -> io::Result<TcpStream>;
}
