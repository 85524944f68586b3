//! Log of the network traffic that gateways saw, as audit events: bounded, and the rest counted.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use scenario::evidence::{AuditEvent, Audited};

use super::clock::Clock;

/// Events of one kind, in the order in which they were seen.
#[derive(Debug)]
pub struct Sightings {
    most: usize,
    clock: Arc<Clock>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    kept: Vec<Audited>,
    counted: u64,
    closed: bool,
}

impl Sightings {
    /// Makes a log of at most this many events, with their times by this clock.
    #[must_use]
    pub fn new(most: usize, clock: Arc<Clock>) -> Self {
        Self { most, clock, state: Mutex::default() }
    }

    /// Writes an event down, or counts it when there is no room for it.
    pub fn record(&self, event: AuditEvent) {
        let mut state = self.state();
        if state.closed {
            return;
        }
        if state.kept.len() < self.most {
            state.kept.push(Audited { at_ms: Some(self.clock.elapsed_ms()), event });
        } else {
            state.counted += 1;
        }
    }

    /// Forgets everything: events before the agent started are not its doing.
    pub fn clear(&self) {
        *self.state() = State::default();
    }

    /// Ends the record: later events are ignored.
    pub fn close(&self) {
        self.state().closed = true;
    }

    /// The events that are kept.
    #[must_use]
    pub fn kept(&self) -> Vec<Audited> {
        self.state().kept.clone()
    }

    /// Returns the number of events that were counted only.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.state().counted
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use scenario::evidence::AuditEvent;

    use super::{Arc, Sightings};

    fn event(name: &str) -> AuditEvent {
        AuditEvent::Dns { name: name.to_owned(), kind: "A".to_owned(), answer: None }
    }

    #[test]
    fn what_finds_no_room_is_counted_and_nothing_is_taken_after_the_end() {
        let sightings = Sightings::new(2, Arc::default());
        sightings.record(event("setup"));
        sightings.clear();
        ["a", "b", "c", "d"].into_iter().for_each(|name| sightings.record(event(name)));
        sightings.close();
        sightings.record(event("e"));
        let kept: Vec<_> = sightings.kept().into_iter().map(|audited| audited.event).collect();
        assert_eq!((kept, sightings.counted()), (vec![event("a"), event("b")], 2));
    }
}
