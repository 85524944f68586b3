//! The bounds that a gateway gives its listener.

use std::time::Duration;

/// Time for which connections of most gateways may go on, to end by themselves, when the records end.
pub const DRAIN: Duration = Duration::from_secs(1);

/// The bounds of a listener.
#[derive(Debug, Clone, Copy)]
pub struct ListenerLimits {
    /// Connections that are served at once; more wait to be accepted.
    pub connections: usize,
    /// Timeout after which a connection counts as idle, and is ended.
    pub idle: IdleTimeout,
    /// Time limit for connections to end by themselves when the records end, and then to end when they are cut.
    pub drain: Duration,
}

/// Timeout after which a connection counts as idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleTimeout {
    /// No byte has passed for so long: for connections that carry anything.
    Bytes(Duration),
    /// No request has been under way for so long, whatever bytes passed: for connections that carry requests.
    Requests(Duration),
}

impl IdleTimeout {
    /// The time after which an idle connection is ended.
    pub(super) fn wait(self) -> Duration {
        match self {
            Self::Bytes(wait) | Self::Requests(wait) => wait,
        }
    }

    /// Returns true if bytes keep a connection alive.
    pub(super) fn counts_bytes(self) -> bool {
        matches!(self, Self::Bytes(_))
    }
}
