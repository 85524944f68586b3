//! Upstreams that work, and upstreams that break.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::Gateway as _;
use crate::model::testing::{Answer, Running, TOKEN, chat, settings, text};
use crate::model::{ModelGatewayLimits, ModelSettings, RetryLimits};
use crate::providers::{Key, ProviderKind, Reach, Upstream};

/// The real key.
const KEY: &str = "sk-upstream-key-0123456789";
const EVENT: &str = "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\n";

/// A provider that answers as told.
pub(super) struct FakeUpstream(MockServer);

/// Answers one after another.
pub(super) fn answers(answers: &[(u16, &str, &str)]) -> impl Respond + 'static {
    struct Answers(Vec<ResponseTemplate>, AtomicUsize);
    impl Respond for Answers {
        fn respond(&self, _: &Request) -> ResponseTemplate {
            let next = self.1.fetch_add(1, Ordering::Relaxed);
            self.0.get(next).cloned().unwrap_or_else(|| ResponseTemplate::new(410))
        }
    }
    let template = |(status, kind, body): &(u16, &str, &str)| {
        ResponseTemplate::new(*status).set_body_raw(body.as_bytes().to_vec(), kind)
    };
    Answers(answers.iter().map(template).collect(), AtomicUsize::new(0))
}

pub(super) fn proxied(more: &str, upstream: Upstream) -> ModelSettings {
    settings(&format!("mode: proxy, upstream: {{alias: fake}}{more}"), Some(upstream), None)
}

/// Limits by which nothing is tried again.
pub(super) fn impatient() -> ModelGatewayLimits {
    let retries = RetryLimits { time: Duration::ZERO, ..RetryLimits::default() };
    ModelGatewayLimits { retries, ..ModelGatewayLimits::default() }
}

pub(super) fn upstream_at(base_url: String) -> Upstream {
    let provider = ProviderKind::OpenAi;
    Upstream {
        name: "test".to_owned(),
        base_url,
        key: Key::new(KEY),
        provider,
        model: None,
        reach: Reach::Anywhere,
        family: None,
    }
}

impl FakeUpstream {
    pub(super) async fn start(respond: impl Respond + 'static) -> Self {
        let server = MockServer::start().await;
        Mock::given(any()).respond_with(respond).mount(&server).await;
        Self(server)
    }

    pub(super) fn upstream(&self) -> Upstream {
        upstream_at(format!("{}/v1", self.0.uri()))
    }

    /// A gateway in front of it that tries nothing again.
    pub(super) fn gateway(&self, more: &str) -> Running {
        Running::with_limits(proxied(more, self.upstream()), impatient())
    }

    pub(super) async fn requests(&self) -> Vec<Request> {
        self.0.received_requests().await.expect("requests")
    }
}

/// A server that answers the first request with these bytes, part by part: the next part is sent when `go` says so.
async fn raw_upstream(parts: Vec<&'static [u8]>, go: Arc<tokio::sync::Semaphore>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let url = format!("http://{}/v1", listener.local_addr().expect("its address"));
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut request = [0; 65536];
        let _ = stream.read(&mut request).await;
        for part in parts {
            go.acquire().await.expect("a permit").forget();
            stream.write_all(part).await.expect("sending");
        }
    });
    url
}

#[tokio::test]
async fn a_call_is_forwarded_with_the_real_key_and_without_what_is_the_agents() {
    let answer = r#"{"id":"r1","model":"m-2026","choices":[{"finish_reason":"stop","message":{"content":"hi"}}],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}"#;
    let upstream = FakeUpstream::start(answers(&[(200, "application/json", answer)])).await;
    let running = upstream.gateway("");
    let request = running.request("/v1/chat/completions?x=1", chat("x").to_string());
    let request = request.header("cookie", "a=b").header("x-api-key", "mine").header("x-own", "kept");
    let answered = Answer::of(request.header("openai-organization", "o").send().await.expect("an answer")).await;
    assert_eq!((answered.status, answered.text.as_str()), (200, answer));
    let seen = &upstream.requests().await[0];
    assert_eq!((seen.url.path(), seen.url.query()), ("/v1/chat/completions", Some("x=1")));
    let header = |name: &str| seen.headers.get(name).map(|value| value.to_str().expect("a text"));
    assert_eq!(header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!((header("accept-encoding"), header("x-own")), (Some("identity"), Some("kept")));
    assert_eq!((header("cookie"), header("x-api-key"), header("openai-organization")), (None, None, None));
    assert_eq!(seen.body, chat("x").to_string().into_bytes());
    let call = running.only_call();
    assert_eq!((call.response_model.as_deref(), call.response_id.as_deref()), (Some("m-2026"), Some("r1")));
    assert_eq!((call.tokens.input, call.tokens.output, call.tokens.cache_read), (9, 2, 4));
    assert_eq!((call.cost_usd, call.problem, call.from_upstream), (Some(11.0), None, true));
    assert!(!serde_json::to_string(&running.record()).expect("JSON").contains(KEY));
}

#[tokio::test]
async fn another_model_may_be_asked_and_anthropic_has_its_own_key_and_paths() {
    let answer = r#"{"id":"msg","model":"m","content":[{"type":"tool_use","id":"toolu_x","name":"f","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}"#;
    let fake = FakeUpstream::start(answers(&[(200, "application/json", answer)])).await;
    let model = Some("m".to_owned());
    let upstream = Upstream { base_url: fake.0.uri(), provider: ProviderKind::Anthropic, model, ..fake.upstream() };
    let running = Running::new(proxied("", upstream));
    let answered = running.post("/v1/messages", json!({"model": "agents-own", "max_tokens": 1, "messages": []})).await;
    assert_eq!(answered.text, answer);
    let seen = &fake.requests().await[0];
    assert_eq!(
        (seen.url.path(), seen.headers.get("x-api-key").map(|key| key.to_str().expect("text"))),
        ("/v1/messages", Some(KEY))
    );
    assert!(seen.headers.get("authorization").is_none());
    assert_eq!(seen.body_json::<serde_json::Value>().expect("JSON")["model"], "m");
    let record = running.record();
    assert_eq!(
        (record.calls[0].request_model.as_str(), &running.gateway.call_trace().0[0].arguments),
        ("agents-own", &json!({"a": 1}))
    );
    assert_eq!(running.gateway.usage().cost_usd, Some(3.0), "the price is that of the model that was asked");
    let refused = running.chat("x").await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &json!("wrong_provider")));
}

