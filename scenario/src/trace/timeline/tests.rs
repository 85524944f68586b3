//! Timelines of evidence and of events, and their words.

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::{Kind, TimedEvent, TimelineLine, timeline, timeline_lines};
use crate::event::Event;
use crate::evidence::{
    AuditEvent, Audited, CallTraceRecorder, Evidence, Exchange, FaultMark, FaultRecord, Firing, Journal, ModelCall,
    ModelRecord, ToolProposal, ToolReport,
};

/// Creates an event at a time in milliseconds since the epoch.
fn event(at_ms: i64, kind: &str, body: Json) -> (i64, Event) {
    (at_ms, Event::read(kind, body))
}

fn timed(events: &[(i64, Event)]) -> Vec<TimedEvent<'_>> {
    let at = |at_ms: i64| Timestamp::from_millisecond(at_ms).expect("a time");
    events.iter().map(|(at_ms, event)| TimedEvent { at: at(*at_ms), attempt: 1, event }).collect()
}

fn exchange(path: &str, status: u16, at_ms: u64) -> Exchange {
    Exchange {
        method: "POST".to_owned(),
        path: path.to_owned(),
        query: Vec::new(),
        headers: Vec::new(),
        body: crate::evidence::Body::default(),
        status,
        at_ms,
        fault: None,
        answer: None,
    }
}

fn http(at_ms: u64, service: Option<&str>) -> Audited {
    let event = AuditEvent::HttpCall {
        service: service.map(ToOwned::to_owned),
        host: "h".to_owned(),
        method: "GET".to_owned(),
        path: "/".to_owned(),
        status: Some(404),
        response_body: None,
    };
    Audited { at_ms: Some(at_ms), event }
}

#[test]
fn a_phase_is_told_once_and_one_that_goes_on_is_told_too() {
    let events = [
        event(10, "phase_started", json!({"phase": "prepare"})),
        event(30, "phase_ended", json!({"phase": "prepare", "ms": 20})),
        event(30, "phase_started", json!({"phase": "act"})),
        event(40, "probed", json!({"invariant": "x"})),
    ];
    let events = timed(&events);
    let shown = |evidence| -> Vec<_> {
        let lines = timeline_lines(evidence, &events);
        lines.into_iter().map(|line| (line.at_ms, line.duration_ms, line.kind, line.what)).collect()
    };
    let phase = |at_ms, duration_ms, words: &str| (at_ms, duration_ms, Kind::Phase, words.to_owned());
    let phases = [phase(0, 20, "prepare"), phase(20, 0, "act has begun")];
    let [first, second] = phases.clone();
    assert_eq!(shown(None), [first, second, (30, 0, Kind::Event, "looked at x".to_owned())]);
    assert_eq!(shown(Some(&Evidence::default())), phases, "what was asked is in the evidence");
}

#[test]
fn a_phase_without_an_end_ends_where_the_next_thing_after_phases_begins() {
    let phase = |at_ms, phase: &str| event(at_ms, "phase_started", json!({ "phase": phase }));
    let begun = [phase(10, "prepare"), event(15, "note", json!({ "text": "" }))];
    let shown = |events: &[(i64, Event)]| -> Vec<_> {
        let phases = timeline(None, &timed(events)).into_iter().filter(|moment| moment.kind == Kind::Phase);
        phases.map(|moment| (moment.at_ms, moment.duration_ms, moment.broken_off)).collect()
    };
    assert_eq!(shown(&begun), [(0, 0, false)], "it goes on");
    let failed = [
        begun.to_vec(),
        vec![
            phase(30, "destroy"),
            event(34, "phase_ended", json!({ "phase": "destroy", "ms": 4 })),
            event(35, "judged", json!({ "status": "error", "composite": 0.0 })),
        ],
    ];
    assert_eq!(shown(&failed.concat()), [(0, 20, true), (20, 4, false)]);
    let retried = [begun.to_vec(), vec![event(40, "retrying", json!({ "why": "", "ms": 1 }))]].concat();
    assert_eq!(shown(&retried), [(0, 30, true)]);
    let lines = timeline_lines(None, &timed(&retried));
    assert_eq!((lines[0].what.as_str(), lines[0].failed), ("prepare was broken off", true));
}

