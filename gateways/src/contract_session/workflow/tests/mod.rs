//! A workflow with an orchestrator and workers, and the gateways through which agents see it.

mod ends;
mod gateways;
mod handoffs;
mod models;
mod resources;
mod services;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use scenario::evidence::{ContractMode, ContractRecord, Evidence};
use scenario::plan::Seed;
use scenario::spec::sections::{NarrowingFeedback, PauseScope};
use serde_json::{Value as Json, json};
use tokio::time::{sleep, timeout};
use tool_contracts::options::{Fallback, Mode};
use tool_contracts::{CompileOptions, RawFile, RawSet, Script, Via, compile_workflow};

use super::ContractWorkflow;
use crate::Gateway as _;
use crate::api::{ApiGateway, ApiSettings};
use crate::clock::Clock;
use crate::contract_session::{
    ContractSession, ContractSettings, ExecutionRequest, HandoffOffer, Permit, SessionApprover,
};
use crate::faults::FaultEngine;
use crate::redact::Redactor;
use crate::tools::{DeclaredWith, ToolGateway, ToolGatewaySettings};

const DEADLINE: Duration = Duration::from_secs(20);
/// The token of the sandbox at its API.
const OWN: &str = "ks_sb_feed";
const SESSION: &str = "schema_version: \"1.0\"\nagent: a\nresources: {order: {extract_from: {path: $.order}}}\n\
    policy: {label_gates: [{when_label: secret, deny_tools: [pay], reason: secrets stay here}]}\n";
const PAY: &str = "tool: pay\nside_effect: write\ntimeouts: {total_ms: 10000}\n";
const LOOK: &str = "tool: look\nside_effect: read\n";
const ROLES: &str = "schema_version: \"1.0\"\nworkflow: shop\n\
    roles: [{name: boss, session_contract: boss/session.yaml}, {name: worker, session_contract: worker/session.yaml}]\n";
/// A handoff from the orchestrator to workers.
pub(super) const HANDOFF: &str = "handoffs: [{from: boss, to: worker}]\n";

/// Opens a workflow with these lines in its file.
pub(super) fn opened(more: &str, mode: ContractMode) -> Arc<ContractWorkflow> {
    let file = |name: &str, text: &str| RawFile { name: name.to_owned(), text: text.to_owned() };
    let workflow = format!("{ROLES}{more}");
    let worker = SESSION.replace("agent: a", "agent: b");
    let files = vec![
        file("workflow.yaml", &workflow),
        file("boss/session.yaml", SESSION),
        file("boss/pay.yaml", PAY),
        file("boss/look.yaml", LOOK),
        file("worker/session.yaml", &worker),
        file("worker/pay.yaml", PAY),
        file("worker/look.yaml", LOOK),
    ];
    let mut options = CompileOptions::default();
    options.run.unmatched = Fallback::Block;
    options.run.mode = if mode == ContractMode::Govern { Mode::Govern } else { Mode::Observe };
    let (compiled, _) = compile_workflow(&RawSet { files }, &options).expect("a workflow");
    let root = compiled.clone().into_root().expect("a role");
    let settings = ContractSettings {
        session: "s".to_owned(),
        role: None,
        contracts: Arc::new(root),
        mode,
        sees_model: false,
        feedback: NarrowingFeedback::Silent,
        max_retries: 0,
        approver: SessionApprover::Scripted { script: Script::default(), is_virtual: true },
        pause_scope: PauseScope::Session,
        hold_wait: DEADLINE,
        world: None,
        clock: Arc::new(Clock::default()),
        started_at: jiff::Timestamp::UNIX_EPOCH,
        redactor: Redactor::new(&BTreeMap::new(), "k"),
    };
    let workflow = ContractWorkflow::open(compiled, settings).expect("a root");
    workflow.add_root_token(OWN);
    workflow
}

/// A workflow whose agent has started.
pub(super) async fn started(more: &str) -> Arc<ContractWorkflow> {
    let workflow = opened(more, ContractMode::Govern);
    workflow.begin().await;
    workflow
}

/// A session below another one, that claimed a handoff.
pub(super) fn child(workflow: &ContractWorkflow, parent: &ContractSession) -> (Arc<ContractSession>, String) {
    let offer = HandoffOffer { to: "worker".to_owned(), artifacts: Vec::new() };
    let handoff = workflow.offer(parent, offer).expect("an offer");
    let claimed = workflow.claim(parent, &handoff, "worker").expect("a claim");
    (workflow.find(Some(&claimed.token)).expect("the session of the token"), claimed.token)
}

/// Requests permission for a call about an order.
pub(super) async fn permit(session: &ContractSession, tool: &str, order: &str) -> Permit {
    let request =
        ExecutionRequest { via: Via::Mcp, tool: tool.to_owned(), arguments: json!({"order": order}), model_id: None };
    timeout(Duration::from_secs(300), session.permit(request)).await.expect("a decision")
}

/// The code of a refusal; `granted` without one.
pub(super) fn code(permit: &Permit) -> &str {
    match permit {
        Permit::Granted(_) => "granted",
        Permit::Refused { reason, .. } => reason.code.name(),
        other => panic!("{other:?}"),
    }
}

/// The id of a call that may go on.
pub(super) fn granted(permit: Permit) -> String {
    match permit {
        Permit::Granted(call) => call,
        other => panic!("{other:?}"),
    }
}

/// The status of a session.
pub(super) fn status(session: &ContractSession) -> String {
    session.inner.live().state().status.name().to_owned()
}