#[tokio::test]
async fn errors_of_the_upstream_pass_as_they_are() {
    let upstream = FakeUpstream::start(
        ResponseTemplate::new(429)
            .insert_header("retry-after", "7")
            .insert_header("x-ratelimit-remaining-requests", "0")
            .insert_header("set-cookie", "a=b")
            .set_body_raw(format!(r#"{{"error":{{"message":"slow down, {KEY}"}}}}"#), "application/json"),
    )
    .await;
    let running = upstream.gateway("");
    let answer = running.chat("x").await;
    assert_eq!((answer.status, answer.header("retry-after"), answer.header("set-cookie")), (429, Some("7"), None));
    assert_eq!(answer.header("x-ratelimit-remaining-requests"), Some("0"));
    assert_eq!(answer.text, r#"{"error":{"message":"slow down, [redacted]"}}"#, "the key is taken out");
    let call = running.only_call();
    assert_eq!(call.problem.as_deref(), Some("the upstream answered 429, to be tried again after 7"));
    assert!(!text(&call.response).contains(KEY));
    assert_eq!((running.gateway.usage().calls, call.from_upstream), (0, true));
}

#[tokio::test]
async fn an_upstream_that_is_not_there_is_a_bad_gateway() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a listener");
    let url = format!("http://{}/v1", listener.local_addr().expect("its address"));
    drop(listener);
    let running = Running::with_limits(proxied("", upstream_at(url)), impatient());
    let answer = running.chat("x").await;
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (502, &json!("upstream_unreachable")));
    let call = running.only_call();
    assert!(call.problem.is_some_and(|problem| problem.contains("refused")) && !call.from_upstream);
}

#[tokio::test]
async fn parts_of_a_stream_pass_before_it_ends() {
    let go = Arc::new(tokio::sync::Semaphore::new(0));
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let end = b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n";
    let url = raw_upstream(vec![head, EVENT.as_bytes(), end], Arc::clone(&go)).await;
    let running = Running::new(proxied("", upstream_at(url)));
    go.add_permits(2);
    let mut response = running.request("/v1/chat/completions", chat("x").to_string()).send().await.expect("a head");
    assert_eq!(running.record().calls.len(), 1, "written down before the first byte");
    let first = response.chunk().await.expect("a part").expect("not the end");
    assert_eq!(first, EVENT.as_bytes(), "while the upstream still has more to say");
    go.add_permits(1);
    let mut rest = Vec::new();
    while let Some(part) = response.chunk().await.expect("a part") {
        rest.extend_from_slice(&part);
    }
    assert_eq!(rest, end);
    let call = running.only_call();
    assert_eq!((call.stream, call.tokens.input, call.tokens.estimated, call.problem), (true, 5, false, None));
    assert_eq!(text(&call.response), format!("{EVENT}{}", String::from_utf8_lossy(end)));
}

#[tokio::test]
async fn a_stream_without_counts_is_estimated() {
    let body = format!("{EVENT}data: [DONE]\n\n");
    let upstream = FakeUpstream::start(answers(&[(200, "text/event-stream", &body)])).await;
    let running = upstream.gateway("");
    running.chat("x").await;
    let call = running.only_call();
    assert_eq!((call.tokens.estimated, call.tokens.output, call.problem), (true, 2, None));
    assert!(
        !String::from_utf8_lossy(&upstream.requests().await[0].body).contains("stream_options"),
        "the request is not changed"
    );
}

#[tokio::test]
async fn a_stream_that_is_cut_breaks_for_the_agent_too() {
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n";
    let go = Arc::new(tokio::sync::Semaphore::new(9));
    let url = raw_upstream(vec![head, EVENT.as_bytes()], go).await;
    let running = Running::new(proxied("", upstream_at(url)));
    let answer = running.chat("x").await;
    assert!(answer.status == 200 && answer.text.starts_with("broken: "), "{answer:?}");
    let call = running.only_call();
    assert!(call.problem.is_some_and(|problem| problem.contains("broke off")));
    assert_eq!((text(&call.response).as_str(), call.tokens.output, call.status), (EVENT, 2, 200));
}

#[tokio::test]
async fn a_stream_without_its_last_event_and_garbage_are_problems() {
    let check = async |kind: &str, body: &str, expected: &str| {
        let upstream = FakeUpstream::start(answers(&[(200, kind, body)])).await;
        let running = upstream.gateway("");
        let answer = running.chat("x").await;
        assert_eq!((answer.status, answer.text.as_str()), (200, body));
        let problem = running.only_call().problem.unwrap_or_default();
        assert!(problem.contains(expected), "{problem}");
        upstream
    };
    // A gateway may still ask a question of its own when its test is over, so no server takes the place of another.
    let _first = check("text/event-stream", EVENT, "ended before its last event").await;
    let _second = check("application/json", "<html>", "could not be read").await;
    check("text/event-stream", "data: {\"error\":{\"message\":\"boom\"}}\n\n", "holds an error: boom").await;
}

#[tokio::test]
async fn an_agent_that_hangs_up_is_written_down_with_what_it_got() {
    let go = Arc::new(tokio::sync::Semaphore::new(2));
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let url = raw_upstream(vec![head, EVENT.as_bytes(), b"never"], Arc::clone(&go)).await;
    let running = Running::new(proxied("", upstream_at(url)));
    let mut response = running.request("/v1/chat/completions", chat("x").to_string()).send().await.expect("a head");
    response.chunk().await.expect("a part").expect("not the end");
    drop(response);
    let record = running.recorded(|record| record.calls[0].problem.is_some()).await;
    assert!(record.calls[0].problem.as_deref().is_some_and(|problem| problem.contains("hung up")));
    assert_eq!((text(&record.calls[0].response).as_str(), running.gateway.usage().calls), (EVENT, 1));
}

#[tokio::test]
async fn a_stream_under_way_ends_with_the_records() {
    let go = Arc::new(tokio::sync::Semaphore::new(2));
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let url = raw_upstream(vec![head, EVENT.as_bytes(), b"never"], Arc::clone(&go)).await;
    let running = Running::new(proxied("", upstream_at(url)));
    let mut response = running.request("/v1/chat/completions", chat("x").to_string()).send().await.expect("a head");
    response.chunk().await.expect("a part").expect("not the end");
    running.gateway.seal().await;
    let call = running.only_call();
    assert!(call.problem.is_some() && text(&call.response) == EVENT, "{call:?}");
    assert_eq!(running.gateway.usage().calls, 1, "what came was paid for");
}

#[tokio::test]
async fn models_of_the_upstream_are_listed_and_cost_nothing() {
    let upstream = FakeUpstream::start(answers(&[(200, "application/json", r#"{"data":[]}"#)])).await;
    let running = upstream.gateway("");
    assert_eq!(running.get("/v1/models").await.text, r#"{"data":[]}"#);
    assert_eq!((running.gateway.usage().calls, running.only_call().problem), (0, None));
    assert_eq!(upstream.requests().await[0].url.path(), "/v1/models");
    assert!(!upstream.requests().await[0].headers.values().any(|value| value == TOKEN));
}

#[tokio::test]
async fn a_redirect_is_followed_nowhere() {
    let inside = FakeUpstream::start(ResponseTemplate::new(200)).await;
    let location = format!("{}/secret", inside.0.uri());
    let fake = FakeUpstream::start(ResponseTemplate::new(307).insert_header("location", location.as_str())).await;
    let gateway = fake.gateway("");
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build();
    let asked = client.expect("a client").post(format!("{}/v1/chat/completions", gateway.url));
    let answered = asked.bearer_auth(TOKEN).body(chat("x").to_string()).send().await.expect("an answer");
    assert_eq!(answered.status(), 307);
    assert!(inside.requests().await.is_empty());
}

#[tokio::test]
async fn an_upstream_of_a_stranger_is_public_or_not_asked() {
    let fake = FakeUpstream::start(ResponseTemplate::new(200)).await;
    for base_url in [fake.0.uri(), fake.0.uri().replace("127.0.0.1", "localhost")] {
        let upstream = Upstream { reach: Reach::Public, ..upstream_at(base_url) };
        let answer = Running::with_limits(proxied("", upstream), impatient()).chat("x").await;
        assert_eq!(answer.status, 502, "{answer:?}");
        assert!(answer.text.contains("leads to a loopback address"), "{answer:?}");
    }
    assert!(fake.requests().await.is_empty());
}
