//! The only place that asks for the time.

use jiff::Timestamp;
use store::Clock;

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "everybody else is told the time by this")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
