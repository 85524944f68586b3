//! `http_mock` services, beside a plain server.

use std::net::TcpListener;
use std::sync::Arc;

use bytes::Bytes;
use gateways::faults::FaultEngine;
use gateways::http_mock::{HttpMocks, MockContext};
use scenario::plan::Seed;
use scenario::spec::load;
use serde_json::json;

use crate::direct::{self, Plain};
use crate::target::{Ask, Pair, Target};

/// Size of the body of a larger request and answer.
const LARGER: usize = 16 * 1024;

/// Returns the measured pairs of mocks.
pub(crate) async fn pairs() -> Vec<Pair> {
    vec![
        small().await,
        pair("http mock, 16 KiB both ways", LARGER, 0).await,
        pair("http mock, 1 fault rule that never fires", 200, 1).await,
        pair("http mock, 50 fault rules that never fire", 200, 50).await,
    ]
}

/// A mock that records, with a request and an answer as most are.
pub(crate) async fn small() -> Pair {
    pair("http mock", 200, 0).await
}

async fn pair(name: &'static str, bytes: usize, rules: usize) -> Pair {
    let answer = json!({"id": "refund-1", "note": "x".repeat(bytes)});
    let ask = Ask::post("/refunds", "shop", json!({"order": "1001", "note": "y".repeat(bytes)}).to_string());
    let body: Arc<[Bytes]> = [Bytes::from(answer.to_string())].into();
    let plain = direct::target(Plain { content_type: "application/json", parts: body }, ask.clone()).await;
    Pair { name, is_streamed: false, plain, gateway: serve(&answer, ask, rules) }
}

fn serve(answer: &serde_json::Value, ask: Ask, rules: usize) -> Target {
    let rule = json!({"tool": "shop:POST /refunds", "mode": "error", "between": ["24h", "25h"]});
    let spec = json!({
        "version": 1,
        "id": "bench",
        "base": "debian",
        "task": {"prompt": "x"},
        "services": [{
            "name": "shop",
            "type": "http_mock",
            "record": true,
            "routes": [
                {"method": "GET", "path": "/orders/{id}", "response": {"id": "1001"}},
                {"method": "POST", "path": "/refunds", "status": 201, "response": answer},
            ],
        }],
        "chaos": {"tool_faults": vec![rule; rules]},
        "invariants": {"x": {"description": "x", "check": {"type": "file_exists", "path": "x"}}},
    });
    let spec = load(&spec.to_string(), None).spec.expect("a valid spec");
    let mock = spec.services[0].mock().expect("a mock").clone();
    let context = MockContext::default();
    let faults = FaultEngine::new(&spec.chaos, Seed::new(1), Arc::clone(&context.clock));
    faults.start();
    let context = MockContext { faults: (rules > 0).then(|| Arc::new(faults)), ..context };
    let mocks = HttpMocks::new([("shop".to_owned(), mock)], context);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("its address");
    mocks.serve(listener, "shop").expect("serving");
    Target { address, ask, _server: Box::new(mocks) }
}
