//! Engines and a client for tests of faults.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use scenario::plan::Seed;
use scenario::spec::load;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::FaultEngine;
use crate::clock::Clock;

/// The engine of a spec with these faults, for services `shop`, `mail` and `db` and a model. The agent has started, and its clock
/// stands still.
pub(crate) fn engine(faults: &str, seed: u64) -> FaultEngine {
    engine_at(faults, seed, Arc::new(Clock::default()))
}

/// The same with another clock.
pub(crate) fn engine_at(faults: &str, seed: u64, clock: Arc<Clock>) -> FaultEngine {
    let text = format!(
        "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
         model: {{mode: scripted, turns: [{{content: hello}}]}}\n\
         network: {{egress: {{allow: ['*.example.com']}}}}\n\
         services: [{{name: shop, type: http_mock, ports: [80], routes: [{{path: /orders}}, {{method: POST, path: /refunds}}]}}, \
         {{name: mail, type: http_mock}}, {{name: db, image: postgres}}]\n\
         tools: [{{name: shopping_list, mock: {{unknown: empty}}}}]\n\
         chaos: {{{faults}}}\n\
         invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
    );
    let loaded = load(&text, None);
    let spec = loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let engine = FaultEngine::new(&spec.chaos, Seed::new(seed), clock);
    engine.start();
    engine
}

/// The longest that an answer may take.
const DEADLINE: Duration = Duration::from_secs(20);

/// Sends a request by hand; all that is answered until the connection ends, and the error with which it ended.
pub(crate) async fn call(address: SocketAddr, request: &str) -> (String, Option<ErrorKind>) {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    let mut answer = Vec::new();
    let talk = async {
        stream.write_all(request.as_bytes()).await?;
        stream.read_to_end(&mut answer).await
    };
    let ended = timeout(DEADLINE, talk).await.expect("an end in time");
    (String::from_utf8_lossy(&answer).into_owned(), ended.err().map(|error| error.kind()))
}
