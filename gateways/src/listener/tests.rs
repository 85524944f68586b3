//! Tests over real connections.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::accept::{ACCEPT_PAUSE, accept_all};
use super::{Connection, HalfClose, HttpSettings, IdleTimeout, Listener, ListenerLimits};

/// Time limit for whatever a test waits for.
const DEADLINE: Duration = Duration::from_secs(20);
/// Long enough for nothing to happen in.
const WHILE: Duration = Duration::from_millis(100);
/// Limits that no test reaches.
const LIMITS: ListenerLimits =
    ListenerLimits { connections: 8, idle: IdleTimeout::Bytes(DEADLINE), drain: Duration::from_millis(50) };

/// Echoes bytes.
async fn echo(connection: Connection) {
    let (mut from, mut to) = tokio::io::split(connection.stream);
    let _ = tokio::io::copy(&mut from, &mut to).await;
}

/// Makes a port on which the listener echoes bytes.
fn echoing(listener: &Listener) -> SocketAddr {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let address = socket.local_addr().expect("its address");
    listener.serve(socket, None, echo).expect("serving");
    address
}

async fn connect(address: SocketAddr) -> TcpStream {
    TcpStream::connect(address).await.expect("a connection")
}

/// Sends a byte and waits for it to come back.
async fn is_served(stream: &mut TcpStream) {
    stream.write_all(b"x").await.expect("sending");
    let mut back = [0];
    timeout(DEADLINE, stream.read_exact(&mut back)).await.expect("in time").expect("a byte");
}

/// Waits until the other side ends the connection.
async fn ends(stream: &mut TcpStream) {
    let _ = timeout(DEADLINE, stream.read_to_end(&mut Vec::new())).await.expect("an end in time");
}

#[tokio::test]
async fn a_connection_above_the_limit_waits_and_is_served_when_another_ends() {
    let listener = Listener::new("a test", ListenerLimits { connections: 1, ..LIMITS });
    let (one, other) = (echoing(&listener), echoing(&listener));
    let mut first = connect(one).await;
    is_served(&mut first).await;
    let mut second = connect(other).await;
    second.write_all(b"x").await.expect("sending");
    assert!(timeout(WHILE, second.readable()).await.is_err(), "it waits while the first is open");
    drop(first);
    let mut back = [0];
    timeout(DEADLINE, second.read_exact(&mut back)).await.expect("in time").expect("a byte");
}

#[tokio::test]
async fn a_socket_that_nobody_calls_keeps_no_permit_from_another() {
    let listener = Listener::new("a test", ListenerLimits { connections: 1, ..LIMITS });
    let addresses = [echoing(&listener), echoing(&listener), echoing(&listener)];
    for address in addresses.into_iter().chain(addresses) {
        is_served(&mut connect(address).await).await;
    }
}

