//! Handoffs over HTTP: offered, claimed and refused.

use serde_json::json;
use tool_contracts::record::check_log;

use super::{HANDOFF, OWN, Served, record};

const CLAIM: &str = "/v1/handoffs/h1/claim";

#[tokio::test]
async fn a_claimed_handoff_is_a_session_of_its_own() {
    let served = Served::new(HANDOFF).await;
    let artifact = json!({"name": "report", "sha256": "ab", "bytes": 3, "media_type": "text/plain"});
    let offer = json!({"to": "worker", "artifacts": [artifact]});
    assert_eq!(served.api(OWN, "/v1/handoffs", Some(offer)).await, (200, json!({"handoff": "h1"})));
    let (_, open) = served.api(OWN, "/v1/handoffs", None).await;
    assert_eq!((&open[0]["status"], &open[0]["artifacts"][0]["bytes"]), (&json!("open"), &json!(3)));
    let (status, claimed) = served.api(OWN, CLAIM, Some(json!({"role": "worker"}))).await;
    assert_eq!((status, &claimed["session"]), (200, &json!("s.1")));
    let token = claimed["token"].as_str().expect("a token");
    let (_, listed) = served.api(token, "/v1/handoffs", None).await;
    assert_eq!((&listed[0]["status"], &listed[0]["session"]), (&json!("claimed"), &json!("s.1")));
    assert!(!listed.to_string().contains(token), "a list shows no token");
    let (_, state) = served.api(token, "/v1/sessions/self/state", None).await;
    let fields = ["session", "role", "parent", "status", "principal"].map(|key| state[key].clone());
    assert_eq!(fields, [json!("s.1"), json!("worker"), json!("s"), json!("active"), json!(null)]);
    let record = record(&served.workflow).await;
    let sessions: Vec<_> =
        record.sessions.iter().map(|one| (one.session.as_str(), one.role.as_deref(), one.parent.as_deref())).collect();
    assert_eq!(sessions, [("s", Some("boss"), None), ("s.1", Some("worker"), Some("s"))]);
    assert!(record.sessions.iter().all(|session| session.status == "closed"), "{record:?}");
    assert_ne!(record.sessions[0].contract, record.sessions[1].contract);
    for session in &record.sessions {
        check_log(&session.log(), session.last_hash.as_deref().expect("a hash")).expect("a whole log");
        assert!(session.records.iter().any(|one| one["kind"] == "handoff"), "{session:?}");
    }
    let kinds: Vec<_> = record.workflow.iter().map(|one| (&one["kind"], &one["status"])).collect();
    assert_eq!(kinds, [(&json!("handoff"), &json!("offered")), (&json!("handoff"), &json!("claimed"))]);
}

#[tokio::test]
async fn offers_are_refused_with_their_codes() {
    let needs =
        "handoffs: [{from: boss, to: worker, requires_artifacts: [report]}]\nworkflow_limits: {max_open_handoffs: 1}\n";
    let served = Served::new(needs).await;
    let (plain, whole) = (json!({"to": "worker"}), json!({"to": "worker", "artifacts": [{"name": "report"}]}));
    let post = |offer| served.post(OWN, "/v1/handoffs", offer);
    assert_eq!(post(json!({"to": "boss"})).await, (403, "handoff_not_declared".to_owned()));
    assert_eq!(post(plain).await, (409, "handoff_artifact_missing".to_owned()));
    assert_eq!(post(whole.clone()).await.0, 200);
    assert_eq!(post(whole.clone()).await, (409, "workflow_limit_exceeded".to_owned()));
    assert_eq!(post(json!({"artifacts": []})).await.0, 400);
    assert_eq!(post(json!({"to": "x".repeat(300)})).await.0, 400);
    assert_eq!(served.post(OWN, "/v1/sessions/self/close", json!({})).await.0, 204);
    assert_eq!(post(whole).await, (409, "session_not_active".to_owned()));
    let record = record(&served.workflow).await;
    let report = tool_contracts::report_of_log(&record.sessions[0].records);
    let attempts: Vec<_> = report.findings.iter().map(|one| (one.finding.code.name(), one.is_attempt)).collect();
    assert!(attempts.contains(&("handoff_not_declared", true)), "{attempts:?}");
}

