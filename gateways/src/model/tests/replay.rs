//! Recordings: made by a proxy, replayed without it.

use scenario::cassette::{Cassette, Recording as _};
use scenario::evidence::Evidence;
use serde_json::json;

use super::proxy::{FakeUpstream, answers};
use crate::Gateway as _;
use crate::model::testing::{Running, SECRET, chat, settings};

/// A recording of two answers: one whole, one streamed.
async fn recorded() -> (Cassette, Vec<String>) {
    let upstream = FakeUpstream::start(answers(&[
        (200, "application/json", r#"{"id":"1","model":"m","usage":{"prompt_tokens":2,"completion_tokens":3}}"#),
        (
            200,
            "text/event-stream",
            "data: {\"id\":\"2\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hey\"}}]}\n\ndata: [DONE]\n\n",
        ),
    ]))
    .await;
    let running = upstream.gateway("");
    let mut sent = Vec::new();
    for (text, stream) in [("one", false), (SECRET, true)] {
        let mut request = chat(text);
        request["stream"] = stream.into();
        sent.push(running.post("/v1/chat/completions", request).await.text);
    }
    running.gateway.seal().await;
    let evidence = Evidence { model: Some(running.record()), ..Evidence::default() };
    let cassette = Cassette::from_evidence("default-r0", &evidence).expect("a cassette");
    assert!(!cassette.text().contains(SECRET) && cassette.text().contains("[redacted:KEY]"));
    (Cassette::parse(&cassette.text()).expect("the same"), sent)
}

fn replaying(cassette: &Cassette, matching: &str) -> Running {
    let mut settings =
        settings(&format!("mode: replay, recording: r.json, matching: {matching}"), None, Some(cassette));
    let secrets = [("KEY".to_owned(), SECRET.to_owned())].into();
    settings.redactor = crate::redact::Redactor::new(&secrets, "another1key");
    Running::new(settings)
}

#[tokio::test]
async fn what_was_recorded_is_replayed_whatever_the_order() {
    let (cassette, sent) = recorded().await;
    let running = replaying(&cassette, "strict");
    let mut streamed = chat(SECRET);
    streamed["stream"] = true.into();
    let second = running.post("/v1/chat/completions", streamed).await;
    assert_eq!(
        (second.header("content-type"), second.text.as_str()),
        (Some("text/event-stream; charset=utf-8"), sent[1].as_str())
    );
    let mut first = chat("one");
    first["stream"] = false.into();
    assert_eq!(running.post("/chat/completions", first).await.text, sent[0]);
    let record = running.record();
    assert!(record.misses.is_empty() && record.calls[0].stream && !record.calls[1].stream);
    assert_eq!((record.calls[1].tokens.input, running.gateway.usage().calls), (2, 2));
}

#[tokio::test]
async fn a_miss_says_what_comes_nearest() {
    let (cassette, _) = recorded().await;
    let running = replaying(&cassette, "strict");
    let mut request = chat("two");
    request["stream"] = false.into();
    let missed = running.post("/v1/chat/completions", request).await;
    assert_eq!((missed.status, missed.header("x-should-retry")), (500, Some("false")));
    let error = &missed.json()["error"];
    assert_eq!(error["code"], "replay_miss");
    let message = error["message"].as_str().expect("a message");
    assert!(
        message.contains(r#"number 0, differs at $.messages[0].content: recorded "one", asked "two""#),
        "{message}"
    );
    assert_eq!(running.record().misses, [message]);
    assert_eq!(running.only_call().problem.as_deref(), Some(message));
}

#[tokio::test]
async fn each_answer_is_given_once() {
    let (cassette, _) = recorded().await;
    let running = replaying(&cassette, "strict");
    let mut request = chat("one");
    request["stream"] = false.into();
    assert_eq!(running.post("/v1/chat/completions", request.clone()).await.status, 200);
    assert_eq!(running.post("/v1/chat/completions", request).await.status, 500);
}

#[tokio::test]
async fn fifo_gives_the_next_one_whatever_is_asked() {
    let (cassette, sent) = recorded().await;
    let running = replaying(&cassette, "fifo");
    assert_eq!(running.chat("anything").await.text, sent[0]);
    assert_eq!(running.chat("else").await.text, sent[1]);
    let missed = running.chat("more").await;
    assert!(missed.status == 500 && missed.text.contains("every recorded answer"), "{}", missed.text);
}

#[tokio::test]
async fn a_scenario_that_was_not_recorded_says_so() {
    let mut cassette = Cassette::from_evidence("a", &Evidence::default()).expect("a cassette");
    cassette.merge(Cassette::from_evidence("b", &Evidence::default()).expect("a cassette"));
    let running = replaying(&cassette, "strict");
    let missed = running.post("/v1/messages", json!({"model": "m"})).await;
    assert!(missed.text.contains("nothing for the scenario `default-r0`"), "{}", missed.text);
    assert_eq!(missed.json()["type"], "error");
}
