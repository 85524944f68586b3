//! The model gateway: the key of a request tells its session.

use std::collections::BTreeMap;

use scenario::plan::{PlanOptions, Values, expand};
use scenario::spec::load;
use serde_json::{Value as Json, json};

use super::super::ContractWorkflow;
use super::{HANDOFF, child, listener, record, started};
use crate::model::{ModelGateway, ModelSettings, Source};

/// The key that the sandbox has.
const KEY: &str = "ts-feed";

fn served(workflow: &ContractWorkflow) -> (ModelGateway, String) {
    let turns = "[{content: one}, {content: two}, {content: three}]";
    let spec = format!(
        "version: 1\nid: test\nbase: debian\ntask: {{prompt: x}}\nmodel: {{mode: scripted, turns: {turns}}}\n\
         invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
    );
    let loaded = load(&spec, None);
    let spec = loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let plan = expand(&spec, PlanOptions::default()).expect("a plan");
    let secrets = BTreeMap::new();
    let values = Values::with_secrets(&spec, &plan.scenarios[0], &secrets);
    let section = spec.model.as_ref().expect("a model");
    let source = Source::new(section, &plan.scenarios[0], &values, None, None).expect("a source");
    workflow.add_root_token(KEY);
    let settings = ModelSettings { contracts: Some(workflow.root()), ..ModelSettings::new(source, KEY) };
    let gateway = ModelGateway::new(settings);
    let (listener, url) = listener();
    gateway.serve(listener).expect("serving");
    (gateway, format!("{url}/v1/chat/completions"))
}

async fn ask(url: &str, header: (&str, &str)) -> (u16, Json) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "hello"}]});
    let answer = client.post(url).header(header.0, header.1).body(body.to_string()).send().await.expect("an answer");
    (answer.status().as_u16(), answer.json().await.expect("JSON"))
}

#[tokio::test]
async fn each_request_is_in_the_log_of_the_session_whose_key_it_has() {
    let workflow = started(HANDOFF).await;
    let (worker, token) = child(&workflow, &workflow.root());
    let (_gateway, url) = served(&workflow);
    assert_eq!(ask(&url, ("authorization", &format!("Bearer {token}"))).await.0, 200);
    assert_eq!(ask(&url, ("x-api-key", &token)).await.0, 200);
    assert_eq!(ask(&url, ("authorization", &format!("Bearer {KEY}"))).await.0, 200);
    assert_eq!(ask(&url, ("authorization", "Bearer wrong")).await.0, 401);
    workflow.kill(&worker, "s.1", "session", "enough").expect("a kill");
    let (status, refused) = ask(&url, ("x-api-key", &token)).await;
    assert_eq!((status, refused.to_string().contains("session_killed")), (403, true), "{refused}");
    let record = record(&workflow).await;
    let requests = |place: usize| {
        let records: &Vec<Json> = &record.sessions[place].records;
        records.iter().filter(|one| one["kind"] == "llm_request").count()
    };
    assert_eq!((requests(0), requests(1)), (1, 2));
    assert!(record.sessions[1].records.iter().any(|one| one["kind"] == "precheck" && one["by"] == "workflow"));
}
