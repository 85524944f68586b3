//! Recordings, from the calls to their answers.

use scenario::cassette::{Recording as _, ToolCassette};
use scenario::spec::sections::Matching;
use serde_json::json;

use crate::tools::testing::{Fake, Running, request, with};

const NOTES: &str = "{server: notes, command: [x], prefix: n_, tools: [echo, refuse]}";

/// The answers to some calls, as they are on the wire.
async fn answers(running: &Running) -> Vec<String> {
    let mut answers = Vec::new();
    for (tool, arguments) in [
        ("n_echo", json!({"b": 1, "a": [1.5, "é\u{1f600}", null]})),
        ("n_refuse", json!({})),
        ("own", json!({})),
        ("n_echo", json!({"b": 1, "a": [1.5, "é\u{1f600}", null]})),
    ] {
        answers
            .push(running.post(&[], request("tools/call", json!({"name": tool, "arguments": arguments}))).await.text);
    }
    answers
}

async fn recorded() -> (Vec<String>, ToolCassette) {
    let (_fake, server) = Fake::open(NOTES, &["echo", "refuse"]).await;
    let own = "{name: own, mock: {rules: [{times: 1, return: {z: 1, a: 2}}]}}";
    let running = with(&format!("{{list: [{own}], record: tools.json}}")).server(server).serve();
    let answers = answers(&running).await;
    running.call("nothing", json!({})).await;
    (answers, ToolCassette::from_evidence("default-r0", &running.evidence()).expect("a recording"))
}

#[tokio::test]
async fn a_replay_gives_the_same_bytes() {
    let (live, cassette) = recorded().await;
    let cassette = ToolCassette::parse(&cassette.text()).expect("a recording");
    let running = with("[]").replaying(&cassette, Matching::Strict).serve();
    assert_eq!(running.names().await, ["n_echo", "n_refuse", "own"]);
    assert_eq!(answers(&running).await, live);
    let record = running.evidence().tools.expect("a record");
    assert_eq!((record.misses.len(), record.unused), (0, 0));
}

#[tokio::test]
async fn a_call_that_was_not_recorded_names_the_nearest() {
    let (_, cassette) = recorded().await;
    let running = with("[]").replaying(&cassette, Matching::Strict).serve();
    let (text, is_error) = running.call("n_echo", json!({"b": 2, "a": [1.5, "é\u{1f600}", null]})).await;
    assert!(is_error);
    insta::assert_snapshot!(text, @r#"the recording has no answer to `n_echo` with {"b":2,"a":[1.5,"é😀",null]}; the nearest one left has {"b":1,"a":[1.5,"é😀",null]}: at `$.b` it has 1, and the call 2"#);
    running.call("own", json!({})).await;
    let (text, _) = running.call("own", json!({})).await;
    insta::assert_snapshot!(text, @"the recording has no answer to `own` with {}; every recorded call of it was answered");
    let record = running.evidence().tools.expect("a record");
    assert_eq!((record.misses.len(), record.unused), (2, 3));
}

#[tokio::test]
async fn a_replay_in_order_answers_whatever_is_asked() {
    let (live, cassette) = recorded().await;
    let running = with("[]").replaying(&cassette, Matching::Fifo).serve();
    let answer = running.post(&[], request("tools/call", json!({"name": "n_echo", "arguments": {"other": 1}}))).await;
    assert_eq!(answer.text, live[0]);
}
