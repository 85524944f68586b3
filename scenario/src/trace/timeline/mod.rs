//! All moments of a scenario, in the order of time: the events from workers, and the evidence.
//!
//! Pages and the terminal show this one list. Only where each moment is found is noted, so that ten thousand of them are cheap:
//! those that are shown are looked at closely.

mod faults;
#[cfg(test)]
mod tests;
mod words;

use std::cmp::Reverse;

use jiff::Timestamp;
use serde::Serialize;

use crate::event::Event;
use crate::evidence::{AuditEvent, Evidence, MergedCall};
pub use words::{TimelineLine, timeline_lines};

/// An event from a worker, with its time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimedEvent<'a> {
    /// Its time.
    pub at: Timestamp,
    /// In which attempt.
    pub attempt: u32,
    /// The event.
    pub event: &'a Event,
}

/// A moment of the timeline; its times are in milliseconds since the agent started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment<'a> {
    /// Its time; before the agent it is negative.
    pub at_ms: i64,
    /// Its duration in milliseconds; 0 when it was not measured.
    pub duration_ms: u64,
    /// The subject.
    pub kind: Kind,
    /// True for a phase that was broken off.
    pub broken_off: bool,
    /// The source of its data.
    pub source: Source<'a>,
}

/// The subject of a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A part of the scenario's life.
    Phase,
    /// Another event from a worker.
    Event,
    /// A call of the model.
    Model,
    /// A tool that the model called.
    Tool,
    /// A request to a mock, or another call over HTTP.
    Http,
    /// A name, or a connection to the outside.
    Network,
    /// A write to a database.
    Database,
    /// A command.
    Command,
    /// A question to the sandbox after the agent ended.
    Probe,
}

impl Kind {
    /// Every kind, in the order in which they are offered.
    pub const ALL: [Self; 9] = [
        Self::Phase,
        Self::Model,
        Self::Tool,
        Self::Http,
        Self::Database,
        Self::Command,
        Self::Network,
        Self::Probe,
        Self::Event,
    ];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Phase => "phase",
            Self::Event => "event",
            Self::Model => "model",
            Self::Tool => "tool",
            Self::Http => "http",
            Self::Network => "network",
            Self::Database => "database",
            Self::Command => "command",
            Self::Probe => "probe",
        }
    }
}

/// The source of a moment's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source<'a> {
    /// The event with this index.
    Event(usize),
    /// The call of the model with this index.
    Model(usize),
    /// A tool that the model called.
    Tool(MergedCall<'a>),
    /// The request to this mock, with this index.
    Exchange(&'a str, usize),
    /// The entry of the audit record with this index.
    Audit(usize),
    /// The answers of this invariant's probes.
    Probe(&'a str),
    /// The fault with this index, of a call that has no moment of its own: a statement, a connection, a lookup.
    Fault(usize),
}

/// Returns the time at which the agent started, if it did.
#[must_use]
pub fn agent_started(evidence: Option<&Evidence>, events: &[TimedEvent<'_>]) -> Option<Timestamp> {
    let told = || events.iter().find(|timed| *timed.event == Event::AgentStarted).map(|timed| timed.at);
    evidence.and_then(|evidence| evidence.agent.started_at).or_else(told)
}

/// All moments, in the order of time.
#[must_use]
pub fn timeline<'a>(evidence: Option<&'a Evidence>, events: &[TimedEvent<'_>]) -> Vec<Moment<'a>> {
    let began = agent_started(evidence, events).or_else(|| Some(events.first()?.at));
    let since = |at: Timestamp| began.map_or(0, |began| at.as_millisecond() - began.as_millisecond());
    let mut all = Vec::new();
    for (index, timed) in events.iter().enumerate() {
        if !is_told_better(events, index, evidence.is_some()) {
            all.push(of_event(events, index, since(timed.at)));
        }
    }
    if let Some(evidence) = evidence {
        of_model(evidence, &mut all);
        of_tools(evidence, &mut all);
        of_mocks(evidence, &mut all);
        of_audit(evidence, &mut all);
        of_probes(evidence, events, &since, &mut all);
        faults::of_faults(evidence, &mut all);
    }
    all.sort_by_key(|moment| (moment.at_ms, Reverse(moment.duration_ms)));
    all
}

/// Returns true if other data shows the same and more: the end of a phase shows its beginning, and the evidence shows
/// the probes.
fn is_told_better(events: &[TimedEvent<'_>], index: usize, has_evidence: bool) -> bool {
    let TimedEvent { attempt, event, .. } = events[index];
    match event {
        Event::PhaseStarted(phase) => events[index..].iter().any(|later| {
            later.attempt == attempt && matches!(later.event, Event::PhaseEnded(ended, _) if ended == phase)
        }),
        Event::Probed { .. } => has_evidence,
        _ => false,
    }
}

/// Returns the moment of an event. A phase appears with its end event, but its time is that of its start; one without
/// an end was broken off by the next event that comes after phases.
fn of_event<'a>(events: &[TimedEvent<'_>], index: usize, at_ms: i64) -> Moment<'a> {
    let TimedEvent { at, event, .. } = events[index];
    let source = Source::Event(index);
    match event {
        Event::PhaseEnded(_, after) => {
            let took = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
            Moment { at_ms: at_ms - signed(took), ..moment(0, took, Kind::Phase, source) }
        }
        Event::PhaseStarted(_) => {
            let end = broken_off(events, index);
            let took = end.map_or(0, |end| end.at.as_millisecond().abs_diff(at.as_millisecond()));
            Moment { at_ms, broken_off: end.is_some(), ..moment(0, took, Kind::Phase, source) }
        }
        _ => Moment { at_ms, ..moment(0, 0, Kind::Event, source) },
    }
}

/// Finds the event that shows that a phase without an end of its own was broken off: another phase, or the end of the
/// attempt.
fn broken_off<'e>(events: &[TimedEvent<'e>], index: usize) -> Option<TimedEvent<'e>> {
    let attempt = events[index].attempt;
    let mut later = events[index + 1..].iter().filter(|later| later.attempt == attempt);
    later.find(|later| matches!(later.event, Event::PhaseStarted(_)) || later.event.ends_attempt()).copied()
}

