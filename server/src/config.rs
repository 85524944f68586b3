//! The configuration of a server.

use std::num::NonZeroU32;
use std::time::Duration;

use listener::Limits;

/// The configuration of a server.
#[derive(Debug, Clone)]
pub struct Config {
    /// Access control.
    pub access: Access,
    /// Requests a second of one key that only read; `None` for any number.
    pub reads_a_second: Option<NonZeroU32>,
    /// Requests a second of one key that change something; `None` for any number.
    pub writes_a_second: Option<NonZeroU32>,
    /// The size limit of a spec with its files, or of a snapshot of an agent, in bytes.
    pub upload_bytes: usize,
    /// The size limit of any other body in bytes.
    pub body_bytes: usize,
    /// The limit of open event streams. An eighth is reserved for keys that have none.
    pub streams: usize,
    /// The limit of streams per key.
    pub streams_per_key: usize,
    /// The limits of connections, and their timeouts.
    pub connections: Limits,
    /// The polling interval of streams and of requests that wait for an end.
    pub look: Duration,
    /// Timeout of a call, except uploads and streams: clients wait for 30 s.
    pub answer_within: Duration,
    /// True to allow webhooks to this machine and to private networks.
    pub private_webhooks: bool,
    /// The time after which a silent worker counts as dead.
    pub worker_patience: Duration,
    /// Experiments that are older are removed; `None` to keep all.
    pub keep_for: Option<Duration>,
    /// The oldest experiments are removed while evidence has more bytes than this; `None` for any number.
    pub keep_bytes: Option<u64>,
}

/// Access control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Only callers with a key.
    Keys,
    /// Everybody who reaches the server; only for a server on loopback.
    Open,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            access: Access::Keys,
            reads_a_second: NonZeroU32::new(500),
            writes_a_second: NonZeroU32::new(100),
            upload_bytes: 64 << 20,
            body_bytes: 2 << 20,
            streams: 200,
            streams_per_key: 50,
            connections: Limits::default(),
            look: Duration::from_millis(250),
            answer_within: Duration::from_secs(29),
            private_webhooks: false,
            worker_patience: Duration::from_secs(30),
            keep_for: None,
            keep_bytes: None,
        }
    }
}
