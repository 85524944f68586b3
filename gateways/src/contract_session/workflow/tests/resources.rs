//! Shared resources and budgets, with two sessions racing.

use scenario::evidence::ContractMode;
use serde_json::json;
use tokio::time::Instant;
use tool_contracts::Outcome;

use super::{HANDOFF, OWN, Served, child, code, granted, opened, permit, record, started, until};
use crate::Gateway as _;

fn sharing(mode: &str) -> String {
    format!("{HANDOFF}shared_resources: [{{alias: order, mode: {mode}}}]\n")
}

fn ok() -> Outcome {
    Outcome::Ok(json!({}))
}

#[tokio::test]
async fn an_exclusive_resource_has_one_call_in_flight() {
    let served = Served::new(&sharing("exclusive_pending")).await;
    let (_, token) = served.child(OWN).await;
    let root = served.workflow.root();
    let call = granted(permit(&root, "look", "1").await);
    assert!(served.call(Some(&token), "look", "1").await.contains("resource_pending"));
    assert_eq!(served.call(Some(&token), "look", "2").await, "ok", "another instance is free");
    root.complete(&call, &ok(), 1);
    assert_eq!(served.call(Some(&token), "look", "1").await, "ok");
    let record = record(&served.workflow).await;
    let refused = record.sessions[1].records.iter().find(|one| one["kind"] == "workflow_decision");
    assert_eq!(refused.expect("a refusal")["reasons"][0]["code"], "resource_pending");
}

#[tokio::test]
async fn the_first_writer_owns_a_resource_until_it_ends() {
    let served = Served::new(&sharing("single_writer")).await;
    let (session, token) = served.child(OWN).await;
    assert_eq!(served.call(Some(&token), "look", "1").await, "ok");
    assert_eq!(served.call(Some(&token), "pay", "1").await, "ok");
    assert!(served.call(None, "pay", "1").await.contains("resource_owned"));
    assert_eq!(served.call(None, "look", "1").await, "ok", "others may read");
    let path = format!("/v1/sessions/{session}/close");
    assert_eq!(served.post(&token, &path, json!({})).await.0, 204);
    assert_eq!(served.call(None, "pay", "1").await, "ok");
}

