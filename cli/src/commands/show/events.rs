//! Shows the events of a run.

use jiff::Timestamp;
use scenario::untrusted;
use store::{NewEvent, StoredScenario};

use super::{Shown, attempts};
use crate::output::{CommandError, Output};
use crate::verdict_lines::MOST_LINE;

/// Number of events that are read at once.
const AT_ONCE: u64 = 1000;

/// Prints a line for each event of a run, or of one of its scenarios.
pub(super) async fn print(
    shown: &Shown,
    only: Option<&StoredScenario>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let run = attempts::acted(&shown.home.store, &shown.run).await?.id;
    let (mut after, mut first) = (0, None);
    loop {
        let events = shown.home.store.events(run, after, AT_ONCE).await?;
        let Some(last) = events.last() else { return Ok(()) };
        after = last.number;
        for stored in &events {
            let event = &stored.event;
            if only.is_none_or(|scenario| scenario.scenario.id.as_str() == event.scenario) {
                output.line(line(event, *first.get_or_insert(event.at)))?;
            }
        }
    }
}

fn line(event: &NewEvent, first: Timestamp) -> String {
    let seconds = event.at.duration_since(first).as_secs_f64();
    let body = match event.happened.body() {
        serde_json::Value::Object(fields) if fields.is_empty() => String::new(),
        body => format!(" {}", untrusted::line(&body.to_string(), MOST_LINE)),
    };
    let NewEvent { scenario, attempt, happened, .. } = event;
    format!("{seconds:>9.3} s  {scenario}  attempt {attempt}  {}{body}", untrusted::line(happened.kind(), MOST_LINE))
}
