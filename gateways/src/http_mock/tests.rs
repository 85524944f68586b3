//! Tests of answers, journals and calls, over real connections.

use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use scenario::evidence::{Answered, AuditEvent, Body, Exchange, Limit};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::testing::{Running, address, body, header, mock, read_all, status};
use super::{HttpMocks, MockContext, MockLimits};
use crate::Gateway as _;
use crate::clock::Clock;
use crate::recorder::{JournalLimits, KEPT_EXCHANGES};

/// Returns the answer to a GET of `/` by a route with these settings.
async fn answer_of(settings: &str) -> String {
    Running::new(&format!("routes: [{{path: /, {settings}}}]")).get("/").await
}

#[tokio::test]
async fn a_request_is_recorded_with_all_that_it_said() {
    let running = Running::new("record: true, routes: [{path: /mail, status: 202}]");
    let answer = running
        .send("POST /mail?a=1&b=x%20y HTTP/1.1\r\nHost: mock:80\r\nX-Two: 1\r\nX-Two: 2\r\nContent-Length: 2\r\n\r\nhi")
        .await;
    assert_eq!(status(&answer), 202);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = Exchange {
        method: "POST".to_owned(),
        path: "/mail".to_owned(),
        query: vec![pair("a", "1"), pair("b", "x y")],
        headers: vec![pair("host", "mock:80"), pair("x-two", "1"), pair("x-two", "2"), pair("content-length", "2")],
        body: Body::Kept("hi".into()),
        status: 202,
        at_ms: 0,
        fault: None,
        answer: Some(Answered::default()),
    };
    assert_eq!(running.journal().exchanges, [expected]);
    assert_eq!(running.mocks.fired_limits(), []);
}

#[tokio::test]
async fn a_mock_that_was_never_called_has_an_empty_journal_and_one_that_does_not_record_has_none() {
    let mocks = [("a".to_owned(), mock("record: true")), ("b".to_owned(), mock("record: false"))];
    let mocks = HttpMocks::new(mocks, MockContext::default());
    let journals = mocks.journals();
    assert_eq!(journals.keys().collect::<Vec<_>>(), ["a"]);
    assert!(journals["a"].exchanges.is_empty() && journals["a"].overflow.is_none());
}

#[tokio::test]
async fn a_request_that_no_route_takes_gets_the_default_status() {
    let running = Running::new("record: true, default_response: 410, routes: [{method: POST, path: /a}]");
    let answer = running.get("/a").await;
    assert_eq!((status(&answer), body(&answer), header(&answer, "content-type")), (410, "", None));
    assert_eq!(running.journal().exchanges[0].status, 410);
    assert_eq!(status(&Running::new("record: true").get("/").await), 404);
}

