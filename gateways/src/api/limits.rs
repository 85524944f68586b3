//! The largest numbers of the API gateway of one sandbox.

use std::time::Duration;

/// Number of connections that are served at once; more wait until one ends.
const CONNECTIONS: usize = 128;
/// Largest body of a request: 4 MiB.
const BODY_BYTES: usize = 4 * 1024 * 1024;
/// Number of values that a body may have: small ones take far more memory than bytes on the wire.
const BODY_VALUES: usize = 50_000;
/// Memory limit of all bodies and answers under way: 32 MiB.
const UNDER_WAY_BYTES: usize = 32 * 1024 * 1024;
/// Timeout for the head of a request, and for a pause in its body.
const WAIT: Duration = Duration::from_secs(30);
/// Number of events that are kept; the rest are counted.
const EVENTS: usize = 5_000;
/// Memory limit of all kept events: 16 MiB.
const EVENTS_BYTES: usize = 16 * 1024 * 1024;
/// Memory limit of one event: 256 KiB. A larger one keeps its short fields.
const EVENT_BYTES: usize = 256 * 1024;
/// Largest head of a request: 64 KiB.
pub(super) const HEAD_BYTES: usize = 64 * 1024;
/// A field of an event that is larger than this is left out when the event is too large.
pub(super) const SHORT_FIELD_BYTES: usize = 1024;
/// Timeout for a connection without a request under way. The wait for a head ends most of them before.
pub(super) const IDLE_WAIT: Duration = Duration::from_secs(120);

/// The largest numbers of one gateway. The default is right for every scenario; tests take smaller ones.
#[derive(Debug, Clone, Copy)]
pub struct ApiLimits {
    /// Connections that are served at once.
    pub connections: usize,
    /// Largest body of a request.
    pub body_bytes: usize,
    /// Number of values that a body may have.
    pub body_values: usize,
    /// Memory limit of all bodies and answers under way.
    pub under_way_bytes: usize,
    /// Timeout for the head of a request, and for a pause in its body.
    pub wait: Duration,
    /// Number of events that are kept.
    pub events: usize,
    /// Memory limit of all kept events.
    pub events_bytes: usize,
    /// Memory limit of one event.
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