#[tokio::test]
async fn calls_on_a_serial_resource_wait_in_their_order() {
    let served = Served::new(&sharing("serial_only")).await;
    let (root, (second, _)) = (served.workflow.root(), child(&served.workflow, &served.workflow.root()));
    let (_, token) = served.child(OWN).await;
    let call = granted(permit(&root, "pay", "1").await);
    let waiting = || served.workflow.shared().arrivals.len();
    let first = permit(&second, "pay", "1");
    tokio::pin!(first);
    let over_http = async {
        until(|| waiting() == 1).await;
        served.call(Some(&token), "pay", "1").await
    };
    tokio::pin!(over_http);
    let free = async {
        until(|| waiting() == 2).await;
        root.complete(&call, &ok(), 1);
    };
    let both = async { tokio::join!(&mut first, free).0 };
    let first = tokio::select! {
        first = both => granted(first),
        text = &mut over_http => panic!("it came later, and went first: {text}"),
    };
    second.complete(&first, &ok(), 1);
    assert_eq!(over_http.await, "ok");
    assert_eq!(waiting(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_no_longer_than_its_tool_may_take() {
    let workflow = started(&sharing("serial_only")).await;
    let (other, _) = child(&workflow, &workflow.root());
    let call = granted(permit(&workflow.root(), "pay", "1").await);
    let began = Instant::now();
    assert_eq!(code(&permit(&other, "pay", "1").await), "resource_wait_timeout");
    assert_eq!(began.elapsed().as_secs(), 10);
    assert_eq!(code(&permit(&workflow.root(), "pay", "1").await), "granted", "its own calls do not wait");
    workflow.root().complete(&call, &ok(), 1);
    assert_eq!(workflow.shared().arrivals.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn no_session_overtakes_one_that_came_before() {
    let workflow = started(&sharing("serial_only")).await;
    let (root, (other, _)) = (workflow.root(), child(&workflow, &workflow.root()));
    let call = granted(permit(&root, "pay", "1").await);
    let (waiting, again) = (permit(&other, "pay", "1"), permit(&root, "pay", "1"));
    tokio::pin!(waiting, again);
    assert!(futures::poll!(&mut waiting).is_pending());
    assert!(futures::poll!(&mut again).is_pending(), "nothing but the order keeps it");
    root.complete(&call, &ok(), 1);
    assert!(futures::poll!(&mut again).is_pending());
    let call = granted(waiting.await);
    assert!(futures::poll!(&mut again).is_pending());
    other.complete(&call, &ok(), 1);
    granted(again.await);
}

#[tokio::test(start_paused = true)]
async fn a_call_does_not_wait_beyond_the_end_of_the_agent() {
    let workflow = started(&sharing("serial_only")).await;
    let (other, _) = child(&workflow, &workflow.root());
    granted(permit(&workflow.root(), "pay", "1").await);
    let began = Instant::now();
    let (refused, ()) = tokio::join!(permit(&other, "pay", "1"), workflow.seal());
    assert_eq!((code(&refused), began.elapsed().as_secs()), ("session_not_active", 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_given_up_leaves_its_place() {
    let workflow = started(&sharing("serial_only")).await;
    let (other, _) = child(&workflow, &workflow.root());
    let call = granted(permit(&workflow.root(), "pay", "1").await);
    {
        let waiting = permit(&other, "pay", "1");
        tokio::pin!(waiting);
        assert!(futures::poll!(&mut waiting).is_pending());
        assert_eq!(workflow.shared().arrivals.len(), 1);
    }
    assert_eq!(workflow.shared().arrivals.len(), 0);
    workflow.root().complete(&call, &ok(), 1);
    assert_eq!(code(&permit(&other, "pay", "1").await), "granted");
}

#[tokio::test]
async fn a_call_that_its_session_refuses_takes_no_resource() {
    let workflow = started(&sharing("single_writer")).await;
    let (other, _) = child(&workflow, &workflow.root());
    workflow.add_label(&workflow.root(), "s", "secret").expect("a label");
    assert_eq!(code(&permit(&workflow.root(), "pay", "1").await), "label_gate_denied");
    assert_eq!(code(&permit(&other, "pay", "1").await), "granted");
}

#[tokio::test]
async fn an_observed_overlap_is_written_down_and_refuses_nothing() {
    let workflow = opened(&sharing("serial_only"), ContractMode::Observe);
    workflow.begin().await;
    let (other, _) = child(&workflow, &workflow.root());
    let call = granted(permit(&workflow.root(), "pay", "1").await);
    let second = granted(permit(&other, "pay", "1").await);
    workflow.root().complete(&call, &ok(), 1);
    other.complete(&second, &ok(), 1);
    let record = record(&workflow).await;
    let report = tool_contracts::report_of_log(&record.sessions[1].records);
    let found: Vec<_> = report.findings.iter().map(|one| (one.finding.code.name(), one.is_attempt)).collect();
    assert!(found.contains(&("resource_overlap", false)), "{found:?}");
}

#[tokio::test]
async fn steps_and_costs_of_all_sessions_are_one_budget() {
    let workflow = started(&format!("{HANDOFF}workflow_limits: {{max_total_steps: 2, max_total_cost: 1.0}}\n")).await;
    let (other, _) = child(&workflow, &workflow.root());
    let request = tool_contracts::ModelRequestSeen::default();
    for session in [&workflow.root(), &other] {
        assert!(session.judge_request(&request).await.refusal.is_none());
        let call = granted(permit(session, "look", "1").await);
        session.complete(&call, &ok(), 1);
    }
    let refusal = other.judge_request(&request).await.refusal.expect("a refusal");
    assert_eq!(refusal.code.name(), "workflow_limit_exceeded");
    let rich = started(&format!("{HANDOFF}workflow_limits: {{max_total_cost: 1.0}}\n")).await;
    let (other, _) = child(&rich, &rich.root());
    rich.root().add_cost(Some(0.6));
    assert!(other.judge_request(&request).await.refusal.is_none());
    other.add_cost(Some(0.6));
    let refusal = rich.root().judge_request(&request).await.refusal.expect("a refusal");
    assert_eq!(refusal.code.name(), "workflow_limit_exceeded");
}
