//! The moments of a scenario, put in order. Only where each is found is noted, so that ten thousand of them are cheap: those on
//! a page are looked at closely.

use jiff::Timestamp;
use scenario::evidence::{AuditEvent, Evidence};
use store::StoredEvent;

/// What a moment is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A part of the scenario's life.
    Phase,
    /// Something that the worker told.
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

/// Every kind, in the order in which they are offered.
pub(super) const KINDS: [Kind; 9] = [
    Kind::Phase,
    Kind::Model,
    Kind::Tool,
    Kind::Http,
    Kind::Database,
    Kind::Command,
    Kind::Network,
    Kind::Probe,
    Kind::Event,
];

impl Kind {
    /// The word for it.
    pub(super) const fn word(self) -> &'static str {
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

/// The events with which an attempt ends.
const ENDS: [&str; 5] = ["judged", "retrying", "released", "given_up", "lost"];

/// Where all about a moment is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source<'a> {
    /// The event with this index.
    Event(usize),
    /// The call of the model with this index.
    Model(usize),
    /// The tool with this index.
    Tool(usize),
    /// The request to this mock, with this index.
    Exchange(&'a str, usize),
    /// What was written down, with this index.
    Audit(usize),
    /// The answers of this invariant's probes.
    Probe(&'a str),
}

/// Something that happened, in milliseconds since the agent started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment<'a> {
    /// When; before the agent it is negative.
    pub(super) at: i64,
    /// How long it took.
    pub(super) took: u64,
    /// What it is about.
    pub(super) kind: Kind,
    /// Whether it was broken off.
    pub(super) failed: bool,
    /// Where all about it is.
    pub(super) source: Source<'a>,
}

/// When the agent started, if it did.
pub(super) fn agent_started(evidence: Option<&Evidence>, events: &[StoredEvent]) -> Option<Timestamp> {
    let told = || events.iter().find(|stored| stored.event.kind == "agent_started").map(|stored| stored.event.at);
    evidence.and_then(|evidence| evidence.agent.started_at).or_else(told)
}

/// All moments, in the order of time.
pub(super) fn moments<'a>(evidence: Option<&'a Evidence>, events: &'a [StoredEvent]) -> Vec<Moment<'a>> {
    let began = agent_started(evidence, events).or_else(|| Some(events.first()?.event.at));
    let mut all = Vec::new();
    let since =
        |stored: &StoredEvent| began.map_or(0, |began| stored.event.at.as_millisecond() - began.as_millisecond());
    for (index, stored) in events.iter().enumerate() {
        if !is_told_better(events, index, evidence.is_some()) {
            all.push(of_event(events, index, since(stored)));
        }
    }
    if let Some(evidence) = evidence {
        of_model(evidence, &mut all);
        of_mocks(evidence, &mut all);
        of_audit(evidence, &mut all);
        of_probes(evidence, events, &since, &mut all);
    }
    all.sort_by_key(|moment| (moment.at, std::cmp::Reverse(moment.took)));
    all
}

/// Whether another moment tells the same and more: that a phase ended, that it began; and evidence, what was asked.
fn is_told_better(events: &[StoredEvent], index: usize, has_evidence: bool) -> bool {
    let event = &events[index].event;
    let ends_it = |later: &StoredEvent| {
        later.event.kind == "phase_ended"
            && later.event.attempt == event.attempt
            && later.event.body["phase"] == event.body["phase"]
    };
    match event.kind.as_str() {
        "phase_started" => events[index..].iter().any(ends_it),
        "probed" => has_evidence,
        _ => false,
    }
}

/// The moment of an event. A phase is told by its end, but began when it did; one that did not come to its end was broken off
/// where the next thing happened that comes after phases.
fn of_event<'a>(events: &[StoredEvent], index: usize, at: i64) -> Moment<'a> {
    let event = &events[index].event;
    let took = event.body["ms"].as_u64().unwrap_or(0);
    let source = Source::Event(index);
    match event.kind.as_str() {
        "phase_ended" => Moment { at: at - signed(took), took, kind: Kind::Phase, failed: false, source },
        "phase_started" => {
            let end = broken_off(events, index);
            let took = end.map_or(0, |end| end.event.at.as_millisecond().abs_diff(event.at.as_millisecond()));
            Moment { at, took, kind: Kind::Phase, failed: end.is_some(), source }
        }
        _ => Moment { at, took: 0, kind: Kind::Event, failed: false, source },
    }
}

/// What says that a phase, which has no end of its own, does not go on: another phase, or the end of the attempt.
fn broken_off(events: &[StoredEvent], index: usize) -> Option<&StoredEvent> {
    let attempt = events[index].event.attempt;
    let mut later = events[index + 1..].iter().filter(|later| later.event.attempt == attempt);
    later.find(|later| later.event.kind == "phase_started" || ENDS.contains(&later.event.kind.as_str()))
}

fn of_model<'a>(evidence: &'a Evidence, all: &mut Vec<Moment<'a>>) {
    let Some(record) = &evidence.model else { return };
    for (index, call) in record.calls.iter().enumerate() {
        let source = Source::Model(index);
        all.push(Moment { at: signed(call.at_ms), took: call.duration_ms, kind: Kind::Model, failed: false, source });
    }
    for (index, tool) in record.tools.iter().enumerate() {
        // A tool is used from the end of the answer that called it until its result is sent.
        let call = record.calls.get(tool.call);
        let from = call.map_or(0, |call| call.at_ms.saturating_add(call.duration_ms));
        let result = tool.result.as_ref().and_then(|result| record.calls.get(result.call));
        let took = result.map_or(0, |call| call.at_ms.saturating_sub(from));
        all.push(Moment { at: signed(from), took, kind: Kind::Tool, failed: false, source: Source::Tool(index) });
    }
}

