//! Governed services: each request belongs to one session.

use std::collections::BTreeMap;
use std::sync::Arc;

use scenario::evidence::Journal;
use scenario::spec::sections::{GovernedTool, RequestMatch};
use scenario::spec::{Spec, load};
use serde_json::json;

use super::super::{ContractWorkflow, SESSION_TOKEN};
use super::{HANDOFF, child, listener, record, started};
use crate::contract_session::{HttpRoute, ServiceGovernor};
use crate::http_mock::{HttpMocks, MockContext};

fn spec() -> Spec {
    let spec = "version: 1\nid: test\nbase: debian\ntask: {prompt: x}\nservices: [{name: shop, type: http_mock, \
        record: true, routes: [{method: POST, path: /pay, response: {paid: true}}]}]\n\
        tools: [{name: pay, input_schema: {type: object}, http: {service: shop, method: POST, path: /pay}}]\n\
        invariants: {x: {description: x, check: {type: file_exists, path: x}}}\n";
    let loaded = load(spec, None);
    loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

/// A shop whose payments are calls of `pay`.
fn shop(workflow: &ContractWorkflow) -> (HttpMocks, String) {
    let spec = spec();
    let tool = spec.tools.declared().next().expect("a tool");
    let http = tool.http.as_ref().expect("an operation");
    let matches = RequestMatch { method: http.method.clone(), path: http.path.clone() };
    let route = HttpRoute { tool: GovernedTool::request(tool.name.clone()), matches };
    let governor = Arc::new(ServiceGovernor::new(workflow.root(), "shop", vec![route], None, "mark"));
    let governors = BTreeMap::from([("shop".to_owned(), governor)]);
    let mock = spec.services[0].mock().expect("a mock").clone();
    let mocks = HttpMocks::new([("shop".to_owned(), mock)], MockContext { governors, ..MockContext::default() });
    let (listener, url) = listener();
    mocks.serve(listener, "shop").expect("serving");
    (mocks, format!("{url}/pay"))
}

async fn pay(url: &str, token: Option<&str>) -> (u16, String) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let mut request = client.post(url).body(json!({"order": "1"}).to_string());
    if let Some(token) = token {
        request = request.header(SESSION_TOKEN, token);
    }
    let answer = request.send().await.expect("an answer");
    (answer.status().as_u16(), answer.text().await.expect("a body"))
}

#[tokio::test]
async fn a_service_is_asked_in_the_session_of_the_token() {
    let workflow = started(&format!("{HANDOFF}shared_resources: [{{alias: order, mode: single_writer}}]\n")).await;
    let (_, token) = child(&workflow, &workflow.root());
    let (mocks, url) = shop(&workflow);
    assert_eq!(pay(&url, Some(&token)).await.0, 200);
    let (status, body) = pay(&url, None).await;
    assert_eq!((status, body.contains("resource_owned")), (403, true), "{body}");
    let (status, body) = pay(&url, Some("wrong")).await;
    assert_eq!((status, body.contains("unknown_session")), (401, true), "{body}");
    let journals: BTreeMap<String, Journal> = mocks.journals();
    assert!(!format!("{journals:?}").contains(&token), "the token is in no record");
    let record = record(&workflow).await;
    let outcomes = record.sessions[1].records.iter().filter(|one| one["kind"] == "completed");
    assert_eq!(outcomes.map(|one| one["outcome"].clone()).collect::<Vec<_>>(), [json!("ok")]);
}