#[tokio::test]
async fn a_connection_that_carries_nothing_is_ended_and_one_that_does_is_not() {
    let wait = Duration::from_secs(1);
    let listener = Listener::new("a test", ListenerLimits { idle: IdleTimeout::Bytes(wait), ..LIMITS });
    let address = echoing(&listener);
    let started = Instant::now();
    let (mut busy, mut silent) = (connect(address).await, connect(address).await);
    let ended = tokio::spawn(async move { ends(&mut silent).await });
    while !ended.is_finished() {
        is_served(&mut busy).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    ended.await.expect("an end");
    assert!(started.elapsed() >= wait, "{:?}", started.elapsed());
    is_served(&mut busy).await;
}

#[tokio::test]
async fn a_connection_without_requests_is_ended_whatever_it_carries() {
    let idle = IdleTimeout::Requests(Duration::from_millis(100));
    let listener = Listener::new("a test", ListenerLimits { idle, ..LIMITS });
    let mut talkative = connect(echoing(&listener)).await;
    let talking = async {
        while talkative.write_all(b"x").await.is_ok() && talkative.read_u8().await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    timeout(DEADLINE, talking).await.expect("an end in time");
}

#[tokio::test]
async fn a_seal_cuts_what_stays_and_later_connections_are_served() {
    let listener = Listener::new("a test", LIMITS);
    let address = echoing(&listener);
    let mut stays = connect(address).await;
    is_served(&mut stays).await;
    let started = Instant::now();
    timeout(DEADLINE, listener.seal()).await.expect("a seal in time");
    assert!(started.elapsed() >= LIMITS.drain, "it had time to end by itself");
    ends(&mut stays).await;
    is_served(&mut connect(address).await).await;
}

#[tokio::test]
async fn a_seal_waits_for_a_connection_that_ends_by_itself() {
    let listener = Listener::new("a test", ListenerLimits { drain: DEADLINE, ..LIMITS });
    let mut leaves = connect(echoing(&listener)).await;
    is_served(&mut leaves).await;
    leaves.write_all(b"last words").await.expect("sending");
    leaves.shutdown().await.expect("closing our side");
    let mut rest = String::new();
    let (read, ()) = tokio::join!(leaves.read_to_string(&mut rest), listener.seal());
    read.expect("what was on its way");
    assert_eq!(rest, "last words");
}

#[tokio::test]
async fn a_closed_listener_frees_its_ports_and_connections_go_on() {
    let listener = Listener::new("a test", LIMITS);
    let address = echoing(&listener);
    let mut open = connect(address).await;
    is_served(&mut open).await;
    listener.close().await;
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
    is_served(&mut open).await;
    drop(listener);
    ends(&mut open).await;
}

/// Returns the answer to a client that asks and closes its side before it is answered.
async fn half_closed(half_close: HalfClose) -> String {
    let settings = HttpSettings {
        head_bytes: 16 * 1024,
        head_wait: DEADLINE,
        half_close,
        closes_when_crowded: false,
        http2: None,
    };
    let listener = Listener::new("a test", LIMITS);
    let socket = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let address = socket.local_addr().expect("its address");
    let (asked, sign) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, awaited) = (Arc::clone(&asked), Arc::clone(&sign));
    let serve = move |connection: Connection| {
        let (told, awaited) = (Arc::clone(&told), Arc::clone(&awaited));
        connection.serve_http(settings, move |_: Request<Incoming>| {
            let (told, awaited) = (Arc::clone(&told), Arc::clone(&awaited));
            async move {
                told.notify_one();
                awaited.notified().await;
                Ok(Response::new(Full::new(Bytes::from_static(b"late"))))
            }
        })
    };
    listener.serve(socket, None, serve).expect("serving");
    let mut stream = connect(address).await;
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("sending");
    asked.notified().await;
    stream.shutdown().await.expect("closing our side");
    if half_close == HalfClose::Answer {
        sign.notify_one();
    }
    let mut answer = String::new();
    timeout(DEADLINE, stream.read_to_string(&mut answer)).await.expect("an end in time").expect("an orderly end");
    answer
}

#[tokio::test]
async fn a_client_that_closes_its_side_is_answered_or_has_left_as_chosen() {
    assert!(half_closed(HalfClose::Answer).await.ends_with("late"));
    assert_eq!(half_closed(HalfClose::Leave).await, "", "nobody waits for the answer");
}

#[tokio::test]
async fn an_accept_that_fails_does_not_spin() {
    let tries = AtomicU32::new(0);
    let enough = Notify::new();
    let next = || async {
        if tries.fetch_add(1, Ordering::Relaxed) == 3 {
            enough.notify_one();
        }
        Err(io::Error::other("too many open files"))
    };
    let started = Instant::now();
    tokio::select! {
        () = accept_all("a test", next, |_| {}) => {}
        () = enough.notified() => {}
    }
    assert!(started.elapsed() >= ACCEPT_PAUSE * 3, "{:?}", started.elapsed());
}
