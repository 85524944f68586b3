//! Faults of the network over real connections. Times are only checked from below, so that a slow machine fails nothing.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use super::{Connection, IdleTimeout, Listener, ListenerLimits};
use crate::clock::Clock;
use crate::faults::FaultEngine;
use crate::faults::testing::engine_at;
use crate::tls::{Authority, Inside, Terminator};

/// Time limit for whatever a test waits for.
const DEADLINE: Duration = Duration::from_secs(20);
/// Long enough for nothing to happen in.
const WHILE: Duration = Duration::from_millis(100);
/// The time after which an idle connection is ended.
const IDLE: Duration = Duration::from_millis(250);
/// Room for two connections.
const LIMITS: ListenerLimits =
    ListenerLimits { connections: 2, idle: IdleTimeout::Requests(IDLE), drain: Duration::from_millis(50) };

/// A service `shop` that echoes bytes, behind these faults.
struct World {
    listener: Listener,
    faults: Arc<FaultEngine>,
    clock: Arc<Clock>,
    address: SocketAddr,
}

impl World {
    fn new(rules: &str) -> Self {
        Self::with(rules, ListenerLimits { connections: 8, idle: IdleTimeout::Bytes(DEADLINE), ..LIMITS })
    }

    fn with(rules: &str, limits: ListenerLimits) -> Self {
        let clock = Arc::new(Clock::default());
        let faults = Arc::new(engine_at(&format!("network_faults: [{rules}]"), 1, Arc::clone(&clock)));
        let listener = Listener::new("a test", limits);
        let socket = TcpListener::bind("127.0.0.1:0").expect("a socket");
        let address = socket.local_addr().expect("its address");
        listener.serve_link(socket, None, faults.link("shop"), echo).expect("serving");
        Self { listener, faults, clock, address }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("a connection")
    }

    /// The targets of the faults that fired, and their numbers.
    fn fired(&self) -> Vec<(String, u64)> {
        self.faults.record().firings.into_iter().map(|firing| (firing.target, firing.call)).collect()
    }
}

/// Echoes bytes.
async fn echo(connection: Connection) {
    let (mut from, mut to) = tokio::io::split(connection.stream);
    let _ = tokio::io::copy(&mut from, &mut to).await;
    let _ = to.shutdown().await;
}

/// Sends bytes, and waits until they have come back; gives the time that took.
async fn there_and_back(stream: &mut TcpStream, bytes: &[u8]) -> Duration {
    let started = Instant::now();
    stream.write_all(bytes).await.expect("sending");
    let mut back = vec![0; bytes.len()];
    timeout(DEADLINE, stream.read_exact(&mut back)).await.expect("in time").expect("the bytes");
    assert_eq!(back, bytes);
    started.elapsed()
}

/// Expects that nothing comes for a while.
async fn is_silent(stream: &mut TcpStream) {
    is_silent_for(stream, WHILE).await;
}

async fn is_silent_for(stream: &mut TcpStream, wait: Duration) {
    assert!(timeout(wait, stream.read_u8()).await.is_err(), "something came");
}

/// The connection ends, in whatever way; nothing came.
async fn ends(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    let _ = timeout(DEADLINE, stream.read_to_end(&mut rest)).await.expect("an end in time");
    assert!(rest.is_empty());
}

#[tokio::test]
async fn latency_delays_both_directions_keeps_the_order_and_is_no_rate() {
    let world =
        World::new("{mode: latency, services: [shop], delay_ms: 100}, {mode: latency, delay_ms: 20, on_calls: [1]}");
    let mut stream = world.connect().await;
    assert!(there_and_back(&mut stream, b"x").await >= Duration::from_millis(240));
    let (mut from, mut to) = stream.split();
    let started = Instant::now();
    let send = async {
        // Each is a chunk of its own, and all are under way at once.
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        for number in 0..20_u8 {
            ticks.tick().await;
            to.write_u8(number).await.expect("sending");
        }
    };
    let receive = async {
        let mut back = [0; 20];
        from.read_exact(&mut back).await.expect("the bytes");
        back
    };
    let (back, ()) = tokio::join!(receive, send);
    assert_eq!(back, std::array::from_fn(|number| u8::try_from(number).expect("small")));
    assert!(started.elapsed() < Duration::from_millis(20 * 240), "twenty chunks one after another");
    to.shutdown().await.expect("an end");
    assert_eq!(stream.read(&mut [0]).await.expect("the end"), 0, "the end travels too");
    assert_eq!(world.fired(), [("shop".to_owned(), 1), ("shop".to_owned(), 1)]);
}

