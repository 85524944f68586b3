//! Answers whose head comes at once, and whose body comes late or slowly.

use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::time::{Instant, timeout};

use super::faults::faulted;
use crate::model::testing::{Running, chat};

/// Longer than any test waits.
const NEVER: u32 = 3_000_000;
const DEADLINE: Duration = Duration::from_secs(20);

/// Streams in every dialect.
fn streams() -> [(&'static str, Json); 3] {
    let messages = json!([{"role": "user", "content": "x"}]);
    [
        ("/v1/chat/completions", json!({"model": "m", "stream": true, "messages": messages})),
        ("/v1/messages", json!({"model": "m", "stream": true, "max_tokens": 9, "messages": messages})),
        ("/v1/responses", json!({"model": "m", "stream": true, "input": "x"})),
    ]
}

async fn head(running: &Running, path: &str, body: &Json) -> reqwest::Response {
    let head = running.request(path, body.to_string()).send();
    timeout(DEADLINE, head).await.expect("a head in time").expect("a head")
}

#[tokio::test]
async fn heads_come_at_once_and_nothing_is_late_when_the_agent_has_ended() {
    for mode in [format!("slow_first_token, delay_ms: {NEVER}"), format!("slow_stream, chunk_delay_ms: {NEVER}")] {
        for (path, body) in streams().into_iter().chain([("/v1/chat/completions", chat("x"))]) {
            let (running, engine) = faulted(&format!("{{mode: {mode}}}"));
            let answer = head(&running, path, &body).await;
            assert_eq!((answer.status().as_u16(), engine.record().total()), (200, 1), "{mode} {path}");
            let is_stream = body["stream"] == true;
            assert_eq!(answer.content_length().is_some(), !is_stream, "{mode} {path}");
            engine.release().await;
            let text = timeout(DEADLINE, answer.text()).await.expect("an end in time").expect("a body");
            assert!(text.contains("one two three"), "{mode} {path}: {text}");
            let call = running.only_call();
            assert!(
                call.fault.is_some_and(|mark| mark.reached && mode.starts_with(&mark.mode)) && call.problem.is_none()
            );
        }
    }
}

#[tokio::test]
async fn every_event_has_a_pause_of_its_own() {
    for (path, body) in streams() {
        let (running, _) = faulted("{mode: slow_stream, chunk_delay_ms: 15}");
        let since = Instant::now();
        let text = head(&running, path, &body).await.text().await.expect("a body");
        let events = u32::try_from(text.matches("\n\n").count()).expect("a number");
        assert!(events > 3 && since.elapsed() >= Duration::from_millis(15) * events, "{path}: {events}");
    }
}

#[tokio::test]
async fn a_whole_answer_has_one_pause_and_all_of_them_add_up() {
    let slow = "{mode: slow_first_token, delay_ms: 40}, {mode: slow_stream, chunk_delay_ms: 30}";
    let (running, engine) = faulted(&format!("{slow}, {{mode: error, error_code: 503}}"));
    let since = Instant::now();
    let answer = running.chat("x").await;
    assert_eq!(answer.status, 503, "rules after them apply");
    assert!(answer.json()["error"].is_object() && since.elapsed() >= Duration::from_millis(70));
    let record = engine.record();
    assert_eq!((record.total(), running.only_call().fault.expect("a mark").mode.as_str()), (3, "error"));
}

#[tokio::test]
async fn a_stream_that_is_slow_can_also_be_cut() {
    let (running, engine) = faulted("{mode: slow_stream, chunk_delay_ms: 5}, {mode: cut_stream, after_chunks: 2}");
    let (path, body) = streams()[0].clone();
    let mut answer = head(&running, path, &body).await;
    let mut text = String::new();
    let error = loop {
        match answer.chunk().await {
            Ok(Some(part)) => text.push_str(&String::from_utf8_lossy(&part)),
            Ok(None) => panic!("the stream ended in order: {text}"),
            Err(error) => break error,
        }
    };
    assert_eq!((text.matches("\n\n").count(), engine.record().total()), (2, 2), "{text} {error}");
}