/// The record at the end.
pub(super) async fn record(workflow: &ContractWorkflow) -> ContractRecord {
    workflow.seal().await;
    let mut evidence = Evidence::default();
    workflow.record(&mut evidence);
    evidence.tool_contracts.expect("a record")
}

/// Waits until something holds.
pub(super) async fn until(holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(DEADLINE, waiting).await.expect("it to hold in time");
}

/// A workflow behind the gateways of a sandbox.
pub(super) struct Served {
    pub(super) workflow: Arc<ContractWorkflow>,
    client: reqwest::Client,
    api: String,
    tools: String,
    _gateways: (ApiGateway, ToolGateway),
}

impl Served {
    pub(super) async fn new(more: &str) -> Self {
        let workflow = started(more).await;
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let (api, api_url) = serve_api(&workflow);
        let (tools, tools_url) = serve_tools(&workflow);
        Self { workflow, client, api: api_url, tools: tools_url, _gateways: (api, tools) }
    }

    /// Calls the API; returns the status, and the body or null.
    pub(super) async fn api(&self, token: &str, path: &str, body: Option<Json>) -> (u16, Json) {
        let url = format!("{}{path}", self.api);
        let request = match body {
            Some(body) => self.client.post(url).body(body.to_string()),
            None => self.client.get(url),
        };
        let answer = timeout(DEADLINE, request.bearer_auth(token).send()).await.expect("in time").expect("an answer");
        let status = answer.status().as_u16();
        let text = answer.text().await.expect("a body");
        (status, serde_json::from_str(&text).unwrap_or(Json::Null))
    }

    /// Posts to the API; the status, and the code of a refusal.
    pub(super) async fn post(&self, token: &str, path: &str, body: Json) -> (u16, String) {
        let (status, body) = self.api(token, path, Some(body)).await;
        (status, body["code"].as_str().unwrap_or_default().to_owned())
    }

    /// Offers work and claims it; the session's id and its token.
    pub(super) async fn child(&self, token: &str) -> (String, String) {
        let (_, offered) = self.api(token, "/v1/handoffs", Some(json!({"to": "worker"}))).await;
        let path = format!("/v1/handoffs/{}/claim", offered["handoff"].as_str().expect("a handoff"));
        let (status, claimed) = self.api(token, &path, Some(json!({"role": "worker"}))).await;
        assert_eq!(status, 200, "{claimed}");
        let text = |key: &str| claimed[key].as_str().expect("a text").to_owned();
        (text("session"), text("token"))
    }

    /// Calls the tool gateway with a header; returns the status and the answer.
    pub(super) async fn mcp(&self, header: Option<(&str, &str)>, method: &str, params: Json) -> (u16, Json) {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut request = self.client.post(&self.tools).header("accept", "application/json, text/event-stream");
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        let answer = timeout(DEADLINE, request.body(body.to_string()).send()).await.expect("in time");
        let answer = answer.expect("an answer");
        (answer.status().as_u16(), answer.json().await.expect("JSON"))
    }

    /// Calls a tool in a session; the text of the result.
    pub(super) async fn call(&self, token: Option<&str>, tool: &str, order: &str) -> String {
        let header = token.map(|token| ("x-touchstone-session", token));
        let params = json!({"name": tool, "arguments": {"order": order}});
        let (_, answer) = self.mcp(header, "tools/call", params).await;
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}

fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    (listener, url)
}

fn serve_api(workflow: &Arc<ContractWorkflow>) -> (ApiGateway, String) {
    let api = ApiGateway::new(ApiSettings {
        sandbox_id: "sb-0123456789ab".to_owned(),
        token: OWN.to_owned(),
        spec_id: "spec".to_owned(),
        scenario_id: "s".to_owned(),
        workspace: "/workspace",
        services: Vec::new(),
        clock: Arc::default(),
        redactor: Redactor::none(),
        started_at: jiff::Timestamp::UNIX_EPOCH,
        workflow: Some(Arc::clone(workflow)),
    });
    let (listener, url) = listener();
    api.serve(listener).expect("serving");
    (api, url)
}

fn serve_tools(workflow: &Arc<ContractWorkflow>) -> (ToolGateway, String) {
    let tool =
        |name: &str| format!("{{name: {name}, input_schema: {{type: object}}, mock: {{rules: [{{return: ok}}]}}}}");
    let spec = format!(
        "version: 1\nid: x\nbase: x\ntask: {{prompt: x}}\ntools: [{}, {}]\n\
         invariants: {{a: {{check: {{type: file_exists, path: a}}}}}}",
        tool("pay"),
        tool("look")
    );
    let loaded = scenario::spec::load(&spec, None);
    let spec = loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let clock = Arc::new(Clock::default());
    let declared = spec.tools.declared();
    let gateway = ToolGateway::new(ToolGatewaySettings {
        declared: declared
            .map(|tool| DeclaredWith { tool: tool.clone(), service: None, headers: Vec::new() })
            .collect(),
        servers: Vec::new(),
        recorded: None,
        tools: spec.tools.clone(),
        clock: Arc::clone(&clock),
        redactor: Redactor::none(),
        faults: Some(Arc::new(FaultEngine::new(&spec.chaos, Seed::new(1), clock))),
        contracts: Some(workflow.root()),
    });
    let (listener, url) = listener();
    gateway.serve(listener).expect("serving");
    (gateway, format!("{url}/mcp"))
}
