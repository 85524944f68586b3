//! Tests of clients on the wire: versions, framing, disconnecting, stopping.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use http::{Method, Request, Version};
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper_util::rt::{TokioExecutor, TokioIo};
use scenario::evidence::{Blob, Body};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::MockLimits;
use super::testing::{DEADLINE, Running, body, header, read_all, read_until, status};
use crate::Gateway as _;

const ROUTES: &str = "record: true, routes: [{path: /a, response: from-a}, {path: /b, response: from-b}]";
const GET_A: &str = "GET /a HTTP/1.1\r\nhost: mock\r\n\r\n";
const GET_B: &str = "GET /b HTTP/1.1\r\nhost: mock\r\n\r\n";

/// The bodies in the journal, as texts.
fn bodies(running: &Running) -> Vec<String> {
    let text = |body: &Body| match body {
        Body::Kept(blob) | Body::Cut { kept: blob, .. } => blob.text(),
        Body::Dropped { .. } => panic!("a dropped body"),
    };
    running.journal().exchanges.iter().map(|exchange| text(&exchange.body)).collect()
}

fn paths(running: &Running) -> Vec<String> {
    running.journal().exchanges.into_iter().map(|exchange| exchange.path).collect()
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_request() {
    let running = Running::new(ROUTES);
    let mut stream = running.connect().await;
    for (request, end) in [(GET_A, "from-a"), (GET_B, "from-b"), (GET_A, "from-a")] {
        stream.write_all(request.as_bytes()).await.expect("sending");
        assert_eq!(status(&read_until(&mut stream, end).await), 200);
    }
    assert_eq!(paths(&running), ["/a", "/b", "/a"]);
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let running = Running::new(ROUTES);
    let answers = running.send(format!("{GET_A}{GET_B}{GET_A}")).await;
    let found: Vec<_> = answers.split("from-").skip(1).map(|rest| &rest[..1]).collect();
    assert_eq!(found, ["a", "b", "a"]);
    assert_eq!(paths(&running), ["/a", "/b", "/a"]);
}

#[tokio::test]
async fn http_1_0_is_answered_and_closed() {
    let running = Running::new(ROUTES);
    let mut stream = running.connect().await;
    stream.write_all(b"GET /a HTTP/1.0\r\n\r\n").await.expect("sending");
    let answer = read_all(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.0 200") && body(&answer) == "from-a", "{answer}");
}

#[tokio::test]
async fn http_2_is_spoken_by_prior_knowledge() {
    let running =
        Running::new("record: true, routes: [{path: /a, response: from-a, response_headers: {Connection: close}}]");
    let io = TokioIo::new(running.connect().await);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.expect("a handshake");
    let driver = tokio::spawn(connection);
    for (method, expected) in [(Method::POST, "from-a"), (Method::HEAD, "")] {
        let request = Request::builder().method(method).uri("http://mock.test/a?x=1").version(Version::HTTP_2);
        let request = request.body(Full::new(Bytes::from_static(b"hello"))).expect("a request");
        let answer = sender.send_request(request).await.expect("an answer");
        assert_eq!(answer.status().as_u16(), 200);
        assert_eq!(answer.headers()["content-length"], "6");
        assert_eq!(answer.into_body().collect().await.expect("a body").to_bytes(), expected);
    }
    let journal = running.journal();
    assert_eq!((paths(&running), bodies(&running)), (vec!["/a".to_owned(); 2], vec!["hello".to_owned(); 2]));
    assert_eq!(journal.exchanges[0].header("host"), Some("mock.test"));
    drop(sender);
    driver.await.expect("the connection's task").expect("a clean end");
}

#[tokio::test]
async fn an_http_2_stream_that_is_reset_in_its_body_is_recorded() {
    let running = Running::new("record: true");
    let io = TokioIo::new(running.connect().await);
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.expect("a handshake");
    let driver = tokio::spawn(connection);
    let (leave, leaving) = tokio::sync::oneshot::channel::<()>();
    let half = futures::stream::iter([Ok(hyper::body::Frame::data(Bytes::from_static(b"half")))]);
    let failure =
        futures::stream::once(async { leaving.await.map_err(io::Error::other).and(Err(io::Error::other("x"))) });
    let body = BodyExt::boxed_unsync(StreamBody::new(half.chain(failure)));
    let unanswered = sender.send_request(Request::post("http://mock/half").body(body).expect("a request"));
    // The server looks at the streams in their order, so it knows the first one when it answers the second.
    let body = BodyExt::boxed_unsync(Empty::new().map_err(|never| match never {}));
    let answered = sender.send_request(Request::get("http://mock/whole").body(body).expect("a request"));
    answered.await.expect("an answer");
    assert_eq!(paths(&running), ["/whole"]);
    leave.send(()).expect("a body that waits");
    unanswered.await.expect_err("no answer");
    let journal = running.recorded(2).await;
    assert_eq!((journal.exchanges[1].path.as_str(), journal.exchanges[1].status), ("/half", 400));
    assert!("half".starts_with(&bodies(&running)[1]), "{journal:?}");
    drop(sender);
    driver.await.expect("the connection's task").expect("a clean end");
}

#[tokio::test]
async fn a_chunked_body_is_put_together() {
    let running = Running::new("record: true, routes: [{path: /, body: {contains: hello world}, status: 201}]");
    let request = "POST / HTTP/1.1\r\nhost: mock\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nx-trailer: 1\r\n\r\n";
    assert_eq!(status(&running.send(request).await), 201);
    assert_eq!(bodies(&running), ["hello world"]);
}

#[tokio::test]
async fn a_client_that_asks_whether_to_go_on_is_told_to() {
    let running = Running::new("record: true, routes: [{path: /, response: done}]");
    let mut stream = running.connect().await;
    let head = "POST / HTTP/1.1\r\nhost: mock\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n";
    stream.write_all(head.as_bytes()).await.expect("sending");
    assert_eq!(read_until(&mut stream, "\r\n\r\n").await, "HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"hello").await.expect("sending");
    assert_eq!(status(&read_until(&mut stream, "done").await), 200);
    assert_eq!(bodies(&running), ["hello"]);
}

#[tokio::test]
async fn every_form_of_target_is_answered() {
    let running =
        Running::new("record: true, routes: [{path: /a, response: from-a}, {path: /*, method: OPTIONS, status: 204}]");
    let answer = running.send("GET http://other.test/a HTTP/1.1\r\nhost: other.test\r\n\r\n").await;
    assert_eq!(body(&answer), "from-a");
    assert_eq!(status(&running.send("OPTIONS * HTTP/1.1\r\nhost: mock\r\n\r\n").await), 204);
    let answer = running.send("CONNECT db:5432 HTTP/1.1\r\nhost: db:5432\r\n\r\n").await;
    assert!(status(&answer) == 405 && body(&answer).contains("no proxy"), "{answer}");
    assert_eq!(status(&running.send("BREW /a HTTP/1.1\r\nhost: mock\r\n\r\n").await), 200);
    let methods: Vec<_> = running.journal().exchanges.into_iter().map(|exchange| exchange.method).collect();
    assert_eq!(methods, ["GET", "OPTIONS", "CONNECT", "BREW"]);
    assert_eq!(paths(&running), ["/a", "*", "db:5432", "/a"]);
}

#[tokio::test]
async fn a_client_that_leaves_in_its_body_is_recorded_with_what_came() {
    let running = Running::new("record: true, routes: [{path: /}]");
    let mut stream = running.connect().await;
    stream.write_all(b"POST / HTTP/1.1\r\nhost: mock\r\ncontent-length: 10\r\n\r\nhalf").await.expect("sending");
    drop(stream);
    let journal = running.recorded(1).await;
    assert_eq!((journal.exchanges[0].status, bodies(&running)), (400, vec!["half".to_owned()]));
}

#[tokio::test]
async fn a_body_that_breaks_the_rules_is_recorded_with_what_came() {
    let running = Running::new("record: true, routes: [{path: /}]");
    let request = "POST / HTTP/1.1\r\nhost: mock\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n";
    let mut stream = running.connect().await;
    stream.write_all(request.as_bytes()).await.expect("sending");
    let journal = running.recorded(1).await;
    assert_eq!((journal.exchanges[0].status, bodies(&running)), (400, vec!["half".to_owned()]));
}

#[tokio::test]
async fn a_body_that_pauses_for_too_long_is_refused_and_recorded() {
    let limits = MockLimits { body_wait: Duration::from_millis(50), ..MockLimits::default() };
    let running = Running::with_limits("record: true, routes: [{path: /}]", limits);
    let mut stream = running.connect().await;
    stream.write_all(b"POST / HTTP/1.1\r\nhost: mock\r\ncontent-length: 10\r\n\r\nhalf").await.expect("sending");
    let answer = read_all(&mut stream).await;
    assert_eq!((status(&answer), header(&answer, "connection")), (408, Some("close")));
    assert_eq!((running.journal().exchanges[0].status, bodies(&running)), (408, vec!["half".to_owned()]));
}

#[tokio::test]
async fn a_client_that_never_says_what_it_wants_is_cut_off() {
    let limits = MockLimits {
        head_wait: Duration::from_millis(50),
        idle_wait: Duration::from_millis(100),
        ..MockLimits::default()
    };
    let running = Running::with_limits(ROUTES, limits);
    for beginning in ["", "GET /a HTT", "PRI * HTTP/2.0\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"] {
        let mut stream = running.connect().await;
        stream.write_all(beginning.as_bytes()).await.expect("sending");
        let mut answer = Vec::new();
        let read = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut answer);
        let _ = timeout(DEADLINE, read).await.unwrap_or_else(|_| panic!("{beginning:?} is not cut off"));
    }
    assert!(paths(&running).is_empty());
}

#[tokio::test]
async fn a_connection_with_a_request_under_way_is_not_idle() {
    let limits = MockLimits { idle_wait: Duration::from_millis(20), ..MockLimits::default() };
    let running = Running::with_limits("routes: [{path: /, delay: 200ms, response: late}]", limits);
    assert_eq!(body(&running.get("/").await), "late");
}

#[tokio::test]
async fn a_large_body_is_cut_and_a_larger_one_refused() {
    let limits = MockLimits { read_body_bytes: 3_000_000, kept_body_bytes: 1_000, ..MockLimits::default() };
    let running = Running::with_limits("record: true, routes: [{path: /}]", limits);
    assert_eq!(status(&running.post("/", &"x".repeat(2_000)).await), 200);
    let mut stream = running.connect().await;
    stream.write_all(b"POST / HTTP/1.1\r\nhost: mock\r\ncontent-length: 9000000\r\n\r\n").await.expect("sending");
    // The server closes while we still send, which may break the sending; the journal says what came of it.
    let _ = stream.write_all(&vec![b'x'; 9_000_000]).await;
    let journal = running.recorded(2).await;
    match &journal.exchanges[0].body {
        Body::Cut { kept, size: 2_000, sha256 } => {
            assert_eq!((kept, sha256.len()), (&Blob(vec![b'x'; 1_000]), 64));
        }
        other => panic!("{other:?}"),
    }
    match &journal.exchanges[1].body {
        Body::Cut { kept, size, .. } => {
            assert!(kept.0.len() == 1_000 && *size > 3_000_000 && *size < 9_000_000, "{size}")
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(journal.exchanges[1].status, 413);
}

#[tokio::test]
async fn bodies_under_way_share_their_memory() {
    let limits = MockLimits { under_way_bytes: 1_000, ..MockLimits::default() };
    let running = Running::with_limits("record: true, routes: [{path: /}]", limits);
    let answer = running.post("/", &"x".repeat(1_001)).await;
    assert_eq!(status(&answer), 503);
    assert_eq!(status(&running.post("/", &"x".repeat(1_000)).await), 200, "the memory came back");
    assert_eq!(running.journal().exchanges[0].body, Body::Dropped { size: 1_001 });
}

#[tokio::test]
async fn a_connection_beyond_the_number_waits_for_its_turn() {
    let limits = MockLimits { connections: 1, ..MockLimits::default() };
    let running = Running::with_limits(ROUTES, limits);
    let mut first = running.connect().await;
    first.write_all(GET_A.as_bytes()).await.expect("sending");
    read_until(&mut first, "from-a").await;
    let mut second = running.connect().await;
    second.write_all(GET_B.as_bytes()).await.expect("sending");
    let early = timeout(Duration::from_millis(100), second.readable()).await;
    assert!(early.is_err(), "the second waits while the first is open");
    drop(first);
    read_until(&mut second, "from-b").await;
    assert_eq!(paths(&running), ["/a", "/b"]);
}

#[tokio::test]
async fn what_is_no_http_is_turned_away_and_no_request() {
    let running = Running::new(ROUTES);
    assert_eq!(status(&running.send("hello\r\n\r\n").await), 400);
    let long = format!("GET /a HTTP/1.1\r\nhost: mock\r\nx-long: {}\r\n\r\n", "x".repeat(100_000));
    let mut stream = running.connect().await;
    let _ = stream.write_all(long.as_bytes()).await;
    assert_eq!(status(&read_all(&mut stream).await), 431);
    assert!(paths(&running).is_empty());
}

#[tokio::test]
async fn a_seal_cuts_what_stays_and_records_it_as_far_as_it_came() {
    let running = Running::new("record: true, routes: [{path: /late, delay: 1h}, {path: /*, response: ok}]");
    let mut idle = running.connect().await;
    idle.write_all(GET_A.as_bytes()).await.expect("sending");
    read_until(&mut idle, "ok").await;
    let mut late = running.connect().await;
    late.write_all(b"GET /late HTTP/1.1\r\nhost: mock\r\n\r\n").await.expect("sending");
    running.recorded(2).await;
    let mut half = running.connect().await;
    half.write_all(b"POST /half HTTP/1.1\r\nhost: mock\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n")
        .await
        .expect("sending");
    read_until(&mut half, "\r\n\r\n").await;

    timeout(Duration::from_secs(3), running.mocks.seal()).await.expect("a prompt seal");
    let journal = running.journal();
    assert_eq!(paths(&running), ["/a", "/late", "/half"]);
    for stream in [&mut idle, &mut late, &mut half] {
        let _ = stream.write_all(GET_B.as_bytes()).await;
        let mut rest = Vec::new();
        let read = tokio::io::AsyncReadExt::read_to_end(stream, &mut rest);
        let _ = timeout(DEADLINE, read).await.expect("a closed connection");
        assert!(rest.is_empty(), "{rest:?}");
    }
    assert_eq!(body(&running.get("/b").await), "ok", "later connections are served");
    assert_eq!(running.journal(), journal);
}

#[tokio::test]
async fn dropping_the_mocks_ends_them() {
    let Running { mocks, port } = Running::new(ROUTES);
    drop(mocks);
    let until = tokio::time::Instant::now() + DEADLINE;
    while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
        assert!(tokio::time::Instant::now() < until, "still listening");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
