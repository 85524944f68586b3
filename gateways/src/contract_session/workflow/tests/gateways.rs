//! Tokens at the gateways: each request belongs to one session.

use serde_json::json;

use super::{HANDOFF, OWN, Served, record};

#[tokio::test]
async fn each_call_is_in_the_log_of_its_session() {
    let served = Served::new(HANDOFF).await;
    let (_, token) = served.child(OWN).await;
    assert_eq!(served.call(None, "look", "root").await, "ok");
    assert_eq!(served.call(Some(&token), "look", "child").await, "ok");
    let bearer = format!("Bearer {token}");
    let params = json!({"name": "look", "arguments": {"order": "bearer"}});
    let (status, _) = served.mcp(Some(("authorization", &bearer)), "tools/call", params).await;
    assert_eq!(status, 200);
    let record = record(&served.workflow).await;
    let orders = |place: usize| -> Vec<String> {
        let decided = record.sessions[place].records.iter().filter(|one| one["kind"] == "decision");
        decided.map(|one| one["arguments"]["order"].as_str().expect("an order").to_owned()).collect()
    };
    assert_eq!((orders(0), orders(1)), (vec!["root".to_owned()], vec!["child".to_owned(), "bearer".to_owned()]));
}

#[tokio::test]
async fn a_token_that_no_session_has_is_refused() {
    let served = Served::new(HANDOFF).await;
    let params = json!({"name": "look", "arguments": {}});
    for header in
        [("authorization", "Bearer wrong"), ("authorization", "Basic eA=="), ("x-touchstone-session", "wrong")]
    {
        let (status, answer) = served.mcp(Some(header), "tools/call", params.clone()).await;
        assert_eq!((status, answer["error"].is_object()), (401, true), "{header:?}: {answer}");
        assert_eq!(served.mcp(Some(header), "tools/list", json!({})).await.0, 401);
    }
    assert_eq!(served.api("wrong", "/v1/handoffs", None).await.0, 401);
    assert_eq!(served.call(Some(OWN), "look", "1").await, "ok", "the sandbox's own token is the root's");
}

#[tokio::test]
async fn each_session_is_listed_its_own_tools() {
    let served = Served::new(HANDOFF).await;
    let (_, token) = served.child(OWN).await;
    served.post(OWN, "/v1/sessions/self/labels", json!({"label": "secret"})).await;
    let names = |answer: serde_json::Value| -> Vec<String> {
        let tools = answer["result"]["tools"].as_array().expect("tools").clone();
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(served.mcp(None, "tools/list", json!({})).await.1), ["look"]);
    let own = served.mcp(Some(("x-touchstone-session", &token)), "tools/list", json!({})).await.1;
    assert_eq!(names(own), ["pay", "look"]);
}
