//! Event streams.

use http::Method;
use scenario::event::Event;
use scenario::result::RowStatus;
use serde_json::{Value, json};
use store::{Clock as _, NewEvent, RunId};

use crate::test_app::{ADA, BOB, HELLO, TestApp};

/// An event of a stream: its id, what it is, and its data.
type Seen = (String, String, Value);

fn parsed(text: &str) -> Vec<Seen> {
    let field = |event: &str, name: &str| {
        let lines = event.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        lines.map(ToOwned::to_owned).collect::<Vec<_>>().join("\n")
    };
    let events = text.split("\n\n").filter(|event| event.contains("data: "));
    let seen = |event: &str| {
        (field(event, "id"), field(event, "event"), serde_json::from_str(&field(event, "data")).expect("JSON"))
    };
    events.map(seen).collect()
}

async fn note(app: &TestApp, id: &str, kind: &str) {
    let run = RunId { experiment: id.parse().expect("an id"), number: 1 };
    let event = NewEvent {
        run,
        scenario: "default-r0".to_owned(),
        attempt: 1,
        at: app.clock.now(),
        happened: Event::read(kind, json!({"worker": "w"})),
    };
    app.store.note(&[event]).await.expect("noted");
}

#[tokio::test]
async fn a_stream_tells_everything_and_ends_with_the_results() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    note(&app, &id, "claimed").await;
    let path = format!("/v1/experiments/{id}/events");
    let (answer, ()) = tokio::join!(app.get(ADA, &path), async {
        app.until_waiting(1).await;
        note(&app, &id, "agent_started").await;
        note(&app, &id, "judged").await;
        app.finish(RowStatus::Pass).await;
    });
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "text/event-stream"));
    let events = parsed(&answer.text());
    let kinds: Vec<_> = events.iter().map(|(_, kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["claimed", "agent_started", "judged", "done"]);
    let (number, _, first) = &events[0];
    assert_eq!(first["id"].to_string(), *number);
    assert_eq!((&first["scenario_id"], &first["body"]), (&json!("default-r0"), &json!({"worker": "w"})));
    let (last, _, done) = &events[3];
    assert_eq!(last, &events[2].0);
    assert_eq!((&done["status"], &done["passed"]), (&json!("finished"), &json!(1)));
}

#[tokio::test]
async fn who_lost_the_stream_goes_on_where_it_was() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    for kind in ["claimed", "agent_started", "judged"] {
        note(&app, &id, kind).await;
    }
    app.finish(RowStatus::Pass).await;
    let path = format!("/v1/experiments/{id}/events");
    let all = parsed(&app.get(ADA, &path).await.text());
    let second = all[1].0.clone();
    let rest = app.call(Method::GET, ADA, &path, &[("last-event-id", &second)], "").await;
    assert_eq!(parsed(&rest.text()), all[2..]);
    assert_eq!(parsed(&app.get(ADA, &format!("{path}?after={second}")).await.text()), all[2..]);
    app.call(Method::GET, ADA, &path, &[("last-event-id", "x")], "").await.refused(400);
}

#[tokio::test]
async fn a_stream_waits_for_the_first_run() {
    let app = TestApp::new().await;
    let id = app.experiment(HELLO).await;
    let path = format!("/v1/experiments/{id}");
    let events = format!("{path}/events");
    let (answer, ()) = tokio::join!(app.get(ADA, &events), async {
        app.until_waiting(1).await;
        app.post_empty(ADA, &format!("{path}/run")).await.expect(202);
        app.finish(RowStatus::Fail).await;
    });
    assert_eq!(parsed(&answer.text()).last().expect("an event").2["failed"], 1);
}

#[tokio::test]
async fn streams_are_bounded_and_private() {
    let app = TestApp::with(|config| config.streams = 0).await;
    let id = app.running(HELLO).await;
    let busy = app.get(ADA, &format!("/v1/experiments/{id}/events")).await;
    busy.refused(503);
    assert!(!busy.header("retry-after").is_empty());
    app.get(BOB, &format!("/v1/experiments/{id}/events")).await.refused(403);
}

#[tokio::test]
async fn a_place_is_free_again_when_a_stream_ended() {
    let app = TestApp::with(|config| config.streams = 1).await;
    let id = app.finished(HELLO).await;
    for _ in 0..3 {
        let answer = app.get(ADA, &format!("/v1/experiments/{id}/events")).await;
        assert_eq!(parsed(&answer.text()).len(), 1);
    }
}

#[tokio::test]
async fn a_stream_of_an_experiment_that_is_removed_ends() {
    let app = TestApp::new().await;
    let id = app.experiment(HELLO).await;
    let path = format!("/v1/experiments/{id}");
    app.get(ADA, &format!("{path}/events?run=1")).await.refused(404);
    let events = format!("{path}/events");
    let (answer, ()) = tokio::join!(app.get(ADA, &events), async {
        app.until_waiting(1).await;
        app.delete(ADA, &path).await.expect(204);
    });
    assert_eq!(parsed(&answer.text()), []);
    app.until_waiting(0).await;
}
