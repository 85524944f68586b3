//! Connections that ask for nothing, slowly or too much: whoever else calls is answered.

use std::time::Duration;

use server::{Access, Limits};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::serving::{Serving, until};
use crate::test_app::{ADA, ADMIN, BOB, HELLO, TestApp};

/// Timeout of everything on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// Long enough that no honest request misses it, and short enough to wait for.
const SHORT: Duration = Duration::from_secs(2);
/// Longer than any test.
const LONG: Duration = Duration::from_secs(600);

/// Few places: 20 for callers without a key, and 60 for those with one.
fn few() -> Limits {
    Limits { connections: 80, per_key: 10, per_peer: 15, header: LONG, idle: LONG }
}

async fn connect(serving: &Serving) -> TcpStream {
    timeout(PATIENCE, TcpStream::connect(serving.address)).await.expect("in time").expect("a connection")
}

/// Sends something on a new connection, and keeps it.
async fn send(serving: &Serving, text: &str) -> TcpStream {
    let mut stream = connect(serving).await;
    stream.write_all(text.as_bytes()).await.expect("sent");
    stream
}

fn get(key: &str, path: &str) -> String {
    let key = if key.is_empty() { String::new() } else { format!("Authorization: Bearer {key}\r\n") };
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{key}\r\n")
}

/// Reads an answer up to this text.
async fn read_to(stream: &mut TcpStream, text: &str) -> String {
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains(text) {
        let mut part = [0; 4096];
        let count = timeout(PATIENCE, stream.read(&mut part)).await.expect("in time").expect("a part");
        assert_ne!(count, 0, "it ended early: {}", String::from_utf8_lossy(&read));
        read.extend_from_slice(&part[..count]);
    }
    String::from_utf8_lossy(&read).into_owned()
}

/// Asks on a new connection; the head of the answer.
async fn ask(serving: &Serving, key: &str, path: &str) -> String {
    let mut stream = send(serving, &get(key, path)).await;
    read_to(&mut stream, "\r\n\r\n").await
}

#[track_caller]
fn is(answer: &str, status: u16) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
}

/// True when the other end closes the connection.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut rest)).await;
    read.is_ok()
}

/// Everybody is answered: without a key, with one, and who keeps the numbers.
async fn everybody_is_answered(serving: &Serving) {
    is(&ask(serving, "", "/healthz").await, 200);
    is(&ask(serving, "", "/readyz").await, 200);
    is(&ask(serving, ADA, "/v1/specs").await, 200);
    is(&ask(serving, BOB, "/v1/specs").await, 200);
    is(&ask(serving, ADMIN, "/metrics").await, 200);
    is(&ask(serving, "", "/v1/specs").await, 401);
}

#[tokio::test]
async fn hundreds_of_half_open_connections_shut_nobody_out() {
    let app = TestApp::new().await;
    let serving = Serving::start(&app, |config| config.connections = few()).await;
    let mut known = send(&serving, &get(BOB, "/v1/specs")).await;
    is(&read_to(&mut known, "\r\n\r\n").await, 200);
    let mut flood = Vec::new();
    for beginning in ["", "GET / HT", "GET /v1/specs HTTP/1.1\r\nHost: localhost\r\nX-Slow: a", "POST"] {
        for _ in 0..100 {
            let mut stream = connect(&serving).await;
            // Some are closed before they could say anything.
            let _ = stream.write_all(beginning.as_bytes()).await;
            flood.push(stream);
        }
        everybody_is_answered(&serving).await;
    }
    assert!(is_closed(&mut flood[0]).await, "the oldest made room");
    // Who had shown a key keeps the connection.
    known.write_all(get(BOB, "/v1/specs").as_bytes()).await.expect("sent");
    is(&read_to(&mut known, "\r\n\r\n").await, 200);
    let metrics = app.get(ADMIN, "/metrics").await.text();
    assert!(metrics.contains("touchstone_connections "), "{metrics}");
    serving.end().await;
}

