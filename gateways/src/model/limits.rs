//! The largest numbers of a model gateway.

use std::time::Duration;

use scenario::dialect::ReadLimits;

use super::pace::PaceLimits;

/// Number of connections that are served at once; more wait until one ends.
const CONNECTIONS: usize = 512;
/// Timeout for the head of a request, counted from the end of the one before.
const HEAD_WAIT: Duration = Duration::from_secs(60);
/// Timeout for a pause in a body.
const BODY_WAIT: Duration = Duration::from_secs(30);
/// Largest request: 16 MiB. A larger one is answered with 413.
const REQUEST_BYTES: usize = 16 * 1024 * 1024;
/// Memory limit of all requests and answers under way: 512 MiB, where a request counts sixteenfold, because its tree
/// may become as large as that. A request beyond it is answered with 503.
const UNDER_WAY_BYTES: usize = 512 * 1024 * 1024;
/// Number of calls that are kept; the rest are counted.
const KEPT_CALLS: usize = 2_000;
/// Number of bytes of one request or answer that are kept: 1 MiB.
const KEPT_BODY_BYTES: usize = 1024 * 1024;
/// Number of bytes of requests and answers that are kept together: 64 MiB.
const KEPT_BYTES: usize = 64 * 1024 * 1024;
/// Number of tools that are kept.
const KEPT_TOOLS: usize = 10_000;

/// Number of values that a request may have.
pub(super) const MOST_VALUES: usize = 200_000;
/// Largest ratio of the size of a tree of JSON to that of its text.
pub(super) const TREE_FACTOR: usize = 16;
/// Length limit of a text in a record: names, ids, problems.
pub(super) const NAME_BYTES: usize = 1024;
/// Length limit of the arguments or the result of a tool in the record: 64 KiB.
pub(super) const TOOL_TEXT_BYTES: usize = 64 * 1024;
/// Number of bytes of tools that are kept together: 64 MiB.
pub(super) const TOOLS_BYTES: usize = 64 * 1024 * 1024;
/// Number of tools that one answer may call.
const TOOLS_OF_AN_ANSWER: usize = 1_000;
/// Number of misses of a recording that are kept.
pub(super) const KEPT_MISSES: usize = 100;
/// Largest answer of an upstream that is read: 16 MiB. A larger one passes, and its tokens are estimated.
pub(super) const ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Largest event of a stream that is read: 4 MiB.
const EVENT_BYTES: usize = 4 * 1024 * 1024;
/// Limits for reading an answer. Its texts are in the body that is kept, so that only calls of tools are read.
pub(super) const READ: ReadLimits = ReadLimits {
    name_bytes: NAME_BYTES,
    arguments_bytes: TOOL_TEXT_BYTES,
    calls: TOOLS_OF_AN_ANSWER,
    text_bytes: 0,
    event_bytes: EVENT_BYTES,
};
/// Largest head of a request: 64 KiB.
pub(super) const HEAD_BYTES: usize = 64 * 1024;
/// Timeout for connecting to an upstream.
pub(super) const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// Timeout for a pause of an upstream.
pub(super) const READ_WAIT: Duration = Duration::from_secs(300);
/// Timeout for a connection without a request under way. The wait for a head ends most of them before.
pub(super) const IDLE_WAIT: Duration = Duration::from_secs(120);

/// Limits of retries of an upstream's call.
#[derive(Debug, Clone, Copy)]
pub struct RetryLimits {
    /// Time for retries of a call after its first failure. Half of the time that the agent has left, if that is less.
    pub time: Duration,
    /// The wait before the second try; each later one is twice as long.
    pub first_wait: Duration,
    /// The longest wait, unless the upstream asks for a longer one.
    pub longest_wait: Duration,
    /// Timeout for a question of the gateway's own to the upstream.
    pub question_wait: Duration,
    /// Time without a byte of the upstream, before the agent hangs up, after which the gateway asks the upstream if it
    /// is well.
    pub silence: Duration,
}

impl Default for RetryLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(120),
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(8),
            question_wait: Duration::from_secs(20),
            silence: Duration::from_secs(5),
        }
    }
}

/// The largest numbers of a model gateway. The default is right for every scenario; tests take smaller ones.
#[derive(Debug, Clone, Copy)]
pub struct ModelGatewayLimits {
    /// Connections that are served at once.
    pub connections: usize,
    /// Timeout for the head of a request.
    pub head_wait: Duration,
    /// Timeout for a pause in a body.
    pub body_wait: Duration,
    /// Largest request.
    pub request_bytes: usize,
    /// Memory limit of all requests and answers under way.
    pub under_way_bytes: usize,
    /// Number of calls that are kept.
    pub kept_calls: usize,
    /// Number of bytes of one request or answer that are kept.
    pub kept_body_bytes: usize,
    /// Number of bytes of requests and answers that are kept together.
    pub kept_bytes: usize,
    /// Number of tools that are kept.
    pub kept_tools: usize,
    /// Limits of retries of an upstream's call.
    pub retries: RetryLimits,
    /// Pace of an agent without `max_calls` beyond which an overloaded upstream is its own doing.
    pub pace: PaceLimits,
}

impl Default for ModelGatewayLimits {
    fn default() -> Self {
        Self {
            connections: CONNECTIONS,
            head_wait: HEAD_WAIT,
            body_wait: BODY_WAIT,
            request_bytes: REQUEST_BYTES,
            under_way_bytes: UNDER_WAY_BYTES,
            kept_calls: KEPT_CALLS,
            kept_body_bytes: KEPT_BODY_BYTES,
            kept_bytes: KEPT_BYTES,
            kept_tools: KEPT_TOOLS,
            retries: RetryLimits::default(),
            pace: PaceLimits::default(),
        }
    }
}
