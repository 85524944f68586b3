//! How a server behaves.

use std::num::NonZeroU32;
use std::time::Duration;

use listener::Limits;

/// How a server behaves.
#[derive(Debug, Clone)]
pub struct Config {
    /// Who may ask.
    pub access: Access,
    /// Requests a second of one key that only read; `None` for any number.
    pub reads_a_second: Option<NonZeroU32>,
    /// Requests a second of one key that change something; `None` for any number.
    pub writes_a_second: Option<NonZeroU32>,
    /// How many bytes a spec with its files, or a snapshot of an agent, may have.
    pub upload_bytes: usize,
    /// How many bytes any other body may have.
    pub body_bytes: usize,
    /// How many streams of events may be open at once. An eighth is reserved for keys that have none.
    pub streams: usize,
    /// How many of them one key may have.
    pub streams_per_key: usize,
    /// How many connections there may be, and how long they may take.
    pub connections: Limits,
    /// How often a stream, or who waits for an end, looks for news.
    pub look: Duration,
    /// How long a call may take, uploads and streams aside: clients wait for 30 s.
    pub answer_within: Duration,
    /// Whether webhooks may lead to this machine and to private networks.
    pub private_webhooks: bool,
    /// How long a worker is thought alive that was not heard of.
    pub worker_patience: Duration,
    /// Experiments that are older are removed; `None` to keep all.
    pub keep_for: Option<Duration>,
    /// The oldest experiments are removed while evidence has more bytes than this; `None` for any number.
    pub keep_bytes: Option<u64>,
}

/// Who may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Who has a key.
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