#[tokio::test]
async fn heads_that_do_not_end_are_hung_up_on() {
    let app = TestApp::new().await;
    let limits = Limits { header: SHORT, ..few() };
    let serving = Serving::start(&app, |config| config.connections = limits).await;
    let mut silent = connect(&serving).await;
    let mut slow = send(&serving, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n").await;
    let mut second = send(&serving, &get("", "/healthz")).await;
    is(&read_to(&mut second, "\r\n\r\n").await, 200);
    second.write_all(b"GET /he").await.expect("sent");
    // A byte now and then does not help.
    let dripping = async {
        while slow.write_all(b"X-A: b\r\n").await.is_ok() {
            tokio::time::sleep(SHORT / 10).await;
        }
    };
    timeout(PATIENCE, dripping).await.expect("hung up on while it goes on");
    assert!(is_closed(&mut silent).await, "who says nothing");
    assert!(is_closed(&mut second).await, "the head of a second request");
    everybody_is_answered(&serving).await;
    serving.end().await;
}

#[tokio::test]
async fn idle_connections_end_and_none_keeps_others_out() {
    let app = TestApp::new().await;
    let serving = Serving::start(&app, |config| config.connections = few()).await;
    let mut idle = Vec::new();
    for number in 0..150 {
        let (key, path) = if number % 2 == 0 { (ADA, "/v1/specs") } else { ("", "/healthz") };
        let mut stream = send(&serving, &get(key, path)).await;
        is(&read_to(&mut stream, "\r\n\r\n").await, 200);
        idle.push(stream);
    }
    everybody_is_answered(&serving).await;
    assert!(is_closed(&mut idle[0]).await, "a key's own longest idle connection made room");
    assert!(is_closed(&mut idle[1]).await, "and one without a key");
    serving.end().await;

    let limits = Limits { idle: SHORT, ..few() };
    let serving = Serving::start(&app, |config| config.connections = limits).await;
    let mut stream = send(&serving, &get(ADA, "/v1/specs")).await;
    is(&read_to(&mut stream, "\r\n\r\n").await, 200);
    assert!(is_closed(&mut stream).await, "idle for too long");
    serving.end().await;
}

#[tokio::test]
async fn slow_bodies_hold_places_of_their_own_key_only() {
    let app = TestApp::new().await;
    let serving = Serving::start(&app, |config| config.connections = few()).await;
    let slow = |key: &str, path: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nContent-Type: application/x-yaml\r\nContent-Length: 90000\r\n\r\nversion: 1\n"
        )
    };
    let mut held = Vec::new();
    for _ in 0..30 {
        held.push(send(&serving, &slow(ADA, "/v1/runs")).await);
        held.push(send(&serving, &slow(ADA, "/v1/experiments")).await);
        // Nobody's body is waited for.
        held.push(send(&serving, &slow("ts_live_nobody", "/v1/experiments")).await);
    }
    is(
        &until("a refusal", || async {
            let answer = ask(&serving, ADA, "/v1/specs").await;
            answer.starts_with("HTTP/1.1 429").then_some(answer)
        })
        .await,
        429,
    );
    let refused = ask(&serving, ADA, "/v1/specs").await;
    assert!(refused.to_lowercase().contains("retry-after: "), "{refused}");
    is(&ask(&serving, BOB, "/v1/specs").await, 200);
    is(&ask(&serving, "", "/healthz").await, 200);
    // Another key finds a place for its upload.
    let mut upload = send(&serving, &format!("POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {BOB}\r\nContent-Type: application/x-yaml\r\nContent-Length: {}\r\n\r\n{HELLO}", HELLO.len())).await;
    is(&read_to(&mut upload, "\r\n\r\n").await, 202);
    drop(held);
    until("room", || async { ask(&serving, ADA, "/v1/specs").await.starts_with("HTTP/1.1 200").then_some(()) }).await;
    serving.end().await;
}

