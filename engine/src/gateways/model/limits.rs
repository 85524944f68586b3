//! The largest numbers of a model gateway.

use std::time::Duration;

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
pub(super) const TOOLS_OF_AN_ANSWER: usize = 1_000;
/// How many misses of a recording are kept.
pub(super) const KEPT_MISSES: usize = 100;
/// How large an answer of an upstream may be for it to be read: 16 MiB. A larger one passes, and its tokens are estimated.
pub(super) const ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// How large one event of a stream may be for it to be read: 4 MiB.
pub(super) const EVENT_BYTES: usize = 4 * 1024 * 1024;
/// How large the head of a request may be: 64 KiB.
pub(super) const HEAD_BYTES: usize = 64 * 1024;
/// How long to connect to an upstream.
pub(super) const CONNECT_WAIT: Duration = Duration::from_secs(10);
/// How long an upstream may pause.
pub(super) const READ_WAIT: Duration = Duration::from_secs(300);
/// How long to wait after a failed `accept`, so that a lack of descriptors does not become a busy loop.
pub(super) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

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
        }
    }
}
