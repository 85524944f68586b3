//! Providers that fail, and agents that would like them to.

use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use scenario::evidence::{ModelRecord, ProviderFailureKind};
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use wiremock::{Request, Respond, ResponseTemplate};

use super::proxy::{FakeUpstream, answers, impatient, proxied, upstream_at};
use crate::Gateway as _;
use crate::model::forwarding::Forwarding;
use crate::model::pace::Pace;
use crate::model::proxy::Proxy;
use crate::model::testing::{Running, chat};
use crate::model::{ModelGatewayLimits, PaceLimits, RetryLimits};
use crate::providers::Upstream;

const FINE: (u16, &str, &str) = (200, "application/json", r#"{"id":"c","model":"m","choices":[]}"#);
const BUSY: (u16, &str, &str) = (503, "application/json", r#"{"error":{"message":"overloaded"}}"#);

/// Limits by which a call is tried again quickly, until it is answered.
fn patient() -> ModelGatewayLimits {
    let (time, first_wait) = (Duration::from_secs(60), Duration::from_millis(1));
    let retries = RetryLimits { time, first_wait, longest_wait: Duration::from_millis(5), ..RetryLimits::default() };
    ModelGatewayLimits { retries, ..ModelGatewayLimits::default() }
}

/// The answer to each request, by its path and its body.
struct By<F>(F);

impl<F: Fn(&str, &Json) -> ResponseTemplate + Send + Sync> Respond for By<F> {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        (self.0)(request.url.path(), &serde_json::from_slice(&request.body).unwrap_or_default())
    }
}

fn status(status: u16) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_raw(if status == 200 { FINE.2 } else { BUSY.2 }, FINE.1)
}

fn kinds(record: &ModelRecord) -> Vec<ProviderFailureKind> {
    record.provider_failures.iter().map(|failure| failure.kind).collect()
}

/// Ends the records, as the end of the agent does, and returns the failures of the provider.
async fn sealed(running: &Running) -> Vec<ProviderFailureKind> {
    running.gateway.seal().await;
    kinds(&running.record())
}

/// An upstream that sends these bytes on one connection after the other, and cuts each.
async fn cutting(answers: Vec<&'static [u8]>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let url = format!("http://{}/v1", listener.local_addr().expect("its address"));
    tokio::spawn(async move {
        for answer in answers {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            stream.write_all(answer).await.expect("written");
        }
    });
    url
}

#[tokio::test]
async fn a_failure_that_passes_is_not_noticed_by_the_agent() {
    let upstream =
        FakeUpstream::start(answers(&[BUSY, (500, "text/plain", "boom"), (429, "text/plain", "slow"), FINE])).await;
    let running = Running::with_limits(proxied("", upstream.upstream()), patient());
    let answer = running.chat("x").await;
    assert_eq!((answer.status, answer.text.as_str()), (200, FINE.2));
    let call = running.only_call();
    let tried: Vec<_> = call.tries.iter().map(|one| one.status).collect();
    assert_eq!(tried, [Some(503), Some(500), Some(429)]);
    assert_eq!(call.tries[0].reason, "the upstream answered 503: overloaded");
    assert_eq!((call.provider, running.gateway.usage().calls), (None, 1), "it is billed once");
    assert_eq!((sealed(&running).await.len(), upstream.requests().await.len()), (0, 4));
}

#[tokio::test]
async fn a_stream_is_tried_again_until_its_first_byte() {
    let cut = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99\r\n\r\n";
    let whole = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: [DONE]\n\n";
    let running = Running::with_limits(proxied("", upstream_at(cutting(vec![b"", cut, whole]).await)), patient());
    let answer = running.chat("x").await;
    assert_eq!((answer.status, answer.text.as_str()), (200, "data: [DONE]\n\n"));
    assert_eq!(running.only_call().tries.len(), 2);
}

