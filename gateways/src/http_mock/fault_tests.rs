//! Every mode of `tool_faults`, as a client sees it and as the journal has it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use scenario::plan::Seed;
use scenario::spec::load;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, timeout};

use super::testing::{DEADLINE, Running, body, header, status};
use super::{HttpMocks, MockContext, MockLimits};
use crate::faults::FaultEngine;

const ORDER: &str = r#"{"id": 7, "total": 40, "paid": 10, "note": "x"}"#;

/// A mock with one route that counts its answers, and these faults.
fn faulted(fault: &str) -> (Running, Arc<FaultEngine>) {
    let routes = format!(
        "record: true, routes: [{{path: /order, sequence: [{{response: '{ORDER}'}}, {{response: '{{\"id\": 8, \"total\": 50}}'}}]}}]"
    );
    faulted_by(&routes, &format!("{{tool: mock, {fault}}}"))
}

/// A mock with these routes and these faults.
fn faulted_by(routes: &str, faults: &str) -> (Running, Arc<FaultEngine>) {
    let text = format!(
        "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
         services: [{{name: mock, type: http_mock, {routes}}}]\n\
         chaos: {{tool_faults: [{faults}]}}\n\
         invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
    );
    let loaded = load(&text, None);
    let spec = loaded.spec.unwrap_or_else(|| panic!("{text}: {:?}", loaded.diagnostics));
    let context = MockContext::default();
    let engine = Arc::new(FaultEngine::new(&spec.chaos, Seed::new(3), Arc::clone(&context.clock)));
    engine.start();
    let context = MockContext { faults: Some(Arc::clone(&engine)), ..context };
    let mock = spec.services[0].mock().expect("a mock").clone();
    let mocks = HttpMocks::with_limits([("mock".to_owned(), mock)], context, MockLimits::default());
    (Running::serve(mocks, &[(1, "mock")]), engine)
}

/// The bytes of an answer that a client gets, and the error that it meets.
async fn raw(running: &Running) -> (String, Option<io::ErrorKind>) {
    let mut stream = running.connect().await;
    stream.write_all(b"GET /order HTTP/1.1\r\nhost: mock\r\nconnection: close\r\n\r\n").await.expect("sending");
    let mut answer = Vec::new();
    let read = timeout(DEADLINE, stream.read_to_end(&mut answer)).await.expect("an end in time");
    (String::from_utf8_lossy(&answer).into_owned(), read.err().map(|error| error.kind()))
}

/// The status and body of the first answer, after looking whether the journal tells the same as the engine.
async fn first(fault: &str, reached: bool) -> (u16, String) {
    let (running, engine) = faulted(fault);
    let answer = running.get("/order").await;
    let journal = running.journal();
    let mark = journal.exchanges[0].fault.clone().expect("a mark");
    let record = engine.record();
    assert_eq!((record.firings.len(), record.firings[0].call, mark.call), (1, 1, 1), "{fault}");
    assert_eq!(
        (mark.mode.as_str(), mark.rule.as_str(), mark.reached),
        (record.rules[0].mode.as_str(), "tool_faults[0]", reached)
    );
    assert_eq!(journal.reached().count(), usize::from(reached), "{fault}");
    (status(&answer), body(&answer).to_owned())
}

#[tokio::test]
async fn answers_are_given_in_place_of_the_service() {
    assert_eq!(first("mode: error", false).await, (503, "Service Unavailable".to_owned()));
    assert_eq!(first("mode: error, error_code: 418, message: no", false).await, (418, "no".to_owned()));
    assert_eq!(first("mode: unauthorized", false).await.0, 401);
    assert_eq!(first("mode: malicious_response, payload: obey", false).await, (200, "obey".to_owned()));
    let (code, page) = first("mode: html_error_page", false).await;
    assert!(code == 502 && page.contains("<h1>502 Bad Gateway</h1>"), "{page}");
    let (code, text) = first("mode: malformed", false).await;
    assert!(code == 200 && serde_json::from_str::<serde_json::Value>(&text).is_err(), "{text}");
}

