//! The largest numbers of the API gateway of one sandbox.

use std::time::Duration;

/// How many connections are served at once; more wait until one ends.
const CONNECTIONS: usize = 128;
/// How large the body of a request may be: 4 MiB.
const BODY_BYTES: usize = 4 * 1024 * 1024;
/// How many values a body may have: small ones take far more memory than bytes on the wire.
const BODY_VALUES: usize = 50_000;
/// How much memory bodies and answers under way may take together: 32 MiB.
const UNDER_WAY_BYTES: usize = 32 * 1024 * 1024;
/// How long the head of a request may take, and how long its body may pause.
const WAIT: Duration = Duration::from_secs(30);
/// How many events are kept; the rest are counted.
const EVENTS: usize = 5_000;
/// How much memory all kept events may take: 16 MiB.
const EVENTS_BYTES: usize = 16 * 1024 * 1024;
/// How much memory one event may take: 256 KiB. A larger one keeps its short fields.
const EVENT_BYTES: usize = 256 * 1024;
/// How large the head of a request may be: 64 KiB.
pub(super) const HEAD_BYTES: usize = 64 * 1024;
/// A field of an event that is larger than this is left out when the event is too large.
pub(super) const SHORT_FIELD_BYTES: usize = 1024;
/// How long a connection may have no request under way. The wait for a head ends most of them before.
pub(super) const IDLE_WAIT: Duration = Duration::from_secs(120);

/// The largest numbers of one gateway. The default is right for every scenario; tests take smaller ones.
#[derive(Debug, Clone, Copy)]
pub struct ApiLimits {
    /// Connections that are served at once.
    pub connections: usize,
    /// How large the body of a request may be.
    pub body_bytes: usize,
    /// How many values a body may have.
    pub body_values: usize,
    /// How much memory bodies and answers under way may take together.
    pub under_way_bytes: usize,
    /// How long the head of a request may take, and how long its body may pause.
    pub wait: Duration,
    /// How many events are kept.
    pub events: usize,
    /// How much memory all kept events may take.
    pub events_bytes: usize,
    /// How much memory one event may take.
    pub event_bytes: usize,
}

impl Default for ApiLimits {
    fn default() -> Self {
        Self {
            connections: CONNECTIONS,
            body_bytes: BODY_BYTES,
            body_values: BODY_VALUES,
            under_way_bytes: UNDER_WAY_BYTES,
            wait: WAIT,
            events: EVENTS,
            events_bytes: EVENTS_BYTES,
            event_bytes: EVENT_BYTES,
        }
    }
}