#[test]
fn everything_stands_in_its_order_and_once() {
    let call = |at_ms, status| ModelCall { at_ms, duration_ms: 100, status, ..ModelCall::default() };
    let mut recorder = CallTraceRecorder::default();
    let arguments = recorder.read_arguments("\u{1b}[2J");
    let (id, tool) = (String::new(), "refund".to_owned());
    let proposal = recorder.add_proposal(ToolProposal { at_ms: 110, model_call: 0, id, tool, arguments });
    recorder.add_report(proposal, ToolReport { at_ms: 400, model_call: 1, result: String::new(), is_error: true });
    let model = ModelRecord { calls: vec![call(10, 200), call(400, 500)], ..ModelRecord::default() };
    let journal = Journal { exchanges: vec![exchange("/refunds", 404, 250)], overflow: None };
    let write = AuditEvent::DbWrite { service: "db".into(), table: "t".into(), op: "INSERT".into(), rows: 2 };
    let asked = AuditEvent::Dns { name: "db".into(), kind: "AAAA".into(), answer: Some("127.10.0.1".into()) };
    let file = AuditEvent::FileWrite { path: "out".into(), op: "added".into() };
    let mut audit = vec![http(250, Some("api")), http(260, Some("quiet")), http(270, None)];
    let more = [(Some(300), write.clone()), (None, write), (Some(290), asked), (None, file)];
    audit.extend(more.map(|(at_ms, event)| Audited { at_ms, event }));
    let mut evidence = Evidence {
        model: Some(model),
        call_trace: recorder.finish(),
        journals: [("api".to_owned(), journal)].into(),
        audit: Some(audit),
        ..Evidence::default()
    };
    evidence.agent.wall_ms = 450;
    let line = |at_ms, duration_ms, kind, what: &str, failed| TimelineLine {
        at_ms,
        duration_ms,
        kind,
        what: what.to_owned(),
        failed,
    };
    let expected = [
        line(10, 100, Kind::Model, " 200, 0 + 0 tokens", false),
        line(110, 290, Kind::Tool, "refund ␛[2J", true),
        line(250, 0, Kind::Http, "POST api/refunds 404", true),
        // A mock that does not record has no journal.
        line(260, 0, Kind::Http, "GET quiet/ 404", true),
        line(270, 0, Kind::Http, "GET h/ 404", false),
        line(290, 0, Kind::Network, "asked for AAAA of db: it has none", false),
        line(300, 0, Kind::Database, "INSERT db.t, 2 rows", false),
        line(400, 100, Kind::Model, " 500, 0 + 0 tokens", true),
        // Its time is not known: it was seen at the end.
        line(450, 0, Kind::Database, "INSERT db.t, 2 rows", false),
    ];
    assert_eq!(timeline_lines(Some(&evidence), &[]), expected);
}

#[test]
fn faults_are_told_once_beside_their_call_or_by_themselves() {
    let mark = |rule: &str, call| FaultMark { rule: rule.into(), mode: "error".into(), call, reached: false };
    let firing = |rule: &str, target: &str, at_ms| Firing {
        rule: rule.into(),
        mode: "error".into(),
        target: target.into(),
        call: 1,
        at_ms,
        ..Firing::default()
    };
    let faulted = Exchange { fault: Some(mark("tool_faults[0]", 1)), ..exchange("/refunds", 503, 10) };
    let journal = Journal { exchanges: vec![faulted, exchange("/refunds", 200, 20)], overflow: None };
    let firings = vec![
        firing("tool_faults[0]", "shop:POST /refunds", 10),
        firing("service_faults[0]", "db:update orders", 30),
        firing("service_faults[1]", "cache:connect", 40),
        firing("network_faults[0]", "shop", 50),
    ];
    let evidence = Evidence {
        journals: [("shop".to_owned(), journal)].into(),
        faults: Some(FaultRecord { firings, ..FaultRecord::default() }),
        ..Evidence::default()
    };
    let moments = timeline(Some(&evidence), &[]);
    let told: Vec<_> = moments.iter().map(|moment| (moment.at_ms, moment.kind, moment.is_faulted(&evidence))).collect();
    let expected = [
        (10, Kind::Http, true),
        (20, Kind::Http, false),
        (30, Kind::Database, true),
        (40, Kind::Network, true),
        (50, Kind::Network, true),
    ];
    assert_eq!(told, expected);
    let lines = timeline_lines(Some(&evidence), &[]);
    assert_eq!(lines[2].what, "db:update orders [fault: error by service_faults[0], call 1]");
}