#[tokio::test]
async fn the_type_of_an_answer_is_guessed_unless_it_is_given() {
    let check = async |settings: &str, content_type: Option<&str>, text: &str| {
        let answer = answer_of(settings).await;
        assert_eq!((header(&answer, "content-type"), body(&answer)), (content_type, text), "{settings}");
    };
    let (json, text) = (Some("application/json"), Some("text/plain; charset=utf-8"));
    check("response: hello", text, "hello").await;
    check("response: {a: [1, 2.5, null]}", json, r#"{"a":[1,2.5,null]}"#).await;
    check("response: 7", json, "7").await;
    check(r#"response: ' {"a": 1}'"#, json, r#" {"a": 1}"#).await;
    check("response: '[not json'", text, "[not json").await;
    check("status: 200", None, "").await;
    check("response: <a/>, response_headers: {Content-Type: text/xml}", Some("text/xml"), "<a/>").await;
    check("response: x, response_headers: {content-type: null}", None, "x").await;
}

#[tokio::test]
async fn headers_of_answers_may_be_any_value() {
    let answer =
        answer_of("response_headers: {X-Text: é, X-Number: 2, X-Yes: true, X-Many: [a, b], X-Map: {a: 1}}").await;
    assert_eq!(header(&answer, "x-text"), Some("é"));
    assert_eq!((header(&answer, "x-number"), header(&answer, "x-yes")), (Some("2"), Some("true")));
    assert_eq!(header(&answer, "x-map"), Some(r#"{"a":1}"#));
    assert!(answer.contains("x-many: a\r\nx-many: b\r\n"), "{answer}");
}

#[tokio::test]
async fn a_header_cannot_break_the_answer() {
    let answer = answer_of(r#"response: ok, response_headers: {X-Bad: "a\r\nx-evil: 1\0", Content-Length: 99, Transfer-Encoding: chunked}"#).await;
    assert_eq!((header(&answer, "x-bad"), header(&answer, "x-evil")), (Some("a  x-evil: 1 "), None));
    assert_eq!((header(&answer, "content-length"), header(&answer, "transfer-encoding")), (Some("2"), None));
    assert_eq!(body(&answer), "ok");
}

#[tokio::test]
async fn head_is_told_the_length_and_gets_no_body() {
    let running = Running::new("routes: [{path: /, response: hello}, {path: /gone, status: 204, response: x}]");
    let answer = running.send("HEAD / HTTP/1.1\r\nhost: mock\r\n\r\n").await;
    assert_eq!((status(&answer), header(&answer, "content-length"), body(&answer)), (200, Some("5"), ""));
    let answer = running.send("HEAD /gone HTTP/1.1\r\nhost: mock\r\n\r\n").await;
    assert_eq!((status(&answer), header(&answer, "content-length")), (204, None));
}

#[tokio::test]
async fn some_statuses_have_no_body_and_some_cannot_be_answered() {
    for without_body in [204, 304] {
        let answer = answer_of(&format!("status: {without_body}, response: hello")).await;
        assert_eq!((status(&answer), body(&answer)), (without_body, ""));
    }
    for settings in ["status: 100", "status: 101", "status: 199"] {
        let answer = answer_of(settings).await;
        assert_eq!(status(&answer), 500, "{settings}");
        assert!(body(&answer).contains("only 200 to 599"), "{answer}");
    }
    let answer = Running::new("default_response: 102").get("/").await;
    assert_eq!(status(&answer), 500);
    assert_eq!(status(&answer_of("status: 599").await), 599);
}

#[tokio::test]
async fn a_sequence_answers_in_order_and_then_repeats_or_ends() {
    let check = async |then: &str, expected: [u16; 4]| {
        let route = format!("path: /, sequence: [{{status: 503}}, {{status: 201, response: x}}]{then}");
        let running = Running::new(&format!("record: true, routes: [{{{route}}}]"));
        for expected in expected {
            assert_eq!(status(&running.get("/").await), expected, "{then}");
        }
        let journal = running.journal();
        assert_eq!(journal.exchanges.iter().map(|exchange| exchange.status).collect::<Vec<_>>(), expected);
    };
    check("", [503, 201, 201, 201]).await;
    check(", then: repeat", [503, 201, 201, 201]).await;
    check(", then: 409", [503, 201, 409, 409]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_sequence_counts_exactly_when_many_ask_at_once() {
    let sequence: Vec<_> = (0..100).map(|turn| format!("{{status: {}}}", 200 + turn)).collect();
    let running =
        Running::new(&format!("record: true, routes: [{{path: /, sequence: [{}], then: 599}}]", sequence.join(",")));
    let answers = futures::future::join_all((0..120).map(|_| running.get("/"))).await;
    let mut statuses: Vec<_> = answers.iter().map(|answer| status(answer)).collect();
    statuses.sort_unstable();
    let expected: Vec<u16> = (200..300).chain([599; 20]).collect();
    assert_eq!(statuses, expected, "each answer was given once");
    let recorded: Vec<_> = running.journal().exchanges.iter().map(|exchange| exchange.status).collect();
    assert_eq!(recorded, expected, "the journal has the order of the answers");
}

#[tokio::test]
async fn routes_with_their_own_sequences_count_on_their_own() {
    let running = Running::new(
        "routes: [{path: /a, sequence: [{status: 201}, {status: 202}]}, {path: /b, sequence: [{status: 301}, {status: 302}]}]",
    );
    for (path, expected) in [("/a", 201), ("/b", 301), ("/a", 202), ("/b", 302)] {
        assert_eq!(status(&running.get(path).await), expected);
    }
}

#[tokio::test]
async fn a_template_answers_with_parts_of_the_request() {
    let context = MockContext {
        seed: 11,
        replica: 2,
        parameters: IndexMap::from([("plan".to_owned(), json!("pro"))]),
        ..MockContext::default()
    };
    let routes = "record: true, routes: [\
        {path: '/orders/{id}', template: true, status: 201, response_headers: {Location: '/orders/{{ request.params.id }}'}, \
         response: {id: '{{ request.params.id }}', n: '{{ request.json.n }}', plan: '{{ params.plan }}', seed: '{{ seed }}'}}, \
        {path: /text, template: true, response: '{\"r\": {{ replica }}, \"x\": \"{{ request.json.x }}\"}'}, \
        {path: /plain, response: '{{ request.path }}'}]";
    // An answer with braces and no template is a warning of the validator, and still an answer.
    let running =
        Running::with(&routes.replace("'{{ request.path }}'", "'{{ seed }}'"), context, MockLimits::default());
    let answer = running.post("/orders/a%2Fb", r#"{"n": 3}"#).await;
    assert_eq!(body(&answer), r#"{"id":"a/b","n":3,"plan":"pro","seed":11}"#);
    assert_eq!((status(&answer), header(&answer, "location")), (201, Some("/orders/a/b")));
    let answer = running.get("/text").await;
    assert_eq!(body(&answer), r#"{"r": 2, "x": "{{ request.json.x }}"}"#);
    assert_eq!(header(&answer, "content-type"), Some("application/json"));
    assert_eq!(body(&running.get("/plain").await), "{{ seed }}");
}

#[tokio::test]
async fn a_template_that_grows_too_large_is_answered_with_an_error() {
    let limits = MockLimits { rendered_bytes: 100, ..MockLimits::default() };
    let running = Running::with_limits(
        "record: true, routes: [{path: /, template: true, response: '{{ request.body }}'}]",
        limits,
    );
    assert_eq!(status(&running.post("/", &"x".repeat(100)).await), 200);
    let answer = running.post("/", &"x".repeat(101)).await;
    assert!(status(&answer) == 500 && body(&answer).contains("larger than 100 bytes"), "{answer}");
    assert_eq!(running.journal().exchanges[1].status, 500);
}

#[tokio::test]
async fn an_answer_comes_after_its_delay_and_its_record_before() {
    let running = Running::new("record: true, routes: [{path: /, delay: 1h}, {path: /soon, delay: 150ms}]");
    let mut stream = running.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nhost: mock\r\n\r\n").await.expect("sending");
    assert_eq!(running.recorded(1).await.exchanges[0].status, 200, "recorded while the delay is running");
    let asked = tokio::time::Instant::now();
    assert_eq!(status(&running.get("/soon").await), 200);
    assert!(asked.elapsed() >= Duration::from_millis(150));
}

#[tokio::test]
async fn moments_count_from_the_start_of_the_agent() {
    let clock = Arc::new(Clock::default());
    let context = MockContext { clock: Arc::clone(&clock), ..MockContext::default() };
    let running = Running::with("record: true", context, MockLimits::default());
    running.get("/").await;
    clock.start();
    while clock.elapsed_ms() < 5 {
        tokio::task::yield_now().await;
    }
    running.get("/").await;
    let moments: Vec<_> = running.journal().exchanges.iter().map(|exchange| exchange.at_ms).collect();
    assert!(moments[0] == 0 && moments[1] >= 5 && moments[1] <= clock.elapsed_ms(), "{moments:?}");
}

#[tokio::test]
async fn secrets_are_replaced_before_anything_is_kept() {
    let redact = |exchange: &mut Exchange| {
        exchange.path = exchange.path.replace("s3cret", "***");
        if let Body::Kept(blob) = &mut exchange.body {
            blob.0 = blob.text().replace("s3cret", "***").into_bytes();
        }
    };
    let context = MockContext { redact: Arc::new(redact), collect_calls: true, ..MockContext::default() };
    let limits =
        MockLimits { journal: JournalLimits { exchanges: 1, ..JournalLimits::default() }, ..MockLimits::default() };
    let running = Running::with(
        "record: true, routes: [{path: /*, template: true, response: '{{ request.body }}'}]",
        context,
        limits,
    );
    for _ in 0..2 {
        assert_eq!(body(&running.post("/s3cret", "s3cret").await), "s3cret");
    }
    let kept = format!("{:?} {:?}", running.journal(), running.mocks.calls());
    assert!(!kept.contains("s3cret") && kept.contains("***"), "{kept}");
    assert_eq!(running.journal().overflow.expect("an overflow").counts[0].path.as_deref(), Some("/***"));
}

#[tokio::test]
async fn calls_are_collected_of_all_mocks_when_asked_for() {
    let context = MockContext { collect_calls: true, ..MockContext::default() };
    let mut limits = MockLimits::default();
    limits.calls.calls = 2;
    let settings = "routes: [{path: /a, response: {id: 1}}]";
    let running = Running::with(settings, context, limits);
    running.send("GET /a?x=1 HTTP/1.1\r\nHost: API.example.com:80\r\n\r\n").await;
    running.send("HEAD /b HTTP/1.0\r\n\r\n").await;
    running.get("/c").await;
    let call = |host: &str, method: &str, path: &str, status, body: Option<&str>| AuditEvent::HttpCall {
        service: Some("mock".to_owned()),
        host: host.to_owned(),
        method: method.to_owned(),
        path: path.to_owned(),
        status: Some(status),
        response_body: body.map(str::to_owned),
    };
    let expected =
        [call("api.example.com", "GET", "/a", 200, Some(r#"{"id":1}"#)), call("mock", "HEAD", "/b", 404, None)];
    assert_eq!(running.mocks.calls().into_iter().map(|audited| audited.event).collect::<Vec<_>>(), expected);
    assert_eq!(running.mocks.uncollected_calls(), 1);

    let silent = Running::new(settings);
    silent.get("/a").await;
    assert!(silent.mocks.calls().is_empty() && silent.mocks.journals().is_empty());
}

#[tokio::test]
async fn two_mocks_on_one_port_are_told_apart_by_the_address_that_was_called() {
    let mocks = [("a", "response: from a"), ("b", "response: from b")]
        .map(|(name, answer)| (name.to_owned(), mock(&format!("record: true, routes: [{{path: /, {answer}}}]"))));
    let running = Running::serve(HttpMocks::new(mocks, MockContext::default()), &[(2, "a"), (3, "b")]);
    let ask = async |last: u8| {
        let mut stream = TcpStream::connect((address(last), running.port)).await.expect("a connection");
        // The header names the other mock, and does not count.
        stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.expect("sending");
        read_all(&mut stream).await
    };
    assert_eq!((body(&ask(2).await), body(&ask(3).await), body(&ask(3).await)), ("from a", "from b", "from b"));
    let journals = running.mocks.journals();
    assert_eq!((journals["a"].exchanges.len(), journals["b"].exchanges.len()), (1, 2));
}

#[tokio::test]
async fn requests_beyond_what_is_kept_are_counted_exactly() {
    let running = Running::new("record: true, routes: [{path: /*}]");
    let mut stream = running.connect().await;
    let (mut reader, mut writer) = stream.split();
    let requests = KEPT_EXCHANGES + 250;
    let sending = async {
        for index in 0..requests {
            let request = format!("GET /{} HTTP/1.1\r\nhost: mock\r\n\r\n", index % 3);
            writer.write_all(request.as_bytes()).await.expect("sending");
        }
        writer.shutdown().await.expect("closing our side");
    };
    let mut answers = Vec::new();
    let (_, read) = tokio::join!(sending, tokio::io::AsyncReadExt::read_to_end(&mut reader, &mut answers));
    read.expect("reading");
    assert_eq!(String::from_utf8_lossy(&answers).matches("HTTP/1.1 200 OK").count(), requests);
    let journal = running.journal();
    let overflow = journal.overflow.expect("an overflow");
    let mut counts: Vec<_> = overflow.counts.iter().map(|counted| (counted.path.as_deref(), counted.count)).collect();
    counts.sort_unstable();
    assert_eq!(journal.exchanges.len(), KEPT_EXCHANGES);
    assert_eq!(counts, [(Some("/0"), 83), (Some("/1"), 84), (Some("/2"), 83)]);
    let fired = running.mocks.fired_limits();
    assert_eq!(fired[0].limit, Limit::Requests);
    assert_eq!(fired[0].detail, "`mock` kept 10000 requests and counted 250 more");
}

#[tokio::test]
async fn a_sealed_mock_goes_on_answering_and_records_nothing_more() {
    let running = Running::new("record: true, routes: [{path: /, response: hello}]");
    running.get("/").await;
    running.mocks.seal().await;
    assert_eq!(body(&running.get("/").await), "hello");
    assert_eq!(running.journal().exchanges.len(), 1);
}
