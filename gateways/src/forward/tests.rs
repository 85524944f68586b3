use std::io::ErrorKind;
use std::net::SocketAddr;

use async_trait::async_trait;
use scenario::plan::Seed;
use scenario::spec::load;
use tokio::net::{TcpListener as Server, TcpStream};

use super::*;
use crate::clock::Clock;
use crate::faults::FaultEngine;

/// Connects to this machine.
#[derive(Debug)]
pub(super) struct Here;

#[async_trait]
impl Dial for Here {
    async fn dial(&self, port: u16) -> io::Result<TcpStream> {
        TcpStream::connect(("127.0.0.1", port)).await
    }
}

/// A forward with these faults before a server that greets and then says everything twice.
async fn forward(faults: &str) -> (Forward, SocketAddr, Arc<FaultEngine>) {
    let text = format!(
        "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
         services: [{{name: cache, image: 'redis:7'}}]\nchaos: {{service_faults: [{faults}]}}\n\
         invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
    );
    let loaded = load(&text, None);
    let spec = loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let engine = Arc::new(FaultEngine::new(&spec.chaos, Seed::new(1), Arc::new(Clock::default())));
    engine.start();
    let port = echo().await;
    let front = TcpListener::bind("127.0.0.1:0").expect("a front");
    let address = front.local_addr().expect("an address");
    let target = Target { dial: Arc::new(Here), port };
    let faults = ServiceFaults::of(&engine, "cache", false);
    (
        Forward::serve(front, target, 10, None, ForwardFaults { service: faults, ..ForwardFaults::default() })
            .expect("a forward"),
        address,
        engine,
    )
}

/// The port of a server that greets and then says everything twice.
pub(super) async fn echo() -> u16 {
    let server = Server::bind("127.0.0.1:0").await.expect("a server");
    let port = server.local_addr().expect("an address").port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = server.accept().await {
            tokio::spawn(async move {
                let mut bytes = [0; 100];
                let _ = client.write_all(b"hi").await;
                while let Ok(length @ 1..) = client.read(&mut bytes).await {
                    let _ = client.write_all(&bytes[..length].repeat(2)).await;
                }
            });
        }
    });
    port
}

/// Sends a byte, and reads everything that comes; returns the text or the error that ended it.
pub(super) async fn talk(address: SocketAddr) -> Result<String, ErrorKind> {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let mut greeting = [0; 2];
    stream.read_exact(&mut greeting).await.map_err(|error| error.kind())?;
    stream.write_all(b"x").await.map_err(|error| error.kind())?;
    let _ = stream.shutdown().await;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.map_err(|error| error.kind())?;
    Ok(answer)
}

#[tokio::test]
async fn connections_are_refused_reset_and_slowed() {
    let (_forward, address, engine) = forward(
        "{service: cache, mode: slow, delay_ms: 20, on_calls: [4]}, {service: cache, mode: refuse, on_calls: [1]}, \
         {service: cache, mode: reset, on_calls: [2]}",
    )
    .await;
    assert_eq!(talk(address).await, Err(ErrorKind::ConnectionReset), "refused before the greeting");
    assert_eq!(talk(address).await, Err(ErrorKind::ConnectionReset), "reset after the first bytes");
    assert_eq!(talk(address).await, Ok("xx".to_owned()));
    let started = tokio::time::Instant::now();
    assert_eq!(talk(address).await, Ok("xx".to_owned()));
    assert!(started.elapsed() >= Duration::from_millis(20));
    let record = engine.record();
    let counts: Vec<_> = record.rules.iter().map(|rule| (rule.matched, rule.fired)).collect();
    assert_eq!(counts, [(4, 1), (4, 1), (4, 1)]);
    assert_eq!(record.firings[0].target, "cache:connect");
}

#[tokio::test]
async fn a_connection_hangs_after_the_first_bytes_and_a_silent_one_is_no_fault() {
    let (_forward, address, engine) = forward("{service: cache, mode: hang, delay_ms: 30}").await;
    let mut silent = TcpStream::connect(address).await.expect("a connection");
    let mut greeting = [0; 2];
    silent.read_exact(&mut greeting).await.expect("a greeting");
    drop(silent);
    while engine.record().total() > 0 {
        tokio::task::yield_now().await;
    }
    let started = tokio::time::Instant::now();
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.read_exact(&mut greeting).await.expect("a greeting");
    stream.write_all(b"x").await.expect("bytes");
    assert_eq!(stream.read(&mut greeting).await.expect("an end"), 0);
    assert!(started.elapsed() >= Duration::from_millis(30));
    assert_eq!(engine.record().total(), 1);
}
