//! Tests of the ends of sessions: kills, and the fate of children when their parent ends.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::{HANDOFF, OWN, Served, child, code, permit, record, started, status};

fn policy(policy: &str) -> String {
    format!("handoffs: [{{from: boss, to: worker, parent_close_policy: {policy}}}]\n")
}

#[tokio::test]
async fn a_terminated_child_is_killed_with_its_parent() {
    let workflow = started(&policy("terminate")).await;
    let (child, _) = child(&workflow, &workflow.root());
    workflow.close(&workflow.root(), "s").expect("closed");
    assert_eq!((status(&workflow.root()), status(&child)), ("closed".to_owned(), "killed".to_owned()));
    assert_eq!(code(&permit(&child, "look", "1").await), "session_killed");
    let record = record(&workflow).await;
    let killed = record.workflow.iter().find(|one| one["kind"] == "killed").expect("a kill");
    assert_eq!((&killed["session"], &killed["cause"]), (&json!("s.1"), &json!("parent_ended")));
    assert!(record.sessions[1].records.iter().any(|one| one["kind"] == "killed"));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_child_may_answer_for_half_a_minute() {
    let workflow = started(&policy("request_cancel")).await;
    let (child, _) = child(&workflow, &workflow.root());
    workflow.close(&workflow.root(), "s").expect("closed");
    assert_eq!(status(&child), "cancel_requested");
    assert_eq!(code(&permit(&child, "look", "1").await), "session_cancel_requested");
    let request = tool_contracts::ModelRequestSeen::default();
    assert!(child.judge_request(&request).await.refusal.is_none(), "it may answer in text");
    assert_eq!(child.shown(&["look".to_owned()]), Vec::<String>::new(), "without tools");
    sleep(Duration::from_secs(29)).await;
    assert_eq!(status(&child), "cancel_requested");
    sleep(Duration::from_secs(2)).await;
    assert_eq!(status(&child), "killed");
    assert!(child.judge_request(&request).await.refusal.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_child_that_closes_in_time_is_not_killed() {
    let workflow = started(&policy("request_cancel")).await;
    let (child, _) = child(&workflow, &workflow.root());
    workflow.close(&workflow.root(), "s").expect("closed");
    workflow.close(&child, "s.1").expect("closed");
    sleep(Duration::from_secs(31)).await;
    assert_eq!(status(&child), "closed");
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_child_goes_on() {
    let workflow = started(&policy("abandon")).await;
    let (child, _) = child(&workflow, &workflow.root());
    workflow.close(&workflow.root(), "s").expect("closed");
    sleep(Duration::from_secs(60)).await;
    assert_eq!(status(&child), "active");
    assert_eq!(code(&permit(&child, "look", "1").await), "granted");
}

#[tokio::test]
async fn kills_need_their_rights() {
    let served = Served::new(HANDOFF).await;
    let (session, token) = served.child(OWN).await;
    let kill = |token, path: String, scope: &'static str| {
        let served = &served;
        async move { served.post(token, &path, json!({"scope": scope, "reason": "enough"})).await }
    };
    let own = || "/v1/sessions/self/kill".to_owned();
    let below = || format!("/v1/sessions/{session}/kill");
    assert_eq!(kill(OWN, own(), "workflow").await, (403, "kill_not_permitted".to_owned()));
    assert_eq!(kill(OWN, below(), "subtree").await, (409, "kill_scope_disabled".to_owned()));
    assert_eq!(kill(OWN, below(), "session").await, (403, "forbidden".to_owned()));
    assert_eq!(kill(&token, "/v1/sessions/s/kill".to_owned(), "session").await, (403, "forbidden".to_owned()));
    assert_eq!(kill(OWN, own(), "all").await.0, 400);
    assert_eq!(kill(OWN, "/v1/sessions/nobody/kill".to_owned(), "session").await.0, 404);
    assert_eq!(kill(&token, own(), "session").await.0, 204);
    assert!(served.call(Some(&token), "look", "1").await.contains("session_killed"));
    assert_eq!(served.call(None, "look", "1").await, "ok");
    assert_eq!(served.post(&token, "/v1/handoffs/h1/claim", json!({"role": "worker"})).await.1, "session_killed");
}

#[tokio::test]
async fn a_subtree_is_killed_with_everything_below_it() {
    let more = format!("{HANDOFF}cancellation: {{subtree_kill: true}}\nparent_close_policy: {{default: abandon}}\n");
    let served = Served::new(&more).await;
    let (session, token) = served.child(OWN).await;
    let path = format!("/v1/sessions/{session}/kill");
    assert_eq!(served.post(OWN, &path, json!({"scope": "subtree"})).await.0, 204);
    assert!(served.call(Some(&token), "look", "1").await.contains("session_killed"));
    assert_eq!(served.call(None, "look", "1").await, "ok");
}

#[tokio::test]
async fn a_killed_workflow_starts_nothing_any_more() {
    let more = format!("{HANDOFF}cancellation: {{workflow_kill: any_session}}\n");
    let served = Served::new(&more).await;
    let (_, token) = served.child(OWN).await;
    let (_, open) = served.api(OWN, "/v1/handoffs", Some(json!({"to": "worker"}))).await;
    assert_eq!(open["handoff"], "h2");
    let kill = json!({"scope": "workflow", "reason": "wrong order"});
    assert_eq!(served.post(&token, "/v1/sessions/self/kill", kill).await.0, 204);
    assert!(served.call(None, "look", "1").await.contains("session_killed"));
    let offer = served.post(OWN, "/v1/handoffs", json!({"to": "worker"})).await;
    assert_eq!(offer, (409, "workflow_killed".to_owned()));
    let record = record(&served.workflow).await;
    let killed: Vec<_> = record.workflow.iter().filter(|one| one["kind"] == "killed").collect();
    assert_eq!((&killed[0]["cause"], &killed[0]["by"]), (&json!("wrong order"), &json!("s.1")));
    assert_eq!(killed.len(), 3, "{killed:?}");
    assert!(record.sessions.iter().all(|session| session.records.iter().any(|one| one["kind"] == "killed")));
}