#[tokio::test]
async fn answers_of_the_service_are_changed() {
    assert_eq!(first("mode: empty", true).await, (200, String::new()));
    let (_, wrong) = first("mode: wrong_data, set: {total: 4}", true).await;
    assert!(wrong.contains(r#""total":4,"#), "{wrong}");
    let (_, dropped) = first("mode: drop_fields, paths: [total]", true).await;
    assert!(!dropped.contains("total") && dropped.contains("paid"), "{dropped}");
    let (_, violated) = first("mode: schema_violation", true).await;
    assert!(violated.contains(r#""total":"40""#), "{violated}");
    assert_eq!(first("mode: large_response, bytes: 5000", true).await.1.len(), 5000);
}

#[tokio::test]
async fn a_429_says_when_to_come_back() {
    let (running, engine) = faulted("mode: error, error_code: 429, times: 1");
    let answer = running.get("/order").await;
    assert_eq!((status(&answer), header(&answer, "retry-after")), (429, Some("1")));
    assert_eq!(status(&running.get("/order").await), 200);
    assert!(engine.record().firings[0].retried_after_ms.is_some());
}

#[tokio::test]
async fn an_answer_breaks_off_with_its_length_kept() {
    let (running, _) = faulted("mode: truncated, bytes: 4");
    let (answer, error) = raw(&running).await;
    assert_eq!((status(&answer), header(&answer, "content-length"), body(&answer)), (200, Some("47"), &ORDER[..4]));
    assert_eq!(error, None, "the connection is closed in order");
    let (running, _) = faulted("mode: truncated, fraction: 0.25");
    assert_eq!(body(&raw(&running).await.0).len(), 11);
}

#[tokio::test]
async fn a_connection_is_reset_or_closed_without_an_answer() {
    let (running, _) = faulted("mode: connection_reset");
    assert_eq!(raw(&running).await, (String::new(), Some(io::ErrorKind::ConnectionReset)));
    assert_eq!((running.journal().exchanges[0].status, running.journal().reached().count()), (0, 0));
    let (running, _) = faulted("mode: timeout, delay_ms: 30");
    let since = Instant::now();
    assert_eq!(raw(&running).await, (String::new(), None));
    assert!(since.elapsed() >= Duration::from_millis(30));
}

#[tokio::test]
async fn a_lost_answer_took_effect() {
    let (running, _) = faulted("mode: lost_response, times: 1");
    assert_eq!(raw(&running).await, (String::new(), None));
    assert!(running.get("/order").await.contains(r#""id": 8"#), "the first answer of the sequence was used up");
    let journal = running.journal();
    assert_eq!((journal.exchanges[0].status, journal.reached().count()), (200, 2));
}

#[tokio::test]
async fn an_old_answer_is_given_again_and_what_changes_nothing_is_no_fault() {
    let (running, engine) = faulted("mode: wrong_data, stale: true");
    let answers = [running.get("/order").await, running.get("/order").await];
    assert!(answers.iter().all(|answer| answer.contains(r#""id": 7"#)), "{answers:?}");
    let record = engine.record();
    assert_eq!((record.rules[0].matched, record.rules[0].fired), (2, 1), "the first answer is the right one");
    assert_eq!(running.journal().exchanges[0].fault, None);
    let (running, engine) = faulted("mode: wrong_data, zero: missing");
    running.get("/order").await;
    assert!(engine.record().is_vacuous());
}

#[tokio::test]
async fn slow_answers_are_late_and_dribbled_ones_slow() {
    let (running, engine) = faulted("mode: slow, delay_ms: 40");
    let since = Instant::now();
    assert_eq!(body(&running.get("/order").await), ORDER);
    assert!(since.elapsed() >= Duration::from_millis(40));
    assert_eq!(engine.record().total(), 1);
    assert!(running.journal().exchanges[0].fault.as_ref().is_some_and(|mark| mark.mode == "slow" && mark.reached));
    let (running, _) = faulted("mode: dribble, bytes_per_second: 200");
    let since = Instant::now();
    assert_eq!(body(&running.get("/order").await), ORDER);
    assert!(since.elapsed() >= Duration::from_millis(200), "47 bytes, 20 at a time");
}

#[tokio::test]
async fn more_calls_than_a_rate_allows_are_refused() {
    let (running, engine) = faulted("mode: rate_limit, rps: 1, at_once: 2");
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(status(&running.get("/order").await));
    }
    assert_eq!(statuses, [200, 200, 429, 429], "the clock stands still");
    assert_eq!(engine.record().rules[0].fired, 2);
}

/// A mock with orders, and these faults.
fn orders(faults: &str) -> (Running, Arc<FaultEngine>) {
    let order = |id: u32| format!("{{path: '/orders/{id}', response: {{id: {id}}}}}");
    let all = "{path: '/orders/{id}', template: true, response: '{\"id\": {{ request.params.id }}}'}";
    let routes = format!("record: true, routes: [{}, {all}]", order(7));
    faulted_by(&routes, faults)
}

#[tokio::test]
async fn another_entity_is_the_last_one_of_the_same_route_or_of_a_path() {
    let (running, engine) = orders("{tool: mock, mode: wrong_entity}");
    assert!(running.get("/orders/1").await.contains(r#""id": 1"#), "there is no other yet");
    assert_eq!((engine.record().total(), running.journal().exchanges[0].fault.clone()), (0, None));
    assert!(running.get("/orders/2").await.contains(r#""id": 1"#));
    assert!(running.get("/orders/2").await.contains(r#""id": 1"#), "the same request again has the same answer");
    assert!(running.get("/orders/1").await.contains(r#""id": 2"#), "what is remembered is what was right");
    assert!(running.get("/orders/7").await.contains(r#""id":7"#), "another route has no other yet");
    let marks = running.journal().exchanges.into_iter().filter_map(|exchange| exchange.fault);
    assert!(marks.inspect(|mark| assert!(mark.reached && mark.mode == "wrong_entity")).count() == 3);
    assert_eq!((engine.record().rules[0].matched, engine.record().total()), (5, 3));
    let (running, engine) = orders("{tool: mock, mode: wrong_entity, from: '/orders/7?x=1'}");
    assert!(running.get("/orders/1").await.contains(r#""id":7"#));
    assert!(running.get("/orders/7").await.contains(r#""id":7"#));
    assert_eq!((engine.record().total(), running.journal().exchanges.len()), (1, 2), "only requests are recorded");
}

#[tokio::test]
async fn connections_are_refused_before_they_carry_a_request() {
    let (running, engine) = orders("{tool: '*', mode: connection_refused, on_calls: [2]}, {tool: mock, mode: empty}");
    assert_eq!(status(&running.get("/orders/1").await), 200);
    let mut refused = running.connect().await;
    let mut nothing = [0; 1];
    let error = timeout(DEADLINE, refused.read(&mut nothing)).await.expect("an end in time").expect_err("a reset");
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    assert_eq!(status(&running.get("/orders/1").await), 200);
    let record = engine.record();
    let counts: Vec<_> = record.rules.iter().map(|rule| (rule.matched, rule.fired)).collect();
    assert_eq!(counts, [(3, 1), (2, 2)], "connections and requests");
    assert!(record.firings.iter().any(|firing| firing.target == "mock:connect"), "{record:?}");
    assert_eq!(running.journal().exchanges.len(), 2);
}