fn of_model<'a>(evidence: &'a Evidence, all: &mut Vec<Moment<'a>>) {
    let Some(record) = &evidence.model else { return };
    for (index, call) in record.calls.iter().enumerate() {
        all.push(moment(call.at_ms, call.duration_ms, Kind::Model, Source::Model(index)));
    }
}

/// A tool is used from the request to the tool gateway until its answer; elsewhere, from the end of the answer that called it
/// until its result is sent.
fn of_tools<'a>(evidence: &'a Evidence, all: &mut Vec<Moment<'a>>) {
    for call in evidence.call_trace.sightings() {
        all.push(moment(call.seen.at_ms, call.took_ms(), Kind::Tool, Source::Tool(call)));
    }
}

fn of_mocks<'a>(evidence: &'a Evidence, all: &mut Vec<Moment<'a>>) {
    for (service, journal) in &evidence.journals {
        for (index, exchange) in journal.exchanges.iter().enumerate() {
            all.push(moment(exchange.at_ms, 0, Kind::Http, Source::Exchange(service, index)));
        }
    }
}

/// Adds the audit record, without entries that the model's record and the mocks' journals show better, and without
/// files, which are shown by themselves. A mock that does not record has no journal.
fn of_audit<'a>(evidence: &'a Evidence, all: &mut Vec<Moment<'a>>) {
    for (index, audited) in evidence.audit.iter().flatten().enumerate() {
        let kind = match &audited.event {
            AuditEvent::FileWrite { .. } => continue,
            AuditEvent::ModelCall { .. } | AuditEvent::ToolCall { .. } if evidence.model.is_some() => continue,
            AuditEvent::HttpCall { service: Some(service), .. } if evidence.journals.contains_key(service) => continue,
            AuditEvent::ModelCall { .. } => Kind::Model,
            AuditEvent::ToolCall { .. } => Kind::Tool,
            AuditEvent::HttpCall { .. } => Kind::Http,
            AuditEvent::DbWrite { .. } => Kind::Database,
            AuditEvent::Command { .. } => Kind::Command,
            AuditEvent::Dns { .. } | AuditEvent::Egress { .. } | AuditEvent::EgressDenied { .. } => Kind::Network,
        };
        // What has no time of its own was seen when the agent had ended.
        all.push(moment(audited.at_ms.unwrap_or(evidence.agent.wall_ms), 0, kind, Source::Audit(index)));
    }
}

fn of_probes<'a>(
    evidence: &'a Evidence,
    events: &[TimedEvent<'_>],
    since: &impl Fn(Timestamp) -> i64,
    all: &mut Vec<Moment<'a>>,
) {
    for name in evidence.answers.keys() {
        let is_own = |timed: &&TimedEvent<'_>| matches!(timed.event, Event::Probed { invariant } if invariant == name);
        let at_ms = events.iter().find(is_own).map_or(signed(evidence.agent.wall_ms), |timed| since(timed.at));
        all.push(Moment { at_ms, ..moment(0, 0, Kind::Probe, Source::Probe(name)) });
    }
}

fn moment(at_ms: u64, duration_ms: u64, kind: Kind, source: Source<'_>) -> Moment<'_> {
    Moment { at_ms: signed(at_ms), duration_ms, kind, broken_off: false, source }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX / 4)
}