#[tokio::test]
async fn a_stream_that_breaks_later_is_the_providers_when_it_is_down() {
    let cut = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99\r\n\r\ndata: {}\n\n";
    let running = Running::with_limits(proxied("", upstream_at(cutting(vec![cut]).await)), impatient());
    assert!(running.chat("x").await.text.starts_with("broken"));
    assert_eq!(sealed(&running).await, [ProviderFailureKind::Unavailable], "nobody listens there any more");
    let fine = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 12\r\nconnection: close\r\n\r\n{\"data\": []}";
    let running = Running::with_limits(proxied("", upstream_at(cutting(vec![cut, fine]).await)), impatient());
    assert!(running.chat("x").await.text.starts_with("broken"));
    assert_eq!(sealed(&running).await, [], "a break of one answer is for the agent to deal with");
}

#[tokio::test]
async fn an_outage_is_the_providers_and_later_calls_are_not_waited_for() {
    for failing in [429, 500, 503, 529] {
        let upstream = FakeUpstream::start(By(move |_: &str, _: &Json| status(failing))).await;
        let running = upstream.gateway("");
        assert_eq!(running.chat("x").await.status, failing, "the agent gets what the upstream said");
        let record = running.record();
        assert_eq!((kinds(&record), record.provider_down), (vec![ProviderFailureKind::Unavailable], true));
        assert!(record.calls[0].provider.is_some());
        let before = upstream.requests().await.len();
        assert_eq!(running.chat("y").await.status, failing);
        assert_eq!(upstream.requests().await.len(), before + 1, "{failing}");
        assert_eq!(sealed(&running).await.len(), 2);
    }
}

#[tokio::test]
async fn nobody_at_the_address_is_the_providers() {
    let listener = StdListener::bind("127.0.0.1:0").expect("a listener");
    let url = format!("http://{}/v1", listener.local_addr().expect("its address"));
    drop(listener);
    let running = Running::with_limits(proxied("", upstream_at(url)), impatient());
    assert_eq!(running.chat("x").await.status, 502);
    assert_eq!(sealed(&running).await, [ProviderFailureKind::Unavailable]);
}

#[tokio::test]
async fn a_refusal_of_us_says_what_to_fix() {
    for (refusing, fix) in [
        (401, "check the key"),
        (403, "check the key"),
        (404, "check the `base_url`"),
        (402, "no credit"),
        (307, "check the `base_url`"),
    ] {
        let upstream = FakeUpstream::start(By(move |_: &str, _: &Json| status(refusing))).await;
        let running = Running::with_limits(proxied("", upstream.upstream()), patient());
        assert_eq!(running.chat("x").await.status, refusing);
        assert_eq!(running.only_call().tries.len(), 1, "{refusing} is not tried again");
        assert_eq!(sealed(&running).await, [ProviderFailureKind::Refused], "{refusing}");
        let message = running.record().provider_failures[0].message.clone();
        assert!(message.contains(fix) && message.contains("`test`"), "{message}");
    }
}

#[tokio::test]
async fn what_a_request_brings_about_is_the_agents() {
    // The provider is well; what fails is what the agent says.
    for failing in [408, 429, 500, 503, 401, 403, 404, 302] {
        let poisoned =
            move |_: &str, body: &Json| status(if body.to_string().contains("poison") { failing } else { 200 });
        let upstream = FakeUpstream::start(By(poisoned)).await;
        for model in [None, Some("m".to_owned())] {
            let upstream = Upstream { model, ..upstream.upstream() };
            let running = Running::with_limits(proxied("", upstream), impatient());
            assert_eq!(running.chat("poison").await.status, failing);
            assert_eq!(sealed(&running).await, [], "{failing}");
        }
    }
}

#[tokio::test]
async fn a_query_and_headers_of_the_agent_bring_nothing_about() {
    let odd = |request: &Request| request.url.query().is_some() || request.headers.contains_key("x-odd");
    struct Odd<F>(F);
    impl<F: Fn(&Request) -> bool + Send + Sync> Respond for Odd<F> {
        fn respond(&self, request: &Request) -> ResponseTemplate {
            status(if (self.0)(request) { 401 } else { 200 })
        }
    }
    let upstream = FakeUpstream::start(Odd(odd)).await;
    let running = upstream.gateway("");
    assert_eq!(running.post("/v1/chat/completions?key=x", chat("x")).await.status, 401);
    let request = running.request("/v1/chat/completions", chat("y").to_string()).header("x-odd", "1");
    assert_eq!(request.send().await.expect("an answer").status(), 401);
    assert_eq!(sealed(&running).await, []);
}

#[tokio::test]
async fn a_model_that_does_not_exist_is_the_agents() {
    let unknown = || ResponseTemplate::new(404).set_body_json(json!({"error": {"message": "no model `bogus`"}}));
    // One lists its models, the other does not.
    let lists = move |path: &str, body: &Json| match (path, body["model"].as_str()) {
        ("/v1/models", _) => ResponseTemplate::new(200).set_body_json(json!({"data": [{"id": "m"}]})),
        (_, Some("bogus")) => unknown(),
        _ => status(200),
    };
    let silent = move |path: &str, body: &Json| match (path, body["model"].as_str()) {
        ("/v1/models", _) => ResponseTemplate::new(404),
        (_, Some("bogus")) => unknown(),
        _ => status(200),
    };
    let crashes = move |path: &str, body: &Json| match (path, body["model"].as_str()) {
        ("/v1/models", _) => ResponseTemplate::new(200).set_body_json(json!({"data": [{"id": "m"}]})),
        (_, Some("bogus")) => status(500),
        _ => status(200),
    };
    let bogus = || json!({"model": "bogus", "messages": []});
    for upstream in [
        FakeUpstream::start(By(lists)).await,
        FakeUpstream::start(By(silent)).await,
        FakeUpstream::start(By(crashes)).await,
    ] {
        let running = upstream.gateway("");
        assert!(running.post("/v1/chat/completions", bogus()).await.status >= 404);
        assert_eq!(sealed(&running).await, []);
    }
}

#[tokio::test]
async fn an_overloaded_provider_is_the_agents_once_it_floods() {
    let upstream = FakeUpstream::start(By(|_: &str, _: &Json| status(429).set_delay(Duration::from_millis(300)))).await;
    let pace = PaceLimits { calls_at_once: 2, ..PaceLimits::default() };
    let flood = async |more: &str| {
        let running =
            Running::with_limits(proxied(more, upstream.upstream()), ModelGatewayLimits { pace, ..impatient() });
        join_all((0..4).map(|call| running.chat(["a", "b", "c", "d"][call]))).await;
        sealed(&running).await.len()
    };
    assert_eq!(flood("").await, 0);
    assert_eq!(flood(", limits: {max_tokens: 9}").await, 0, "tokens do not bound calls");
    assert_eq!(flood(", limits: {max_calls: 9}").await, 4, "so many calls are allowed");
}

#[tokio::test]
async fn the_same_call_answered_later_makes_it_good() {
    let down = Arc::new(AtomicUsize::new(1));
    let is_down = Arc::clone(&down);
    let upstream = FakeUpstream::start(By(move |_: &str, _: &Json| {
        status(if is_down.load(Ordering::SeqCst) == 1 { 503 } else { 200 })
    }))
    .await;
    let running = upstream.gateway("");
    assert_eq!((running.chat("x").await.status, running.record().provider_down), (503, true));
    down.store(0, Ordering::SeqCst);
    assert_eq!(running.chat("other").await.status, 200);
    let record = running.record();
    assert_eq!((kinds(&record).len(), record.provider_down), (1, false), "another call does not");
    assert_eq!(running.chat("x").await.status, 200);
    assert_eq!(sealed(&running).await, []);
}

#[tokio::test]
async fn hanging_up_blames_the_provider_only_when_it_fails() {
    let hang_up = async |upstream: Upstream| {
        let wait = Duration::from_secs(60);
        let retries = RetryLimits { time: wait * 60, first_wait: wait, longest_wait: wait, ..RetryLimits::default() };
        let limits = ModelGatewayLimits { retries, ..ModelGatewayLimits::default() };
        let running = Running::with_limits(proxied("", upstream), limits);
        let call = running.request("/v1/chat/completions", chat("poison").to_string()).timeout(Duration::from_secs(2));
        assert!(call.send().await.is_err(), "it is to be tried again a minute later");
        running.recorded(|record| record.calls[0].status == 499).await;
        assert!(!running.only_call().tries.is_empty());
        assert_eq!(running.gateway.usage().calls, 0, "nothing was answered, so nothing is billed");
        sealed(&running).await
    };
    let poisoned = |_: &str, body: &Json| status(if body.to_string().contains("poison") { 500 } else { 200 });
    let well = FakeUpstream::start(By(poisoned)).await;
    assert_eq!(hang_up(well.upstream()).await, []);
    let down = FakeUpstream::start(By(|_: &str, _: &Json| status(500))).await;
    assert_eq!(hang_up(down.upstream()).await, [ProviderFailureKind::Unavailable]);
}

#[tokio::test]
async fn a_provider_that_says_nothing_is_asked_when_the_agent_hangs_up() {
    let hang_up = async |respond: By<fn(&str, &Json) -> ResponseTemplate>| {
        let upstream = FakeUpstream::start(respond).await;
        let retries =
            RetryLimits { silence: Duration::ZERO, question_wait: Duration::from_secs(1), ..RetryLimits::default() };
        let limits = ModelGatewayLimits { retries, ..ModelGatewayLimits::default() };
        let running = Running::with_limits(proxied("", upstream.upstream()), limits);
        let call =
            running.request("/v1/chat/completions", chat("slow").to_string()).timeout(Duration::from_millis(300));
        assert!(call.send().await.is_err());
        running.recorded(|record| record.calls[0].status == 499).await;
        sealed(&running).await
    };
    let silent: fn(&str, &Json) -> ResponseTemplate = |_, _| status(200).set_delay(Duration::from_secs(60));
    assert_eq!(hang_up(By(silent)).await, [ProviderFailureKind::Unavailable]);
    let slow: fn(&str, &Json) -> ResponseTemplate = |_, body| {
        if body.to_string().contains("slow") { status(200).set_delay(Duration::from_secs(60)) } else { status(200) }
    };
    assert_eq!(hang_up(By(slow)).await, [], "an answer that takes long is no outage");
}

#[test]
fn a_call_is_tried_for_two_minutes_or_half_of_the_time_that_is_left() {
    let budget = |time| {
        let (proxy, limits) = (Proxy::new(upstream_at(String::new())), RetryLimits::default());
        Forwarding::new(proxy, Pace::new(None), limits, Arc::default(), time).budget()
    };
    let seconds = Duration::from_secs;
    assert_eq!((budget(None), budget(Some(seconds(600)))), (seconds(120), seconds(120)));
    assert_eq!((budget(Some(seconds(10))), budget(Some(seconds(0)))), (seconds(5), seconds(0)));
}