#[tokio::test]
async fn bandwidth_limits_each_direction_and_waiting_bytes_are_not_idle() {
    let world =
        World::with("{mode: bandwidth, bytes_per_second: 1000}, {mode: bandwidth, bytes_per_second: 1}", LIMITS);
    let mut stream = world.connect().await;
    let bytes: Vec<_> = (0..200_u8).chain(0..200).collect();
    assert!(there_and_back(&mut stream, &bytes).await >= Duration::from_millis(400));
    assert_eq!(world.fired().len(), 1, "the first rate counts, and the other one is no fault");
}

#[tokio::test]
async fn a_partition_without_an_end_is_silent_until_the_client_gives_up() {
    let world = World::with("{mode: partition, services: [shop], times: 2}", LIMITS);
    let mut first = world.connect().await;
    first.write_all(b"x").await.expect("sending");
    is_silent_for(&mut first, IDLE + WHILE).await;
    let mut second = world.connect().await;
    is_silent(&mut second).await;
    // Both places are taken until a client gives up.
    let mut third = world.connect().await;
    drop(first);
    there_and_back(&mut third, b"x").await;
    assert_eq!(world.fired(), [("shop".to_owned(), 1), ("shop".to_owned(), 2)]);
    assert_eq!(world.faults.record().rules[0].matched, 3);
    world.faults.release().await;
    ends(&mut second).await;
}

#[tokio::test]
async fn a_partition_with_a_window_holds_new_connections_and_open_ones() {
    let world = World::new("{mode: partition, between: [1ms, 1s]}");
    let mut idle = world.connect().await;
    let mut open = world.connect().await;
    there_and_back(&mut idle, b"before").await;
    there_and_back(&mut open, b"before").await;
    assert!(world.fired().is_empty(), "the window has not begun");
    drop(idle);
    world.clock.start();
    let started = Instant::now();
    while world.clock.elapsed_ms() < 1 {
        tokio::task::yield_now().await;
    }
    let mut new = world.connect().await;
    tokio::join!(there_and_back(&mut open, b"open"), there_and_back(&mut new, b"new"));
    assert!(started.elapsed() >= Duration::from_millis(999), "{:?}", started.elapsed());
    let mut fired = world.fired();
    fired.sort();
    assert_eq!(fired, [("shop".to_owned(), 2), ("shop".to_owned(), 3)], "one that nothing passed on was not hit");
    let mut later = world.connect().await;
    there_and_back(&mut later, b"after").await;
    there_and_back(&mut open, b"after").await;
    assert_eq!(world.faults.record().total(), 2);
}

#[tokio::test]
async fn a_partition_for_a_time_ends_and_what_a_client_sent_before_it_left_arrives() {
    let world = World::new("{mode: partition, on_calls: [1], for: 150ms}");
    world.clock.start();
    let started = Instant::now();
    let mut stream = world.connect().await;
    stream.write_all(b"hello").await.expect("sending");
    stream.shutdown().await.expect("an end");
    let mut back = Vec::new();
    timeout(DEADLINE, stream.read_to_end(&mut back)).await.expect("in time").expect("the bytes");
    assert_eq!(back, b"hello");
    assert!(started.elapsed() >= Duration::from_millis(149));
}

