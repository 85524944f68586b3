//! Rows as they stand in databases, read and written back.

use std::time::Duration;

use serde_json::{Value as Json, json};

use super::{Event, Phase};
use crate::evidence::{Exit, Fired, Limit};
use crate::result::RowStatus;
use crate::verdict::ErrorKind;

/// Rows of every kind, as text, and what they say.
fn rows() -> Vec<(&'static str, &'static str, Event)> {
    let ms = Duration::from_millis;
    let fired = Fired { limit: Limit::AgentTimeout, detail: "it acted for 30 s".to_owned() };
    let judged = |status, composite, wall_ms| Event::Judged { status, composite, wall_ms, error: None };
    vec![
        ("claimed", r#"{"worker":"a/b"}"#, Event::Claimed { worker: "a/b".into() }),
        ("phase_started", r#"{"phase":"prepare"}"#, Event::PhaseStarted(Phase::Prepare)),
        ("phase_started", r#"{"phase":"act"}"#, Event::PhaseStarted(Phase::Act)),
        ("phase_ended", r#"{"phase":"probe","ms":12}"#, Event::PhaseEnded(Phase::Probe, ms(12))),
        ("phase_ended", r#"{"phase":"destroy","ms":0}"#, Event::PhaseEnded(Phase::Destroy, ms(0))),
        (
            "pulling",
            r#"{"image":"postgres:17","status":"3 of 9 layers"}"#,
            Event::Pulling { image: "postgres:17".into(), status: "3 of 9 layers".into() },
        ),
        ("baking", r#"{"packages":["curl","jq"]}"#, Event::Baking { packages: vec!["curl".into(), "jq".into()] }),
        ("sandbox_created", r#"{"name":"ts-1"}"#, Event::SandboxCreated { name: "ts-1".into() }),
        (
            "service_ready",
            r#"{"service":"db","ms":1200}"#,
            Event::ServiceReady { service: "db".into(), after: ms(1200) },
        ),
        ("fixture_applied", r#"{"index":2}"#, Event::FixtureApplied { index: 2 }),
        ("agent_started", "{}", Event::AgentStarted),
        (
            "agent_ended",
            r#"{"exit":"exit code 0","ms":584}"#,
            Event::AgentEnded { exit: Some(Exit::Code(0)), after: ms(584) },
        ),
        (
            "agent_ended",
            r#"{"exit":"signal 9","ms":1}"#,
            Event::AgentEnded { exit: Some(Exit::Signal(9)), after: ms(1) },
        ),
        ("agent_ended", r#"{"exit":null,"ms":30000}"#, Event::AgentEnded { exit: None, after: ms(30_000) }),
        ("limit_fired", r#"{"limit":"agent.timeout","detail":"it acted for 30 s"}"#, Event::LimitFired(fired)),
        ("probed", r#"{"invariant":"ledger"}"#, Event::Probed { invariant: "ledger".into() }),
        ("note", r#"{"text":"a remark"}"#, Event::Note("a remark".into())),
        ("sandbox_kept", r#"{"name":"ts-1"}"#, Event::SandboxKept { name: "ts-1".into() }),
        ("sandbox_destroyed", r#"{"name":"ts-1"}"#, Event::SandboxDestroyed { name: "ts-1".into() }),
        ("judged", r#"{"status":"pass","composite":1.0,"wall_ms":812}"#, judged(RowStatus::Pass, 1.0, Some(812))),
        ("judged", r#"{"status":"error","composite":0.25}"#, judged(RowStatus::Error, 0.25, None)),
        (
            "judged",
            r#"{"status":"error","composite":1.0,"wall_ms":5,"error_kind":"inconclusive"}"#,
            Event::Judged {
                status: RowStatus::Error,
                composite: 1.0,
                wall_ms: Some(5),
                error: Some(ErrorKind::Inconclusive),
            },
        ),
        ("retrying", r#"{"why":"no engine","ms":500}"#, Event::Retrying { why: "no engine".into(), after: ms(500) }),
        ("released", r#"{"why":"the worker ended"}"#, Event::Released { why: "the worker ended".into() }),
        ("given_up", r#"{"why":"cancelled"}"#, Event::GivenUp { why: "cancelled".into() }),
        ("lost", r#"{"worker":"a/b"}"#, Event::Lost { worker: "a/b".into() }),
    ]
}

/// Rows about calls that wait for a person.
fn rows_of_held_calls() -> Vec<(&'static str, &'static str, Event)> {
    vec![
        (
            "call_held",
            r#"{"approval":"ap_1","tool":"refund","deadline":"2026-11-19T04:00:00Z"}"#,
            Event::CallHeld {
                approval: "ap_1".into(),
                tool: "refund".into(),
                deadline: "2026-11-19T04:00:00Z".parse().expect("a time"),
            },
        ),
        (
            "call_decided",
            r#"{"approval":"ap_1","tool":"refund","answer":"denied","by":"ada"}"#,
            Event::CallDecided {
                approval: "ap_1".into(),
                tool: "refund".into(),
                answer: "denied".into(),
                by: "ada".into(),
            },
        ),
    ]
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn rows_of_every_kind_are_read_and_written_back_to_the_last_byte() {
    for (kind, text, expected) in rows().into_iter().chain(rows_of_held_calls()) {
        let event = Event::read(kind, json(text));
        assert_eq!(event, expected, "{kind} {text}");
        assert_eq!((event.kind(), event.body().to_string().as_str()), (kind, text));
    }
}

#[test]
fn one_that_is_not_known_is_written_back_as_it_was() {
    for (kind, text) in [
        ("levitated", r#"{"height":3}"#),
        ("levitated", "null"),
        ("", "[1,2]"),
        // A kind that is known, with a body that is not.
        ("judged", "{}"),
        ("judged", r#"{"status":"excellent","composite":2.0}"#),
        ("judged", r#"{"status":"pass","composite":1.0,"wall_ms":812,"tokens":7}"#),
        ("phase_started", r#"{"phase":"rest"}"#),
        ("phase_ended", r#"{"phase":"act","ms":-1}"#),
        ("agent_ended", r#"{"exit":"exit code 007","ms":1}"#),
        ("agent_ended", r#"{"exit":"by itself","ms":1}"#),
        ("agent_started", "null"),
        ("limit_fired", r#"{"limit":"patience","detail":""}"#),
        ("note", r#"{"text":"two","v":2}"#),
    ] {
        let event = Event::read(kind, json(text));
        assert_eq!(event, Event::Unknown { kind: kind.to_owned(), body: json(text) });
        assert_eq!((event.kind(), event.body().to_string().as_str()), (kind, text));
    }
}

#[test]
fn more_fields_than_are_known_can_be_passed_over_but_not_another_version() {
    let more = json!({ "status": "fail", "composite": 0.5, "wall_ms": 7, "tokens": 9 });
    let expected = Event::Judged { status: RowStatus::Fail, composite: 0.5, wall_ms: Some(7), error: None };
    assert_eq!(Event::understand("judged", &more), Some(expected));
    for version in [json!(2), json!("1"), json!(null)] {
        assert_eq!(Event::understand("note", &json!({ "text": "x", "v": version })), None);
    }
    assert_eq!(Event::understand("note", &json!({ "text": "x", "v": 1 })), Some(Event::Note("x".to_owned())));
}

#[test]
fn an_event_is_its_kind_and_its_body_in_json() {
    let (kind, text, event) = rows().remove(3);
    let wire = json!({ "kind": kind, "body": json(text) });
    assert_eq!(serde_json::to_value(&event).expect("JSON"), wire);
    assert_eq!(serde_json::from_value::<Event>(wire).expect("an event"), event);
    let without: Event = serde_json::from_value(json!({ "kind": "levitated" })).expect("an event");
    assert_eq!(without, Event::Unknown { kind: "levitated".to_owned(), body: Json::Null });
}

#[test]
fn an_attempt_ends_with_five_kinds() {
    let ends: Vec<_> = rows().into_iter().filter(|(.., event)| event.ends_attempt()).map(|(kind, ..)| kind).collect();
    assert_eq!(ends, ["judged", "judged", "judged", "retrying", "released", "given_up", "lost"]);
}