#[tokio::test]
async fn claims_are_refused_with_their_codes() {
    let limits = "workflow_limits: {max_sessions: 2}\ncancellation: {workflow_kill: root_session}\n";
    let served = Served::new(&format!("{HANDOFF}{limits}")).await;
    let claim = |path: &'static str, role: &'static str| served.post(OWN, path, json!({"role": role}));
    assert_eq!(claim(CLAIM, "worker").await, (404, "handoff_not_open".to_owned()));
    for _ in 0..2 {
        served.post(OWN, "/v1/handoffs", json!({"to": "worker"})).await;
    }
    assert_eq!(claim(CLAIM, "boss").await, (403, "handoff_role_mismatch".to_owned()));
    assert_eq!(claim(CLAIM, "worker").await.0, 200, "a claim that failed left it open");
    assert_eq!(claim(CLAIM, "worker").await, (409, "handoff_not_open".to_owned()));
    assert_eq!(claim("/v1/handoffs/h2/claim", "worker").await, (409, "workflow_limit_exceeded".to_owned()));
    let cancel = |path: &'static str| served.post(OWN, path, json!({}));
    assert_eq!(cancel("/v1/handoffs/h2/cancel").await.0, 204);
    assert_eq!(cancel("/v1/handoffs/h2/cancel").await, (409, "handoff_not_open".to_owned()));
    assert_eq!(cancel("/v1/handoffs/h9/cancel").await.0, 404);
}

#[tokio::test]
async fn only_the_session_that_offered_takes_an_offer_back() {
    let served = Served::new(HANDOFF).await;
    let (_, token) = served.child(OWN).await;
    served.post(OWN, "/v1/handoffs", json!({"to": "worker"})).await;
    assert_eq!(served.post(&token, "/v1/handoffs/h2/cancel", json!({})).await, (403, "forbidden".to_owned()));
    let record = record(&served.workflow).await;
    let last = record.workflow.last().expect("a record");
    assert_eq!((&last["status"], &last["handoff"]), (&json!("cancelled"), &json!("h2")), "the end takes it back");
}

#[tokio::test]
async fn labels_go_with_a_handoff_and_later_ones_do_not() {
    let served = Served::new(HANDOFF).await;
    let (_, free) = served.child(OWN).await;
    assert_eq!(served.post(OWN, "/v1/sessions/self/labels", json!({"label": "secret"})).await.0, 204);
    let (bound, token) = served.child(OWN).await;
    assert!(served.call(Some(&token), "pay", "1").await.contains("label_gate_denied"));
    assert_eq!(served.call(Some(&free), "pay", "1").await, "ok");
    let (_, state) = served.api(OWN, &format!("/v1/sessions/{bound}/state"), None).await;
    assert_eq!(state["labels"], json!(["secret"]));
    assert_eq!(served.api(&free, &format!("/v1/sessions/{bound}/state"), None).await.0, 403);
    assert_eq!(served.post(&free, "/v1/sessions/s/labels", json!({"label": "x"})).await.0, 403);
    assert_eq!(served.api(OWN, "/v1/sessions/nobody/state", None).await.0, 404);
}

#[tokio::test]
async fn nothing_is_handed_over_before_the_agent_starts() {
    let workflow = super::opened(HANDOFF, scenario::evidence::ContractMode::Govern);
    let offer = super::HandoffOffer { to: "worker".to_owned(), artifacts: Vec::new() };
    let refused = workflow.offer(&workflow.root(), offer).expect_err("a refusal");
    assert_eq!(refused, super::super::WorkflowRefused::Code(tool_contracts::Code::SessionNotActive));
}

#[tokio::test]
async fn a_filter_is_only_narrowed_and_refuses_every_other_tool() {
    let served = Served::new(HANDOFF).await;
    let path = "/v1/sessions/self/filter";
    let filter = |tools: &[&str]| json!({"tools": tools});
    assert_eq!(served.post(OWN, path, filter(&["read", "write"])).await.0, 204);
    assert_eq!(served.post(OWN, path, filter(&["write", "send"])).await.0, 204);
    let (_, state) = served.api(OWN, "/v1/sessions/self/state", None).await;
    assert_eq!(state["filter"], json!(["write"]), "no request widens it");
    assert_eq!(served.post(OWN, path, json!({"tools": null})).await.0, 400);
    assert_eq!(served.post(OWN, path, json!({"tools": vec!["x".repeat(300)]})).await.0, 400);
    let record = record(&served.workflow).await;
    let filters = record.sessions[0].records.iter().filter(|one| one["kind"] == "filter").count();
    assert_eq!(filters, 2);
}

#[tokio::test]
async fn labels_stay_with_their_session_where_the_workflow_says_so() {
    for (option, labels) in [("", json!(["secret"])), ("labels_with_handoff: false\n", json!([]))] {
        let served = Served::new(&format!("{HANDOFF}{option}")).await;
        assert_eq!(served.post(OWN, "/v1/sessions/self/labels", json!({"label": "secret"})).await.0, 204);
        served.post(OWN, "/v1/handoffs", json!({"to": "worker"})).await;
        let (_, claimed) = served.api(OWN, CLAIM, Some(json!({"role": "worker"}))).await;
        let token = claimed["token"].as_str().expect("a token");
        let (_, state) = served.api(token, "/v1/sessions/self/state", None).await;
        assert_eq!(state["labels"], labels, "{option}");
    }
}
