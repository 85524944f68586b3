//! Mocks whose requests are tool calls under contracts.

use std::collections::BTreeMap;
use std::sync::Arc;

use scenario::evidence::ContractMode;
use scenario::spec::sections::{BlockResponse, GovernedTool, RequestMatch, ToolPath};
use scenario::spec::types::{Method, ToolName, Whole};
use serde_json::{Value as Json, json};

use super::MockContext;
use super::limits::MockLimits;
use super::testing::Running;
use crate::contract_session::testing::{Opening, records};
use crate::contract_session::{ContractSession, HttpRoute, MARK, ServiceGovernor};

const ROUTES: &str = "record: true, routes: [{method: GET, path: /look, response: {state: fine}}, {method: POST, path: '/pay/{amount}', response: {paid: true}}]";

fn route(tool: &str, method: &str, path: &str) -> HttpRoute {
    let tool = GovernedTool::request(ToolName::new(tool).expect("a name"));
    let method = Method::new(method).expect("a method");
    HttpRoute { tool, matches: RequestMatch { method, path: ToolPath::new(path).expect("a path") } }
}

fn governed(session: &Arc<ContractSession>, refusal: Option<BlockResponse>) -> Running {
    let routes = vec![route("look", "GET", "/look"), route("pay", "POST", "/pay/{amount}")];
    let governor = ServiceGovernor::new(Arc::clone(session), "mock", routes, refusal, "the-mark");
    let governors = BTreeMap::from([("mock".to_owned(), Arc::new(governor))]);
    Running::with(ROUTES, MockContext { governors, ..MockContext::default() }, MockLimits::default())
}

/// Sends a request; the status and the JSON of the answer.
async fn ask(running: &Running, method: &str, path: &str, mark: Option<&str>) -> (u16, Json) {
    let mark = mark.map(|mark| format!("{MARK}: {mark}\r\n")).unwrap_or_default();
    let request =
        format!("{method} {path} HTTP/1.1\r\nHost: mock\r\n{mark}Connection: close\r\nContent-Length: 2\r\n\r\n{{}}");
    let answer = running.send(request).await;
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let body = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
    (status, serde_json::from_str(body).unwrap_or_default())
}

#[tokio::test]
async fn a_refused_request_never_reached_the_service() {
    let session = Opening::default().begin().await;
    let running = governed(&session, None);
    let (status, refused) = ask(&running, "POST", "/pay/5", None).await;
    assert_eq!((status, &refused["error"]["code"]), (403, &json!("wrong_phase")));
    assert_eq!(ask(&running, "GET", "/look", None).await, (200, json!({"state": "fine"})));
    assert_eq!(ask(&running, "GET", "/elsewhere", None).await.1["error"]["code"], "no_contract");
    let journal = running.mocks.journals().remove("mock").expect("a journal");
    let paths: Vec<_> = journal.exchanges.iter().map(|exchange| exchange.path.clone()).collect();
    assert_eq!(paths, ["/look"]);
    let decisions = records(&session, "decision");
    let tools: Vec<_> = decisions.iter().map(|record| record["tool"].clone()).collect();
    assert_eq!(tools, ["pay", "look", "http:mock:GET /elsewhere"]);
    assert_eq!(records(&session, "completed")[0]["output"], json!({"state": "fine", "_status": 200}));
}

#[tokio::test]
async fn a_request_of_the_tool_gateway_was_decided_on_before() {
    let session = Opening::default().begin().await;
    let running = governed(&session, None);
    assert_eq!(ask(&running, "POST", "/pay/5", Some("the-mark")).await.0, 200);
    assert_eq!(ask(&running, "POST", "/pay/5", Some("another")).await.0, 403);
    let journal = running.mocks.journals().remove("mock").expect("a journal");
    assert_eq!(journal.exchanges.len(), 1);
    assert!(journal.exchanges[0].header(MARK).is_none(), "the mark is in no journal");
}

#[tokio::test]
async fn a_refusal_may_look_like_the_services_own() {
    let session = Opening::default().begin().await;
    let own = BlockResponse { status: Whole::new(409), body: Some(json!({"error": "locked"})) };
    let running = governed(&session, Some(own));
    assert_eq!(ask(&running, "POST", "/pay/5", None).await, (409, json!({"error": "locked"})));
}

#[tokio::test]
async fn observing_lets_everything_through() {
    let session = Opening { mode: ContractMode::Observe, ..Opening::default() }.begin().await;
    let running = governed(&session, None);
    assert_eq!(ask(&running, "POST", "/pay/5", None).await.0, 200);
    let decision = records(&session, "decision").remove(0);
    assert_eq!((&decision["verdict"], &decision["applied"]), (&json!("block"), &json!(false)));
}
