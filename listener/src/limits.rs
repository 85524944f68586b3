//! Limits of a listener.

use std::time::Duration;

/// Limits of a listener: numbers of connections, and timeouts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once; a quarter of them is for callers that have not shown a key.
    pub connections: usize,
    /// Connections of one key at once.
    pub per_key: usize,
    /// Connections of one address at once on which no key was shown.
    pub per_peer: usize,
    /// Timeout for a request's head, counted from its first byte; also for the first byte of a new connection.
    pub header: Duration,
    /// Timeout for a connection that is idle between two requests, or whose client does not read what is sent to it.
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
