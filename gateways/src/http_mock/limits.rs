//! The largest numbers of the mocks of one sandbox.

use std::time::Duration;

use crate::body::KEPT_BODY_BYTES;
use crate::calls::CallLimits;
use crate::recorder::JournalLimits;

/// Number of connections that are served at once; more wait until one ends.
const CONNECTIONS: usize = 512;
/// Timeout for the head of a request, counted from the end of the one before.
const HEAD_WAIT: Duration = Duration::from_secs(30);
/// Timeout for a pause in a body.
const BODY_WAIT: Duration = Duration::from_secs(30);
/// Timeout for a connection without a request under way. It ends connections that the wait for a head does not see:
/// those of HTTP/2, and those that have not said yet which version they speak.
const IDLE_WAIT: Duration = Duration::from_secs(60);
/// Number of bytes of a body that are read: 64 MiB. A larger one is answered with 413.
const READ_BODY_BYTES: u64 = 64 * 1024 * 1024;
/// Memory limit of all bodies and answers under way: 128 MiB. A request beyond it is answered with 503.
const UNDER_WAY_BYTES: usize = 128 * 1024 * 1024;
/// Largest answer that a template may render: 4 MiB. A larger one is answered with 500.
const RENDERED_BYTES: usize = 4 * 1024 * 1024;
/// Largest head of a request: 64 KiB with HTTP/1, where the server answers 431 without asking us.
pub(super) const HEAD_BYTES: usize = 64 * 1024;
/// The same with HTTP/2, where names and values count as they are and not as they travel.
pub(super) const HTTP2_HEAD_BYTES: u32 = 256 * 1024;
/// Number of requests of one HTTP/2 connection that may be under way.
pub(super) const STREAMS: u32 = 32;
/// Number of bytes that an HTTP/2 connection may send ahead.
pub(super) const WINDOW_BYTES: u32 = 256 * 1024;

/// The largest numbers of the mocks of one sandbox. The default is right for every scenario; tests take smaller ones.
#[derive(Debug, Clone, Copy)]
pub struct MockLimits {
    /// Connections that are served at once.
    pub connections: usize,
    /// Timeout for the head of a request.
    pub head_wait: Duration,
    /// Timeout for a pause in a body.
    pub body_wait: Duration,
    /// Timeout for a connection without a request under way.
    pub idle_wait: Duration,
    /// Number of bytes of a body that are read.
    pub read_body_bytes: u64,
    /// Number of bytes of a body that are kept, and looked at by matchers and templates.
    pub kept_body_bytes: usize,
    /// Memory limit of all bodies and answers under way.
    pub under_way_bytes: usize,
    /// Largest answer that a template may render.
    pub rendered_bytes: usize,
    /// Limits of one mock's journal.
    pub journal: JournalLimits,
    /// Limits of the calls that are kept.
    pub calls: CallLimits,
}

impl Default for MockLimits {
    fn default() -> Self {
        Self {
            connections: CONNECTIONS,
            head_wait: HEAD_WAIT,
            body_wait: BODY_WAIT,
            idle_wait: IDLE_WAIT,
            read_body_bytes: READ_BODY_BYTES,
            kept_body_bytes: KEPT_BODY_BYTES,
            under_way_bytes: UNDER_WAY_BYTES,
            rendered_bytes: RENDERED_BYTES,
            journal: JournalLimits::default(),
            calls: CallLimits::default(),
        }
    }
}
