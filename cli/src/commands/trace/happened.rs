//! The phases of a scenario, and what was noted in between, from the events that were written down.

use jiff::Timestamp;
use scenario::trace::{Kind, Moment};
use scenario::untrusted;
use serde_json::Value as Json;
use store::{RunId, Store};

use crate::client::Stream;
use crate::output::CommandError;

/// How many events are read at once.
const AT_ONCE: u64 = 1000;

/// What the events of one attempt say.
#[derive(Debug, Default)]
pub(super) struct Phases {
    events: Vec<(Timestamp, String, Json)>,
}

impl Phases {
    /// The whole timeline: what events say, and what the evidence says about the time since the agent started.
    pub(super) fn with(self, evidence: Vec<Moment>) -> Vec<Moment> {
        let Some((first, ..)) = self.events.first() else { return evidence };
        let first = *first;
        let offset = |at: Timestamp| u64::try_from(at.duration_since(first).as_millis()).unwrap_or(0);
        let acting = self.events.iter().find(|(_, kind, _)| kind == "agent_started").map_or(0, |(at, ..)| offset(*at));
        let mut moments: Vec<_> =
            self.events.iter().filter_map(|(at, kind, body)| moment(offset(*at), kind, body)).collect();
        moments.extend(evidence.into_iter().map(|moment| Moment { at_ms: moment.at_ms + acting, ..moment }));
        // A phase stands before what happened in it.
        moments.sort_by_key(|moment| (moment.at_ms, moment.kind != Kind::Phase));
        moments
    }

    fn add(&mut self, at: Timestamp, kind: &str, body: &Json) {
        self.events.push((at, kind.to_owned(), body.clone()));
    }
}

/// The events of an attempt that are kept here.
pub(super) async fn stored(store: &Store, run: RunId, scenario: &str, attempt: u32) -> Result<Phases, CommandError> {
    let (mut phases, mut after) = (Phases::default(), 0);
    loop {
        let events = store.events(run, after, AT_ONCE).await?;
        let Some(last) = events.last() else { return Ok(phases) };
        after = last.number;
        for stored in events.iter().map(|stored| &stored.event) {
            if stored.scenario == scenario && stored.attempt == attempt {
                phases.add(stored.at, &stored.kind, &stored.body);
            }
        }
    }
}

/// The events of an attempt that a server has.
pub(super) async fn streamed(stream: &mut Stream<'_>, scenario: &str, attempt: u64) -> Result<Phases, CommandError> {
    let mut phases = Phases::default();
    loop {
        let happened = stream.next().await?;
        if happened.is_done() {
            return Ok(phases);
        }
        if happened.scenario() == scenario && happened.data["attempt"].as_u64() == Some(attempt) {
            let Ok(at) = happened.word("at").parse() else { continue };
            phases.add(at, &happened.kind, &happened.data["body"]);
            // What other scenarios do later is of no interest, and may take long.
            if happened.kind == "judged" {
                return Ok(phases);
            }
        }
    }
}

fn moment(at_ms: u64, kind: &str, body: &Json) -> Option<Moment> {
    let said = |name: &str| untrusted::line(body[name].as_str().unwrap_or_default(), 200);
    let took = body["ms"].as_u64().unwrap_or(0);
    let (kind, what, took, failed) = match kind {
        "phase_ended" => (Kind::Phase, said("phase"), took, false),
        "service_ready" => (Kind::Service, format!("{} is ready", said("service")), took, false),
        "pulling" => (Kind::Note, format!("pulling {}", said("image")), 0, false),
        "probed" => (Kind::Probe, said("invariant"), 0, false),
        "limit_fired" => (Kind::Note, format!("limit {}: {}", said("limit"), said("detail")), 0, true),
        "agent_ended" => (Kind::Note, format!("the agent ended: {}", said("exit")), 0, false),
        "note" => (Kind::Note, said("text"), 0, false),
        "sandbox_kept" => (Kind::Note, format!("the sandbox {} was kept", said("name")), 0, false),
        "judged" => (Kind::Note, format!("judged: {}", said("status")), 0, body["status"] != "pass"),
        _ => return None,
    };
    // These are told when they are over.
    Some(Moment { at_ms: at_ms.saturating_sub(took), duration_ms: took, kind, what, failed })
}
