//! Mocks that answer from a recorded session.

use std::sync::Arc;

use scenario::evidence::{Answered, Body, Evidence, Exchange};
use scenario::replay::Session;
use scenario::spec::sections::ReplayMatching;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::testing::{Running, body, header, status};
use super::{MockContext, MockLimits, MockReplay};
use crate::Gateway as _;

const SESSION: &str = r#"
version: 1
id: outage
input: x
tool_responses:
  - { tool: mock, method: GET, path: /orders, status: 503, response: busy, headers: { retry-after: "7", set-cookie: [a=1, b=2] } }
  - { tool: mock, method: GET, path: /orders, response: { id: 1 }, latency_ms: 5 }
  - { tool: mock, method: GET, path: /cut, response: "0123456789", breaks_after: 4 }
  - { tool: mock, method: GET, path: /gone, status: 0 }
  - { tool: other, method: GET, path: /orders, response: theirs }
"#;

fn replaying(matching: ReplayMatching, settings: &str) -> Running {
    let session = Arc::new(Session::parse(SESSION).expect("a session"));
    let replay = Some(MockReplay { session, matching });
    Running::with(settings, MockContext { replay, ..MockContext::default() }, MockLimits::default())
}

/// Reads everything that comes before a connection ends, by a reset too.
async fn ending(running: &Running, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", running.port)).await.expect("a connection");
    let request = format!("GET {path} HTTP/1.1\r\nHost: mock\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("a request");
    let mut came = Vec::new();
    let _ = stream.read_to_end(&mut came).await;
    String::from_utf8(came).expect("a text")
}

#[tokio::test]
async fn answers_come_from_the_session_in_their_order() {
    let running = replaying(ReplayMatching::Fifo, "record: true, routes: [{path: /orders, response: own}]");
    let first = running.get("/orders").await;
    assert_eq!((status(&first), body(&first), header(&first, "retry-after")), (503, "busy", Some("7")));
    let cookies: Vec<_> = first.lines().filter(|line| line.to_lowercase().starts_with("set-cookie")).collect();
    assert_eq!(cookies.len(), 2, "each value is a header of its own: {first}");
    let second = running.get("/orders").await;
    assert_eq!(
        (status(&second), body(&second), header(&second, "content-type")),
        (200, r#"{"id":1}"#, Some("application/json"))
    );
    let third = running.get("/orders").await;
    assert_eq!(body(&third), "own", "what the session does not have, the mock's routes answer");
    assert_eq!(ending(&running, "/gone").await, "", "the connection ends without an answer");
    assert!(ending(&running, "/cut").await.ends_with("\r\n\r\n0123"), "the body breaks off");
    let mut evidence = Evidence::default();
    running.mocks.seal().await;
    running.mocks.record(&mut evidence);
    let played = evidence.replay.expect("a record");
    assert_eq!((played.session.as_str(), played.answered, played.is_strict), ("outage", 4, false));
    assert_eq!((played.unexpected.as_slice(), played.unconsumed.len()), (&["mock GET /orders".to_owned()][..], 0));
    assert_eq!((evidence.notes.len(), evidence.offences.len()), (1, 0));
}

#[tokio::test]
async fn strict_matching_refuses_what_is_not_in_the_session_and_fails_for_what_did_not_come() {
    let running = replaying(ReplayMatching::Strict, "record: true, routes: [{path: /other, response: own}]");
    let refused = running.get("/other").await;
    assert_eq!((status(&refused), body(&refused)), (501, "the session has no answer to GET /other\n"));
    let mut evidence = Evidence::default();
    running.mocks.record(&mut evidence);
    assert_eq!(evidence.offences.len(), 5, "one call too many, and four that did not come: {:?}", evidence.offences);
    assert!(evidence.notes.is_empty());
}

#[tokio::test]
async fn a_mock_that_does_not_record_answers_for_itself() {
    let running = replaying(ReplayMatching::Strict, "record: false, routes: [{path: /orders, response: own}]");
    assert_eq!(body(&running.get("/orders").await), "own");
}

#[tokio::test]
async fn the_answer_that_was_sent_is_recorded_without_secrets() {
    let redact = Arc::new(|exchange: &mut Exchange| {
        if let Body::Kept(blob) = &mut exchange.body {
            blob.0 = blob.text().replace("s3cret", "[hidden]").into_bytes();
        }
        exchange.headers.iter_mut().for_each(|(_, value)| *value = value.replace("s3cret", "[hidden]"));
    });
    let context = MockContext { redact, ..MockContext::default() };
    let settings = "record: true, routes: [{path: /, response: the s3cret, response_headers: {x-key: s3cret}}]";
    let running = Running::with(settings, context, MockLimits::default());
    assert_eq!(body(&running.get("/").await), "the s3cret");
    let answer = running.journal().exchanges.remove(0).answer.expect("an answer");
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = Answered {
        headers: vec![pair("content-type", "text/plain; charset=utf-8"), pair("x-key", "[hidden]")],
        body: Body::Kept("the [hidden]".into()),
        ..Answered::default()
    };
    assert_eq!(answer, expected);
}
