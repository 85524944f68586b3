//! Tools for tests: a gateway on loopback, clients of both eras, and servers in memory.

mod server;

use std::collections::BTreeMap;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use async_trait::async_trait;
use scenario::cassette::{ToolCassette, ToolTape};
use scenario::evidence::{Evidence, ToolCall};
use scenario::plan::Seed;
use scenario::spec::Spec;
use scenario::spec::sections::{DeclaredTool, Matching, Tools};
use serde_json::{Value as Json, json};
use tokio::net::TcpStream;

use super::{DeclaredWith, RecordedTools, ServicePlace, ToolGateway, ToolGatewaySettings};
use crate::Gateway as _;
use crate::clock::Clock;
use crate::contract_session::ContractSession;
use crate::dial::Dial;
use crate::faults::FaultEngine;
use crate::redact::Redactor;
pub(super) use server::{Fake, deadline, until};

/// The declaration of a tool.
pub(super) fn declared(yaml: &str) -> DeclaredTool {
    tools(&format!("[{yaml}]")).declared().next().expect("a declared tool").clone()
}

/// The tools of a spec.
pub(super) fn tools(yaml: &str) -> Tools {
    spec(yaml, "{}").tools.clone()
}

fn spec(tools: &str, chaos: &str) -> Spec {
    let spec = format!(
        "version: 1\nid: x\nbase: x\ntask: {{prompt: x}}\nservices: [{{name: shop, type: http_mock}}]\ntools: {tools}\n\
         chaos: {chaos}\ninvariants: {{a: {{check: {{type: file_exists, path: a}}}}}}"
    );
    let loaded = scenario::spec::load(&spec, None);
    loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

/// Connects to this machine.
#[derive(Debug)]
struct Here;

#[async_trait]
impl Dial for Here {
    async fn dial(&self, port: u16) -> io::Result<TcpStream> {
        TcpStream::connect(("127.0.0.1", port)).await
    }
}

/// A service of this machine.
pub(super) fn place(name: &str, port: u16) -> ServicePlace {
    ServicePlace { name: name.to_owned(), dial: Arc::new(Here), port, mark: None }
}

/// Setup of a gateway in a test.
pub(super) struct Setup {
    tools: String,
    chaos: String,
    servers: Vec<(super::McpServer, Vec<Json>)>,
    port: u16,
    headers: Vec<(String, String)>,
    secrets: BTreeMap<String, String>,
    recorded: Option<(ToolTape, Matching)>,
    contracts: Option<Arc<ContractSession>>,
}

/// A gateway that is being served.
pub(super) struct Running {
    pub(super) gateway: ToolGateway,
    pub(super) port: u16,
    faults: Arc<FaultEngine>,
    client: reqwest::Client,
}

/// An answer of the gateway.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) session: Option<String>,
    pub(super) text: String,
}

/// A client of HTTP.
pub(super) fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().expect("a client")
}

/// A gateway with these tools.
pub(super) fn with(tools: &str) -> Setup {
    Setup {
        tools: tools.to_owned(),
        chaos: "{}".to_owned(),
        servers: Vec::new(),
        port: 0,
        headers: Vec::new(),
        secrets: BTreeMap::new(),
        recorded: None,
        contracts: None,
    }
}

impl Setup {
    pub(super) fn faults(self, faults: &str) -> Self {
        Self { chaos: format!("{{tool_faults: [{faults}]}}"), ..self }
    }

    pub(super) fn server(mut self, server: (super::McpServer, Vec<Json>)) -> Self {
        self.servers.push(server);
        self
    }

    /// The service `shop` is at this port.
    pub(super) fn service(self, port: u16, headers: &[(&str, &str)]) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { port, headers, ..self }
    }

    pub(super) fn secret(mut self, value: &str) -> Self {
        self.secrets.insert("KEY".to_owned(), value.to_owned());
        self
    }

    pub(super) fn replaying(self, cassette: &ToolCassette, matching: Matching) -> Self {
        let tape = cassette.scenario("any").expect("the only scenario").clone();
        Self { recorded: Some((tape, matching)), ..self }
    }

    /// Calls are decided on by this session.
    pub(super) fn contracts(self, session: &Arc<ContractSession>) -> Self {
        Self { contracts: Some(Arc::clone(session)), ..self }
    }

    pub(super) fn serve(self) -> Running {
        let spec = spec(&self.tools, &self.chaos);
        let clock = Arc::new(Clock::default());
        let faults = Arc::new(FaultEngine::new(&spec.chaos, Seed::new(1), Arc::clone(&clock)));
        faults.start();
        let declared = spec.tools.declared().map(|tool| DeclaredWith {
            tool: tool.clone(),
            service: tool.http.as_ref().map(|_| place("shop", self.port)),
            headers: self.headers.clone(),
        });
        let gateway = ToolGateway::new(ToolGatewaySettings {
            declared: declared.collect(),
            servers: self.servers,
            recorded: self.recorded.map(|(tape, matching)| RecordedTools::new(tape, matching)),
            tools: spec.tools.clone(),
            clock,
            redactor: Redactor::new(&self.secrets, "k"),
            contracts: self.contracts,
            faults: Some(Arc::clone(&faults)),
        });
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let port = listener.local_addr().expect("its address").port();
        gateway.serve(listener).expect("serving");
        Running { gateway, port, faults, client: client() }
    }
}

