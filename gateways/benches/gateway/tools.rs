//! The gateway of tools, beside the request that an HTTP tool is.

use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use gateways::clock::Clock;
use gateways::dial::Dial;
use gateways::redact::Redactor;
use gateways::tools::{DeclaredWith, ServicePlace, ToolGateway, ToolGatewaySettings};
use scenario::spec::load;
use serde_json::{Value as Json, json};
use tokio::net::TcpStream;

use crate::direct::{self, Plain};
use crate::target::{Ask, Pair, Target};

/// Connects to this machine.
#[derive(Debug)]
struct Here;

#[async_trait]
impl Dial for Here {
    async fn dial(&self, port: u16) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

/// Returns the measured pairs of tools: each beside the request to the service itself.
pub(crate) async fn pairs() -> Vec<Pair> {
    vec![over_http().await, mocked().await]
}

/// A tool that is an HTTP operation.
async fn over_http() -> Pair {
    let plain = direct::target(answer(), request()).await;
    let http = json!({"service": "shop", "method": "POST", "path": "/refunds"});
    let gateway = serve(&json!({"http": http}), plain.address.port());
    Pair { name: "tool over MCP, an HTTP operation", is_streamed: false, plain, gateway }
}

/// A tool whose answers are written down.
pub(crate) async fn mocked() -> Pair {
    let plain = direct::target(answer(), request()).await;
    let rule = json!({"match": {"order": "1001"}, "return": refund()});
    let gateway = serve(&json!({"mock": {"rules": [rule]}}), 0);
    Pair { name: "tool over MCP, a mock", is_streamed: false, plain, gateway }
}

/// Returns the request to the service itself.
fn request() -> Ask {
    Ask::post("/refunds", "shop", arguments().to_string())
}

fn arguments() -> Json {
    json!({"order": "1001", "note": "y".repeat(200)})
}

fn refund() -> Json {
    json!({"id": "refund-1", "note": "x".repeat(200)})
}

fn answer() -> Plain {
    let body: Arc<[Bytes]> = [Bytes::from(refund().to_string())].into();
    Plain { content_type: "application/json", parts: body }
}

/// A gateway with one tool, whose service is at this port.
fn serve(tool: &Json, port: u16) -> Target {
    let schema = json!({"type": "object", "properties": {"order": {"type": "string"}, "note": {"type": "string"}}});
    let mut declared = json!({"name": "refund", "description": "Refund an order", "input_schema": schema});
    let (key, value) = tool.as_object().and_then(|tool| tool.iter().next()).expect("what it does");
    declared[key] = value.clone();
    let spec = json!({
        "version": 1,
        "id": "bench",
        "base": "debian",
        "task": {"prompt": "x"},
        "services": [{"name": "shop", "type": "http_mock"}],
        "tools": [declared],
        "invariants": {"x": {"description": "x", "check": {"type": "file_exists", "path": "x"}}},
    });
    let spec = load(&spec.to_string(), None).spec.expect("a valid spec");
    let place = ServicePlace { name: "shop".to_owned(), dial: Arc::new(Here), port, mark: None };
    let declared = spec.tools.declared().map(|tool| {
        let service = tool.http.as_ref().map(|_| place.clone());
        DeclaredWith { tool: tool.clone(), service, headers: Vec::new() }
    });
    let gateway = ToolGateway::new(ToolGatewaySettings {
        declared: declared.collect(),
        servers: Vec::new(),
        recorded: None,
        tools: spec.tools.clone(),
        clock: Arc::new(Clock::default()),
        redactor: Redactor::default(),
        contracts: None,
        faults: None,
    });
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("its address");
    gateway.serve(listener).expect("serving");
    let params = json!({"name": "refund", "arguments": arguments()});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let mut ask = Ask::post("/mcp", "tools", call.to_string());
    ask.headers.push(("accept", "application/json, text/event-stream".to_owned()));
    Target { address, ask, _server: Box::new(gateway) }
}
