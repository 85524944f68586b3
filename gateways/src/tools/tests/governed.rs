//! Tools whose calls tool contracts decide on.

use std::time::Duration;

use scenario::evidence::ToolRefusal;
use serde_json::json;

use crate::contract_session::testing::{Desk, Opening, records};
use crate::tools::testing::{deadline, with};

const TOOLS: &str = "[{name: look, mock: {rules: [{return: {state: fine}}]}}, {name: pay, mock: {rules: [{return: {paid: true}}]}}, \
    {name: ghost, mock: {rules: [{return: boo}]}}]";

#[tokio::test]
async fn a_refused_call_is_not_carried_out_and_says_why() {
    let session = Opening::default().begin().await;
    let running = with(TOOLS).contracts(&session).serve();
    let answer = running.ask("tools/call", json!({"name": "pay", "arguments": {"amount": 5}})).await;
    let result = &answer["result"];
    assert_eq!(
        (&result["isError"], &result["structuredContent"]["contract"]["code"]),
        (&json!(true), &json!("wrong_phase"))
    );
    assert!(!running.call("look", json!({})).await.1);
    assert_eq!(running.call("pay", json!({"amount": 5})).await, ("{\"paid\":true}".to_owned(), false));
    assert!(running.call("pay", json!({"amount": 500})).await.1);
    let calls = running.calls();
    let refused: Vec<_> = calls.iter().map(|call| call.execution.as_ref().and_then(|one| one.refused)).collect();
    assert_eq!(refused, [Some(ToolRefusal::Contract), None, None, Some(ToolRefusal::Contract)]);
    let completed = records(&session, "completed");
    assert_eq!(completed.iter().map(|record| record["tool"].clone()).collect::<Vec<_>>(), ["look", "pay"]);
    assert_eq!(completed[0]["output"], json!({"state": "fine"}));
}

#[tokio::test]
async fn tools_that_would_be_refused_are_not_listed_and_clients_hear_when_that_changes() {
    let session = Opening::default().begin().await;
    let running = with(TOOLS).contracts(&session).serve();
    assert_eq!(running.names().await, ["look"]);
    let id = running.begin().await;
    let mut news = running.stream(&id).await;
    running.call("look", json!({})).await;
    let mut heard = String::new();
    while !heard.contains("tools/list_changed") {
        let part = deadline(news.chunk()).await.expect("a stream").expect("a part");
        heard.push_str(&String::from_utf8_lossy(&part));
    }
    assert_eq!(running.names().await, ["look", "pay"]);
}

#[tokio::test]
async fn a_held_call_is_pending_and_then_goes_on() {
    let desk = Desk::open();
    let hold_wait = Duration::from_millis(20);
    let session = Opening { approver: desk.approver(), hold_wait, ..Opening::default() }.begin().await;
    let running = with(TOOLS).contracts(&session).serve();
    running.call("look", json!({})).await;
    let (text, is_error) = running.call("pay", json!({"amount": 60})).await;
    assert!(is_error && text.contains("approval_pending"), "{text}");
    desk.approve();
    let gone_on = async { while !running.call("pay", json!({"amount": 60})).await.0.contains("paid") {} };
    deadline(gone_on).await;
    assert_eq!(desk.asked().len(), 1);
}