impl Running {
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Sends a message; the head of the answer.
    pub(super) async fn send(
        &self,
        headers: &[(&str, &str)],
        body: impl Into<String>,
    ) -> reqwest::Result<reqwest::Response> {
        let mut request = self.client.post(self.url()).header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(body.into()).send().await
    }

    /// Sends a message; the whole answer.
    pub(super) async fn post(&self, headers: &[(&str, &str)], body: impl ToString) -> Answer {
        let answer = deadline(self.send(headers, body.to_string())).await.expect("an answer");
        let session = answer.headers().get("mcp-session-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
        let status = answer.status().as_u16();
        Answer { status, session, text: deadline(answer.text()).await.expect("the whole answer") }
    }

    /// Sends a request without a session.
    pub(super) async fn ask(&self, method: &str, params: Json) -> Json {
        self.post(&[], request(method, params)).await.json()
    }

    /// Sends a request in a session.
    pub(super) async fn in_session(&self, session: &str, method: &str, params: Json) -> Answer {
        self.post(&[("mcp-session-id", session)], request(method, params)).await
    }

    /// Sends a request that stands alone.
    pub(super) async fn alone(&self, method: &str, params: Json) -> Answer {
        self.post(&[], alone(method, params)).await
    }

    /// Begins a session; its id.
    pub(super) async fn begin(&self) -> String {
        let client = json!({"name": "test", "version": "1"});
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        self.post(&[], request("initialize", params)).await.session.expect("a session")
    }

    /// A stream of notifications.
    pub(super) async fn stream(&self, session: &str) -> reqwest::Response {
        let request =
            self.client.get(self.url()).header("mcp-session-id", session).header("accept", "text/event-stream");
        deadline(request.send()).await.expect("a stream")
    }

    /// Ends a session; the status.
    pub(super) async fn end(&self, session: &str) -> u16 {
        let request = self.client.delete(self.url()).header("mcp-session-id", session);
        deadline(request.send()).await.expect("an answer").status().as_u16()
    }

    /// Calls a tool; its text and whether it is an error, of the tool or of the protocol.
    pub(super) async fn call(&self, tool: &str, arguments: Json) -> (String, bool) {
        said(&self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await)
    }

    /// The names of the tools.
    pub(super) async fn names(&self) -> Vec<String> {
        let list = self.ask("tools/list", json!({})).await;
        let tools = list["result"]["tools"].as_array().expect("tools").clone();
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// Returns the evidence so far.
    pub(super) fn evidence(&self) -> Evidence {
        let mut evidence = Evidence::default();
        self.gateway.record(&mut evidence);
        evidence.faults = Some(self.faults.record());
        evidence
    }

    /// The calls so far.
    pub(super) fn calls(&self) -> Vec<ToolCall> {
        self.evidence().call_trace.0
    }

    /// Fails unless a call was recorded; waits for it.
    pub(super) async fn one_call(&self) -> ToolCall {
        until(|| !self.calls().is_empty()).await;
        self.calls().remove(0)
    }
}

impl Answer {
    pub(super) fn json(&self) -> Json {
        serde_json::from_str(&self.text).unwrap_or_else(|problem| panic!("{problem}: {self:?}"))
    }

    /// The messages of a stream.
    pub(super) fn events(&self) -> Vec<Json> {
        let lines = self.text.lines().filter_map(|line| line.strip_prefix("data: "));
        lines.map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

/// The text of the answer to a call, and whether it is an error.
pub(super) fn said(answer: &Json) -> (String, bool) {
    match answer["error"]["message"].as_str() {
        Some(message) => (message.to_owned(), true),
        None => {
            let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
            (text.to_owned(), answer["result"]["isError"] == true)
        }
    }
}

/// A request.
pub(super) fn request(method: &str, params: Json) -> String {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string()
}

/// A request that stands alone.
pub(super) fn alone(method: &str, mut params: Json) -> String {
    let client = json!({"name": "alone", "version": "2"});
    for (key, value) in
        [("protocolVersion", json!("2026-07-28")), ("clientCapabilities", json!({})), ("clientInfo", client)]
    {
        params["_meta"][format!("io.modelcontextprotocol/{key}")] = value;
    }
    request(method, params)
}