#[tokio::test]
async fn one_key_cannot_take_all_streams() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let events = format!("/v1/experiments/{id}/events");
    let serving = Serving::start(&app, |config| {
        (config.streams, config.streams_per_key) = (16, 100);
    })
    .await;
    let mut hogged = Vec::new();
    let refused = loop {
        let mut stream = send(&serving, &get(ADA, &events)).await;
        let head = read_to(&mut stream, "\r\n\r\n").await;
        if !head.starts_with("HTTP/1.1 200") {
            break head;
        }
        hogged.push(stream);
    };
    is(&refused, 503);
    assert!(hogged.len() == 14 && refused.to_lowercase().contains("retry-after: "), "{}: {refused}", hogged.len());
    let mut other = send(&serving, &get(ADMIN, &events)).await;
    is(&read_to(&mut other, "\r\n\r\n").await, 200);
    // Waiting for news is answered at once when there is no place to wait.
    is(&ask(&serving, ADA, &format!("/v1/experiments/{id}?wait=25s")).await, 200);
    serving.end().await;

    let serving = Serving::start(&app, |config| config.streams_per_key = 2).await;
    let mut held = [send(&serving, &get(ADA, &events)).await, send(&serving, &get(ADA, &events)).await];
    for stream in &mut held {
        is(&read_to(stream, "\r\n\r\n").await, 200);
    }
    let refused = ask(&serving, ADA, &events).await;
    is(&refused, 429);
    assert!(refused.to_lowercase().contains("retry-after: "), "{refused}");
    is(&ask(&serving, ADMIN, &events).await, 200);
    serving.end().await;
}

#[tokio::test]
async fn a_server_without_keys_shares_nothing_out() {
    let app = TestApp::new().await;
    let serving = Serving::start(&app, |config| {
        (config.access, config.connections) = (Access::Open, few());
    })
    .await;
    let mut held = Vec::new();
    for _ in 0..40 {
        let mut stream = send(&serving, &get("", "/v1/specs")).await;
        is(&read_to(&mut stream, "\r\n\r\n").await, 200);
        held.push(stream);
    }
    held[0].write_all(get("", "/v1/specs").as_bytes()).await.expect("sent");
    is(&read_to(&mut held[0], "\r\n\r\n").await, 200);
    serving.end().await;
}

#[tokio::test]
async fn a_server_that_ends_answers_first_and_waits_for_nobody_silent() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let serving = Serving::start(&app, |config| config.connections = few()).await;
    let mut silent = connect(&serving).await;
    let mut stream = send(&serving, &get(ADA, &format!("/v1/experiments/{id}/events"))).await;
    is(&read_to(&mut stream, "\r\n\r\n").await, 200);
    let mut waiting = send(&serving, &get(ADA, &format!("/v1/experiments/{id}?wait=20s"))).await;
    until("both", || async {
        let metrics = ask_body(&serving, ADMIN, "/metrics").await;
        metrics.contains("touchstone_streams 2\n").then_some(())
    })
    .await;
    serving.end().await;
    is(&read_to(&mut waiting, "\r\n\r\n").await, 200);
    assert!(is_closed(&mut silent).await && is_closed(&mut stream).await);
}

async fn ask_body(serving: &Serving, key: &str, path: &str) -> String {
    let request = get(key, path).replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    let mut stream = send(serving, &request).await;
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.expect("in time").expect("an answer");
    answer
}

#[tokio::test]
async fn who_does_not_read_the_answer_is_hung_up_on() {
    let app = TestApp::new().await;
    let limits = Limits { idle: SHORT, ..few() };
    let serving = Serving::start(&app, |config| config.connections = limits).await;
    // As many answers as fill everything between here and there.
    let request = get("", "/openapi.json").repeat(400);
    let mut stream = connect(&serving).await;
    let sending = async {
        let _ = stream.write_all(request.as_bytes()).await;
        // An error tells that the other end is gone.
        while stream.write_all(b"\r\n").await.is_ok() {
            tokio::time::sleep(SHORT / 10).await;
        }
    };
    timeout(PATIENCE, sending).await.expect("hung up on");
    is(&ask(&serving, "", "/healthz").await, 200);
    serving.end().await;
}