#[tokio::test]
async fn bytes_that_are_on_their_way_arrive_when_the_agent_has_ended() {
    let world = World::new("{mode: latency, delay_ms: 10000}, {mode: partition, on_calls: [2], for: 1h}");
    let started = Instant::now();
    let (mut late, mut held) = (world.connect().await, world.connect().await);
    late.write_all(b"late").await.expect("sending");
    held.write_all(b"held").await.expect("sending");
    is_silent(&mut late).await;
    world.faults.release().await;
    let mut back = [0; 4];
    for (stream, bytes) in [(&mut late, b"late"), (&mut held, b"held")] {
        timeout(DEADLINE, stream.read_exact(&mut back)).await.expect("in time").expect("the bytes");
        assert_eq!(&back, bytes);
    }
    assert!(started.elapsed() < Duration::from_secs(10), "nothing waits for its time");
    let mut check = world.connect().await;
    there_and_back(&mut check, b"x").await;
    assert_eq!(world.faults.record().rules[0].matched, 2, "what checks open does not count");
}

#[tokio::test]
async fn cutting_a_listener_frees_connections_that_are_held() {
    let world = World::new("{mode: partition, on_calls: [1]}, {mode: partition, on_calls: [2], for: 1h}");
    let (mut silent, mut held) = (world.connect().await, world.connect().await);
    is_silent(&mut silent).await;
    is_silent(&mut held).await;
    timeout(DEADLINE, world.listener.cut()).await.expect("in time");
    ends(&mut silent).await;
    ends(&mut held).await;
    let mut third = world.connect().await;
    there_and_back(&mut third, b"x").await;
}

#[tokio::test]
async fn a_reset_passes_through_faults() {
    let clock = Arc::new(Clock::default());
    let faults = Arc::new(engine_at("network_faults: [{mode: latency, delay_ms: 10}]", 1, clock));
    let listener = Listener::new("a test", LIMITS);
    let socket = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let address = socket.local_addr().expect("its address");
    let resetting = |mut connection: Connection| async move {
        let _ = connection.stream.read_u8().await;
        connection.reset.arm();
    };
    listener.serve_link(socket, None, faults.link("shop"), resetting).expect("serving");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(b"x").await.expect("sending");
    let error = timeout(DEADLINE, stream.read_u8()).await.expect("in time").expect_err("a reset");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn services_without_a_fault_have_no_link() {
    let world = World::new("{mode: latency, services: [db, 'ma*'], delay_ms: 5}, {mode: dns_failure, names: [shop]}");
    let links = ["shop", "db", "mail", "model"].map(|service| world.faults.link(service).is_some());
    assert_eq!(links, [false, true, true, false]);
    let mut stream = world.connect().await;
    there_and_back(&mut stream, b"x").await;
    assert!(world.faults.record().is_vacuous());
}

#[tokio::test]
async fn tls_is_taken_off_behind_faults_and_its_handshake_is_slow_too() {
    let clock = Arc::new(Clock::default());
    let faults = Arc::new(engine_at("network_faults: [{mode: latency, delay_ms: 50}]", 1, clock));
    let authority = Authority::new(Vec::new()).expect("an authority");
    let terminator = Terminator::new(&authority, Inside::Service).expect("a terminator");
    let listener = Listener::new("a test", ListenerLimits { idle: IdleTimeout::Bytes(DEADLINE), ..LIMITS });
    let socket = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let address = socket.local_addr().expect("its address");
    listener.serve_link(socket, Some(terminator), faults.link("shop"), echo).expect("serving");
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).expect("a certificate")).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = builder.expect("versions").with_root_certificates(roots).with_no_client_auth();
    let started = Instant::now();
    let stream = TcpStream::connect(address).await.expect("a connection");
    let name = ServerName::try_from("api.example.com").expect("a name");
    let mut secure = TlsConnector::from(Arc::new(config)).connect(name, stream).await.expect("trust");
    assert!(started.elapsed() >= Duration::from_millis(100));
    secure.write_all(b"hello").await.expect("sending");
    let mut back = [0; 5];
    timeout(DEADLINE, secure.read_exact(&mut back)).await.expect("in time").expect("the bytes");
    assert_eq!(&back, b"hello");
    let mut plain = TcpStream::connect(address).await.expect("a connection");
    there_and_back(&mut plain, b"without TLS too").await;
}
