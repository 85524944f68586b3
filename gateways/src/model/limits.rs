//! The largest numbers of a model gateway.

use std::time::Duration;

use scenario::dialect::ReadLimits;

use super::pace::PaceLimits;

/// How many connections are served at once; more wait until one ends.
const CONNECTIONS: usize = 512;
/// How long the head of a request may take, counted from the end of the one before.
const HEAD_WAIT: Duration = Duration::from_secs(60);
/// How long a body may pause.
const BODY_WAIT: Duration = Duration::from_secs(30);
/// How large a request may be: 16 MiB. A larger one is answered with 413.
const REQUEST_BYTES: usize = 16 * 1024 * 1024;
/// How much memory requests and answers under way may take together: 512 MiB, where a request counts sixteenfold, because its
/// tree may become as large as that. A request beyond it is answered with 503.
const UNDER_WAY_BYTES: usize = 512 * 1024 * 1024;
/// How many calls are kept; the rest are counted.
const KEPT_CALLS: usize = 2_000;
/// How much of one request or answer is kept: 1 MiB.
const KEPT_BODY_BYTES: usize = 1024 * 1024;
/// How many bytes of requests and answers are kept together: 64 MiB.
const KEPT_BYTES: usize = 64 * 1024 * 1024;
/// How many tools are kept.
const KEPT_TOOLS: usize = 10_000;

/// How many values a request may have.
pub(super) const MOST_VALUES: usize = 200_000;
/// How much larger than its text a tree of JSON may be.
pub(super) const TREE_FACTOR: usize = 16;
/// How long a text of a record may be: names, ids, problems.
pub(super) const NAME_BYTES: usize = 1024;
/// How long the arguments or the result of a tool may be in the record: 64 KiB.
pub(super) const TOOL_TEXT_BYTES: usize = 64 * 1024;
/// How many bytes of tools are kept together: 64 MiB.
pub(super) const TOOLS_BYTES: usize = 64 * 1024 * 1024;
/// How many tools one answer may call.
const TOOLS_OF_AN_ANSWER: usize = 1_000;
/// How many misses of a recording are kept.
pub(super) const KEPT_MISSES: usize = 100;
/// How large an answer of an upstream may be for it to be read: 16 MiB. A larger one passes, and its tokens are estimated.
pub(super) const ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// How large one event of a stream may be for it to be read: 4 MiB.
const EVENT_BYTES: usize = 4 * 1024 * 1024;
/// The bounds of what is read of an answer. Its texts are in the body that is kept, so that only calls of tools are read.
pub(super) const READ: ReadLimits = ReadLimits {
    name_bytes: NAME_BYTES,
    arguments_bytes: TOOL_TEXT_BYTES,
    calls: TOOLS_OF_AN_ANSWER,
    text_bytes: 0,
    event_bytes: EVENT_BYTES,
};
/// How large the head of a request may be: 64 KiB.
pub(super) const HEAD_BYTES: usize = 64 * 1024;
/// How long to connect to an upstream.
pub(super) const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// How long an upstream may pause.
pub(super) const READ_WAIT: Duration = Duration::from_secs(300);
/// How long a connection may have no request under way. The wait for a head ends most of them before.
pub(super) const IDLE_WAIT: Duration = Duration::from_secs(120);

/// When a call of an upstream is tried again.
#[derive(Debug, Clone, Copy)]
pub struct RetryLimits {
    /// How long a call may be tried again after its first failure. Half of the time that the agent has left, if that is less.
    pub time: Duration,
    /// The wait before the second try; each later one is twice as long.
    pub first_wait: Duration,
    /// The longest wait, unless the upstream asks for a longer one.
    pub longest_wait: Duration,
    /// How long the upstream may take for a question of the gateway's own.
    pub question_wait: Duration,
    /// How long an upstream must have been silent when the agent hangs up, for it to be asked whether it is well.
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
    /// How long the head of a request may take.
    pub head_wait: Duration,
    /// How long a body may pause.
    pub body_wait: Duration,
    /// How large a request may be.
    pub request_bytes: usize,
    /// How much memory requests and answers under way may take together.
    pub under_way_bytes: usize,
    /// How many calls are kept.
    pub kept_calls: usize,
    /// How much of one request or answer is kept.
    pub kept_body_bytes: usize,
    /// How many bytes of requests and answers are kept together.
    pub kept_bytes: usize,
    /// How many tools are kept.
    pub kept_tools: usize,
    /// When a call of an upstream is tried again.
    pub retries: RetryLimits,
    /// How much an agent without `max_calls` may ask before an overloaded upstream is its own doing.
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
