//! Channel for the events of a run. Progress, logs and the store get the same events.

use std::fmt;
use std::sync::Arc;

pub use scenario::event::{Event, Phase};

/// Receiver of events.
#[derive(Clone)]
pub struct Events(Arc<dyn Fn(Event) + Send + Sync>);

impl Events {
    /// Events go to this function, which must not block.
    pub fn to(receiver: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(receiver))
    }

    /// Events go nowhere.
    #[must_use]
    pub fn nowhere() -> Self {
        Self::to(|_| ())
    }

    /// Sends an event.
    pub fn tell(&self, event: Event) {
        (self.0)(event);
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Events")
    }
}
