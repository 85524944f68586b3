//! Modes of faults: the properties of each that the engine needs.

use std::time::Duration;

use scenario::spec::sections::chaos::ContextAttack;
use scenario::spec::sections::{LlmMode, NetworkMode, ServiceMode, ToolMode};

use super::bucket::Bucket;
use super::rule::Pauses;
use super::world::WorldMode;

/// The properties of a mode that the engine needs.
pub(crate) trait FaultMode {
    /// Its name in the spec.
    fn word(&self) -> &'static str;
    /// True when the call reaches the service or the model all the same.
    fn reaches(&self) -> bool;
    /// Returns the wait that the agent is asked for.
    fn retry_after_ms(&self) -> Option<u64> {
        None
    }
    /// The delay of a mode that delays and leaves the rest to later rules, and how much longer it may be, in milliseconds.
    fn delay(&self) -> Option<(u64, u64)> {
        None
    }
    /// The pauses of a mode that slows the body of an answer down and leaves the rest to later rules.
    fn pauses(&self) -> Option<Pauses> {
        None
    }
    /// The calls that are allowed, for a mode that limits their rate.
    fn bucket(&self) -> Option<Bucket> {
        None
    }
}

impl FaultMode for ToolMode {
    fn word(&self) -> &'static str {
        Self::word(self)
    }

    fn reaches(&self) -> bool {
        match self {
            Self::Timeout(_)
            | Self::Error(_)
            | Self::Malformed(_)
            | Self::MaliciousResponse(_)
            | Self::ConnectionReset(_)
            | Self::ConnectionRefused(_)
            | Self::HtmlErrorPage(_)
            | Self::Unauthorized(_)
            | Self::RateLimit(_)
            | Self::ToolError(_)
            | Self::Vanish(_)
            | Self::SessionLost(_)
            | Self::ListHang(_) => false,
            Self::Slow(_)
            | Self::Truncated(_)
            | Self::Empty(_)
            | Self::LostResponse(_)
            | Self::WrongData(_)
            | Self::WrongEntity(_)
            | Self::DropFields(_)
            | Self::SchemaViolation(_)
            | Self::LargeResponse(_)
            | Self::Dribble(_)
            | Self::RugPull(_)
            | Self::SlowProgress(_) => true,
        }
    }

    fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::Error(error) => {
                let given = error.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("retry-after"));
                let seconds = given.and_then(|(_, value)| value.trim().parse::<u64>().ok());
                seconds.or((error.error_code.get() == 429).then_some(1)).map(|seconds| seconds.saturating_mul(1000))
            }
            Self::RateLimit(_) => Some(1000),
            _ => None,
        }
    }

    fn delay(&self) -> Option<(u64, u64)> {
        match self {
            Self::Slow(slow) => Some((milliseconds(slow.delay_ms.get()), milliseconds(slow.jitter_ms.get()))),
            _ => None,
        }
    }

    fn bucket(&self) -> Option<Bucket> {
        match self {
            Self::RateLimit(limit) => Some(Bucket::new(limit.rps.get(), limit.at_once.get())),
            _ => None,
        }
    }
}

impl FaultMode for LlmMode {
    fn word(&self) -> &'static str {
        Self::word(self)
    }

    fn reaches(&self) -> bool {
        match self {
            Self::Timeout(_)
            | Self::RateLimit(_)
            | Self::Error(_)
            | Self::BackendDown(_)
            | Self::ContextLengthExceeded(_) => false,
            Self::TruncatedResponse(_)
            | Self::CutStream(_)
            | Self::HangStream(_)
            | Self::ContentFilter(_)
            | Self::Empty(_)
            | Self::Garbage(_)
            | Self::ResponseDrift(_)
            | Self::ToolArguments(_)
            | Self::Delay(_)
            | Self::SlowFirstToken(_)
            | Self::SlowStream(_) => true,
        }
    }

    fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::RateLimit(limit) => u64::try_from(limit.retry_after.get()).ok().map(|seconds| seconds * 1000),
            _ => None,
        }
    }

    fn delay(&self) -> Option<(u64, u64)> {
        match self {
            Self::Delay(delay) => Some((milliseconds(delay.delay_ms.get()), 0)),
            _ => None,
        }
    }

    fn pauses(&self) -> Option<Pauses> {
        let pause = |count| Duration::from_millis(milliseconds(count));
        match self {
            Self::SlowFirstToken(slow) => Some(Pauses { first: pause(slow.delay_ms.get()), ..Pauses::default() }),
            Self::SlowStream(slow) => Some(Pauses { each: pause(slow.chunk_delay_ms.get()), ..Pauses::default() }),
            _ => None,
        }
    }
}

impl FaultMode for ContextAttack {
    fn word(&self) -> &'static str {
        self.kind.word()
    }

    fn reaches(&self) -> bool {
        true
    }
}

impl FaultMode for NetworkMode {
    fn word(&self) -> &'static str {
        Self::word(self)
    }

    fn reaches(&self) -> bool {
        match self {
            Self::Partition(_) | Self::DnsFailure(_) => false,
            Self::Latency(_) | Self::Bandwidth(_) => true,
        }
    }
}

impl FaultMode for WorldMode {
    fn word(&self) -> &'static str {
        match self {
            Self::File(mode) => mode.word(),
            Self::Clock(mode) => mode.word(),
        }
    }

    /// A call that begins such a fault is answered as usual.
    fn reaches(&self) -> bool {
        true
    }
}

impl FaultMode for ServiceMode {
    fn word(&self) -> &'static str {
        Self::word(self)
    }

    fn reaches(&self) -> bool {
        match self {
            Self::Refuse(_)
            | Self::Reset(_)
            | Self::Hang(_)
            | Self::KillSession(_)
            | Self::Error(_)
            | Self::ReadOnly(_)
            | Self::Restart(_) => false,
            Self::Slow(_) | Self::CommitUnknown(_) | Self::Pause(_) => true,
        }
    }

    fn delay(&self) -> Option<(u64, u64)> {
        match self {
            Self::Slow(slow) => Some((milliseconds(slow.delay_ms.get()), milliseconds(slow.jitter_ms.get()))),
            _ => None,
        }
    }
}

/// A number of the spec, which is never negative, as milliseconds or a count.
#[must_use]
pub fn milliseconds(count: i64) -> u64 {
    u64::try_from(count).unwrap_or(0)
}