fn of_mocks<'a>(evidence: &'a Evidence, all: &mut Vec<Moment<'a>>) {
    for (service, journal) in &evidence.journals {
        for (index, exchange) in journal.exchanges.iter().enumerate() {
            let source = Source::Exchange(service, index);
            all.push(Moment { at: signed(exchange.at_ms), took: 0, kind: Kind::Http, failed: false, source });
        }
    }
}

/// What was written down, without what the model's record and the mocks' journals tell better, and without files, which are
/// shown by themselves.
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
        let at = signed(audited.at_ms.unwrap_or(evidence.agent.wall_ms));
        all.push(Moment { at, took: 0, kind, failed: false, source: Source::Audit(index) });
    }
}

fn of_probes<'a>(
    evidence: &'a Evidence,
    events: &[StoredEvent],
    since: &impl Fn(&StoredEvent) -> i64,
    all: &mut Vec<Moment<'a>>,
) {
    for name in evidence.answers.keys() {
        let is_own = |stored: &&StoredEvent| {
            stored.event.kind == "probed" && stored.event.body["invariant"].as_str() == Some(name.as_str())
        };
        let at = events.iter().find(is_own).map_or(signed(evidence.agent.wall_ms), since);
        all.push(Moment { at, took: 0, kind: Kind::Probe, failed: false, source: Source::Probe(name) });
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use scenario::evidence::{
        AuditEvent, Audited, Evidence, Exchange, Journal, ModelCall, ModelRecord, ToolResult, ToolUse,
    };
    use serde_json::{Value, json};
    use store::{ExperimentId, NewEvent, RunId, StoredEvent};

    use super::{Kind, moments};

    fn event(number: u64, kind: &str, body: Value) -> StoredEvent {
        let run = RunId { experiment: ExperimentId(uuid::Uuid::nil()), number: 1 };
        let at = Timestamp::from_millisecond(number.try_into().expect("small")).expect("a time");
        let (scenario, kind) = ("s".to_owned(), kind.to_owned());
        StoredEvent { number, event: NewEvent { run, scenario, attempt: 1, at, kind, body } }
    }

    #[test]
    fn a_phase_is_told_once_and_one_that_goes_on_is_told_too() {
        let events = [
            event(10, "phase_started", json!({"phase": "prepare"})),
            event(30, "phase_ended", json!({"phase": "prepare", "ms": 20})),
            event(30, "phase_started", json!({"phase": "act"})),
            event(40, "probed", json!({"invariant": "x"})),
        ];
        let told = |evidence| -> Vec<_> {
            moments(evidence, &events).iter().map(|one| (one.at, one.took, one.kind)).collect()
        };
        let phases = [(0, 20, Kind::Phase), (20, 0, Kind::Phase)];
        assert_eq!(told(None), [phases[0], phases[1], (30, 0, Kind::Event)]);
        assert_eq!(told(Some(&Evidence::default())), phases, "what was asked is in the evidence");
    }

    #[test]
    fn a_phase_without_an_end_ends_where_the_next_thing_after_phases_begins() {
        let phase = |number, kind: &str, phase: &str| event(number, kind, json!({ "phase": phase, "ms": 4 }));
        let begun = [phase(10, "phase_started", "prepare"), event(15, "note", json!({}))];
        let told = |events: &[StoredEvent]| -> Vec<_> {
            let phases = moments(None, events).into_iter().filter(|moment| moment.kind == Kind::Phase);
            phases.map(|moment| (moment.at, moment.took, moment.failed)).collect()
        };
        assert_eq!(told(&begun), [(0, 0, false)], "it goes on");
        let failed = [
            begun.to_vec(),
            vec![
                phase(30, "phase_started", "destroy"),
                phase(34, "phase_ended", "destroy"),
                event(35, "judged", json!({})),
            ],
        ];
        assert_eq!(told(&failed.concat()), [(0, 20, true), (20, 4, false)]);
        let retried = [begun.to_vec(), vec![event(40, "retrying", json!({}))]];
        assert_eq!(told(&retried.concat()), [(0, 30, true)]);
    }

    #[test]
    fn what_happened_is_told_once_and_in_order() {
        let call = |at_ms, duration_ms| ModelCall { at_ms, duration_ms, ..ModelCall::default() };
        let result = Some(ToolResult { call: 1, ..ToolResult::default() });
        let tool = ToolUse { call: 0, result, ..ToolUse::default() };
        let model = ModelRecord { calls: vec![call(10, 5), call(40, 5)], tools: vec![tool], ..ModelRecord::default() };
        let exchange = Exchange {
            method: "GET".to_owned(),
            path: "/".to_owned(),
            query: vec![],
            headers: vec![],
            body: Default::default(),
            status: 200,
            at_ms: 20,
        };
        let journal = Journal { exchanges: vec![exchange], overflow: None };
        let http = |service: &str| AuditEvent::HttpCall {
            service: Some(service.to_owned()),
            host: "h".to_owned(),
            method: "GET".to_owned(),
            path: "/".to_owned(),
            status: None,
            response_body: None,
        };
        let audited = |at_ms, event| Audited { at_ms: Some(at_ms), event };
        let evidence = Evidence {
            model: Some(model),
            journals: [("mail".to_owned(), journal)].into(),
            audit: Some(vec![audited(20, http("mail")), audited(30, http("other"))]),
            ..Evidence::default()
        };
        let told: Vec<_> = moments(Some(&evidence), &[]).iter().map(|one| (one.at, one.took, one.kind)).collect();
        assert_eq!(
            told,
            [
                (10, 5, Kind::Model),
                (15, 25, Kind::Tool),
                (20, 0, Kind::Http),
                (30, 0, Kind::Http),
                (40, 5, Kind::Model),
            ]
        );
    }
}
