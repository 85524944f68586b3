//! The record of calls, and limits.

use scenario::evidence::{Limit, ToolRefusal};
use serde_json::json;

use crate::Gateway as _;
use crate::tools::testing::{deadline, request, until, with};

const NOTE: &str = "[{name: read_note, mock: {rules: [{match: {id: '7'}, return: {text: Call Ada}}, {match: {id: '8'}, error: locked}]}}]";

#[tokio::test]
async fn a_call_is_recorded_before_it_is_answered_with_all_that_it_said() {
    let running = with(NOTE).secret("hunter22").serve();
    let params = json!({"name": "read_note", "arguments": {"id": "7", "key": "hunter22"}, "_meta": {"claudecode/toolUseId": "toolu_1"}});
    assert_eq!(running.ask("tools/call", params).await["result"]["structuredContent"], json!({"text": "Call Ada"}));
    let call = running.calls().remove(0);
    assert_eq!((call.tool.as_str(), call.id.as_deref(), call.is_error), ("read_note", Some("toolu_1"), false));
    assert_eq!(call.result.as_deref(), Some("{\"text\":\"Call Ada\"}"));
    assert_eq!(call.execution.expect("an execution").structured, json!({"text": "Call Ada"}));
    assert_ne!(call.arguments["key"], "hunter22");
    assert!(!format!("{:?}", running.evidence()).contains("hunter22"));
    running.call("read_note", json!({"id": "8"})).await;
    assert!(running.calls()[1].is_error);
}

#[tokio::test]
async fn the_limit_of_calls_fires_by_its_name() {
    let running = with(&format!("{{list: {NOTE}, limits: {{max_calls: 2}}}}")).serve();
    for is_error in [false, false, true] {
        let (text, said) = running.call("read_note", json!({"id": "7"})).await;
        assert_eq!(said, is_error, "{text}");
    }
    assert_eq!(deadline(running.gateway.limit_fired()).await.limit, Limit::ToolCalls);
    let evidence = running.evidence();
    assert_eq!(evidence.limits.iter().map(|fired| fired.limit).collect::<Vec<_>>(), [Limit::ToolCalls]);
    assert_eq!(evidence.call_trace.0[2].execution.as_ref().and_then(|one| one.refused), Some(ToolRefusal::Limit));
}

#[tokio::test]
async fn what_was_called_before_the_agent_starts_is_forgotten() {
    let running = with(&format!("{{list: {NOTE}, limits: {{max_calls: 1}}}}")).serve();
    running.begin().await;
    running.call("read_note", json!({"id": "7"})).await;
    running.gateway.begin().await;
    let record = running.evidence().tools.expect("a record");
    assert_eq!((record.calls, record.clients.len(), running.calls().len()), (0, 0, 0));
    assert!(!running.call("read_note", json!({"id": "7"})).await.1);
}

#[tokio::test]
async fn a_call_under_way_when_the_agent_has_ended_is_recorded() {
    let running = with("[{name: slow, mock: {rules: [{delay: 60s, return: x}]}}]").serve();
    let sent = running.send(&[], request("tools/call", json!({"name": "slow"})));
    tokio::select! {
        answer = sent => panic!("{answer:?}"),
        () = until(|| running.evidence().tools.is_some_and(|tools| tools.calls == 1)) => {}
    }
    deadline(running.gateway.seal()).await;
    assert_eq!(running.one_call().await.result.as_deref(), Some("the scenario has ended"));
}

#[tokio::test]
async fn large_arguments_and_results_are_cut_in_the_record_alone() {
    let running = with(
        "[{name: echo, mock: {unknown: error}}, {name: big, mock: {rules: [{return: BIG}]}}]"
            .replace("BIG", &"x".repeat(100_000))
            .as_str(),
    )
    .serve();
    assert_eq!(running.call("big", json!({"text": "y".repeat(100_000)})).await.0.len(), 100_000);
    let call = running.calls().remove(0);
    assert_eq!(call.result.map(|text| text.len()), Some(64 * 1024));
    assert!(call.arguments.to_string().len() < 70_000);
}

#[tokio::test]
async fn a_hundred_calls_at_once_are_a_hundred_answers() {
    let running = with(NOTE).serve();
    let calls = (0..100).map(|_| running.call("read_note", json!({"id": "7"})));
    let answers = futures::future::join_all(calls).await;
    assert!(answers.iter().all(|(text, is_error)| text == "{\"text\":\"Call Ada\"}" && !is_error));
    assert_eq!(running.calls().len(), 100);
}

/// Returns the resident memory of this process in KiB.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the status of this process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[tokio::test]
async fn memory_does_not_grow_with_calls_that_are_over() {
    let running = with(NOTE).serve();
    let session = running.begin().await;
    let call = json!({"name": "read_note", "arguments": {"id": "7"}});
    for _ in 0..200 {
        running.in_session(&session, "tools/call", call.clone()).await;
    }
    let before = resident_kib();
    for _ in 0..800 {
        running.in_session(&session, "tools/call", call.clone()).await;
    }
    // Each call that is kept takes about a kilobyte.
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < 12 * 1024, "{grown} KiB more");
    assert_eq!(running.evidence().tools.expect("a record").calls, 1_000);
}
