//! How much a listener takes.

use std::time::Duration;

/// How much a listener takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once; a quarter of them is for callers that have not shown a key.
    pub connections: usize,
    /// Connections of one key at once.
    pub per_key: usize,
    /// Connections of one address at once on which no key was shown.
    pub per_peer: usize,
    /// How long a request's head may take, from its first byte; and the first byte of a new connection.
    pub header: Duration,
    /// How long a connection may be idle between two requests, or its client not read what is sent to it.
    pub idle: Duration,
}

impl Limits {
    /// Places for connections on which no key was shown.
    pub(crate) fn unauthenticated(&self) -> usize {
        (self.connections / 4).max(1)
    }

    /// Places for the connections of keys.
    pub(crate) fn authenticated(&self) -> usize {
        self.connections.saturating_sub(self.unauthenticated()).max(1)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1000,
            per_key: 400,
            per_peer: 100,
            header: Duration::from_secs(10),
            idle: Duration::from_secs(75),
        }
    }
}
