//! The events of a scenario, from the store or from a server.

use jiff::Timestamp;
use scenario::event::Event;
use scenario::trace::TimedEvent;
use store::{RunId, Store};

use crate::client::{Stream, Streamed};
use crate::output::CommandError;

/// Number of events that are read at once.
const AT_ONCE: u64 = 1000;

/// The events of one attempt, in their order.
#[derive(Debug, Default)]
pub(super) struct AttemptEvents {
    attempt: u32,
    events: Vec<(Timestamp, Event)>,
}

impl AttemptEvents {
    fn of(attempt: u32) -> Self {
        Self { attempt, events: Vec::new() }
    }

    /// The events, as a timeline takes them.
    pub(super) fn timed(&self) -> Vec<TimedEvent<'_>> {
        self.events.iter().map(|(at, event)| TimedEvent { at: *at, attempt: self.attempt, event }).collect()
    }
}

/// The events of an attempt that are kept here.
pub(super) async fn stored(
    store: &Store,
    run: RunId,
    scenario: &str,
    attempt: u32,
) -> Result<AttemptEvents, CommandError> {
    let (mut found, mut after) = (AttemptEvents::of(attempt), 0);
    loop {
        let events = store.events(run, after, AT_ONCE).await?;
        let Some(last) = events.last() else { return Ok(found) };
        after = last.number;
        let events = events.into_iter().map(|stored| stored.event);
        let own = events.filter(|event| event.scenario == scenario && event.attempt == attempt);
        found.events.extend(own.map(|event| (event.at, event.happened)));
    }
}

/// The events of an attempt that a server has.
pub(super) async fn streamed(
    stream: &mut Stream<'_>,
    scenario: &str,
    attempt: u32,
) -> Result<AttemptEvents, CommandError> {
    let mut found = AttemptEvents::of(attempt);
    loop {
        let Streamed::Happened(happened) = stream.next().await? else { return Ok(found) };
        if happened.scenario() == scenario && happened.data["attempt"].as_u64() == Some(u64::from(attempt)) {
            let Ok(at) = happened.word("at").parse() else { continue };
            let is_last = matches!(happened.event, Event::Judged { .. });
            found.events.push((at, happened.event));
            // What other scenarios do later is of no interest, and may take long.
            if is_last {
                return Ok(found);
            }
        }
    }
}
