//! Tests of the API as a client sees it.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, HOST};
use http::request::Builder;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::{ApiGateway, ApiLimits, ApiService, ApiSettings, environment};
use crate::Gateway as _;
use crate::redact::Redactor;

const DEADLINE: Duration = Duration::from_secs(20);
const OWN: &str = "/v1/sandboxes/sb-0123456789ab";
const OWN_TRACE: &str = "/v1/sandboxes/sb-0123456789ab/trace";

fn settings() -> ApiSettings {
    let secrets = BTreeMap::from([("KEY".to_owned(), "s3cret-value".to_owned())]);
    ApiSettings {
        sandbox_id: "sb-0123456789ab".to_owned(),
        token: "ks_sb_feed".to_owned(),
        spec_id: "spec".to_owned(),
        scenario_id: "scenario-1".to_owned(),
        workspace: "/workspace",
        services: vec![ApiService { name: "db".to_owned(), host: "db".to_owned(), port: 5432 }],
        clock: Default::default(),
        redactor: Redactor::new(&secrets, "marker-key"),
        started_at: jiff::Timestamp::UNIX_EPOCH,
        workflow: None,
    }
}

/// A gateway that is being served on 127.0.0.1.
struct Running {
    gateway: ApiGateway,
    port: u16,
}

impl Running {
    fn new() -> Self {
        Self::with_limits(ApiLimits::default())
    }

    fn with_limits(limits: ApiLimits) -> Self {
        let gateway = ApiGateway::with_limits(settings(), limits);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let port = listener.local_addr().expect("its address").port();
        gateway.serve(listener).expect("serving");
        Self { gateway, port }
    }

    async fn get(&self, path: &str) -> (StatusCode, Json) {
        self.request(Method::GET, path, "").await
    }

    async fn post(&self, path: &str, body: impl Into<String>) -> (StatusCode, Json) {
        self.request(Method::POST, path, body).await
    }

    async fn request(&self, method: Method, path: &str, body: impl Into<String>) -> (StatusCode, Json) {
        self.send(builder(method, path).header(AUTHORIZATION, "Bearer ks_sb_feed"), body).await
    }

    async fn send(&self, request: Builder, body: impl Into<String>) -> (StatusCode, Json) {
        let (status, body) = timeout(DEADLINE, self.exchange(request, body.into())).await.expect("an answer in time");
        (status, serde_json::from_slice(&body).expect("JSON"))
    }

    async fn exchange(&self, request: Builder, body: String) -> (StatusCode, Bytes) {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await.expect("a connection");
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("a handshake");
        let connection = tokio::spawn(connection);
        let response = sender.send_request(request.body(Full::<Bytes>::from(body)).expect("a request"));
        let response = response.await.expect("an answer");
        let status = response.status();
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        connection.abort();
        (status, body)
    }
}

fn builder(method: Method, path: &str) -> Builder {
    Request::builder().method(method).uri(path).header(HOST, "touchstone.services.internal")
}

#[tokio::test]
async fn an_agent_sees_its_own_sandbox() {
    let running = Running::new();
    let (status, sandbox) = running.get(OWN).await;
    assert_eq!(status, 200);
    insta::assert_json_snapshot!(sandbox, @r#"
    {
      "id": "sb-0123456789ab",
      "spec_id": "spec",
      "state": "running",
      "status": "running",
      "path": "/workspace",
      "url": "http://touchstone.services.internal/v1/sandboxes/sb-0123456789ab",
      "created_at": "1970-01-01T00:00:00Z",
      "metadata": {
        "scenario_id": "scenario-1"
      },
      "services": {
        "db": {
          "host": "db",
          "port": 5432,
          "ready": true
        }
      }
    }
    "#);
    assert_eq!(running.get("/v1/sandboxes").await, (StatusCode::OK, json!([sandbox])));
}

#[tokio::test]
async fn events_are_kept_in_their_order_marked_and_without_secrets() {
    let running = Running::new();
    let first = json!({"events": [{"tool": "a", "output": "it is s3cret-value"}, "odd"]}).to_string();
    assert_eq!(running.post(OWN_TRACE, first).await, (StatusCode::OK, json!({"ingested": 2})));
    let second = json!({"events": [{"tool": "b"}]}).to_string();
    assert_eq!(running.post("/v1/traces", second).await, (StatusCode::OK, json!({"ingested": 1})));
    running.gateway.seal().await;
    insta::assert_json_snapshot!(running.gateway.reported(), @r#"
    [
      {
        "tool": "a",
        "output": "it is [redacted:KEY:marker-key]",
        "self_reported": true,
        "received_at_ms": 0
      },
      {
        "event": "odd",
        "self_reported": true,
        "received_at_ms": 0
      },
      {
        "tool": "b",
        "self_reported": true,
        "received_at_ms": 0
      }
    ]
    "#);
    assert_eq!(running.gateway.uncounted(), 0);
}

#[tokio::test]
async fn odd_bodies_hurt_nobody_and_what_is_no_json_is_refused() {
    let running = Running::new();
    for (body, ingested) in [
        ("", 0),
        ("{}", 0),
        ("null", 0),
        (r#"{"events": null}"#, 0),
        (r#"{"events": {"tool": "x"}}"#, 1),
        (r#"[{"tool": "x"}, 7, null]"#, 3),
        (r#"{"tool": "x"}"#, 1),
        ("7", 1),
    ] {
        assert_eq!(running.post(OWN_TRACE, body).await, (StatusCode::OK, json!({"ingested": ingested})), "{body}");
    }
    let (status, refusal) = running.post(OWN_TRACE, "{").await;
    assert_eq!((status, &refusal["code"]), (StatusCode::BAD_REQUEST, &json!("bad_request")));
    assert_eq!(refusal["error"], refusal["message"]);
}

#[tokio::test]
async fn an_agent_reads_its_events_without_a_marker() {
    let running = Running::new();
    let end =
        json!({"event_type": "tool_call", "phase": "end", "tool": "t", "duration_ms": 5, "output": "s3cret-value"});
    running.post(OWN_TRACE, json!({"events": [end]}).to_string()).await;
    let (status, trace) = running.get(OWN_TRACE).await;
    assert_eq!((status, &trace["metrics"]["total_tool_calls"]), (StatusCode::OK, &json!(1)));
    assert_eq!(trace["events"][0]["output"], "s3cret-value", "it sent that itself");
    assert!(!trace.to_string().contains("marker-key"));
}

#[tokio::test]
async fn only_the_token_of_the_sandbox_is_good() {
    let running = Running::new();
    let get = |path| builder(Method::GET, path);
    for path in [OWN, "/v1/experiments", "/nothing"] {
        assert_eq!(running.send(get(path), "").await.0, StatusCode::UNAUTHORIZED);
        for wrong in ["Bearer ks_sb_feee", "Bearer", "Basic ks_sb_feed", "ks_sb_feed"] {
            let (status, body) = running.send(get(path).header(AUTHORIZATION, wrong), "").await;
            assert_eq!((status, &body["code"]), (StatusCode::UNAUTHORIZED, &json!("unauthorized")), "{wrong}");
        }
    }
    assert_eq!(running.send(get(OWN).header("x-api-key", "ks_sb_feed"), "").await.0, StatusCode::OK);
    for path in ["/health", "/healthz"] {
        assert_eq!(running.send(get(path), "").await, (StatusCode::OK, json!({"status": "ok"})));
    }
    let reporting = running.send(builder(Method::POST, OWN_TRACE), r#"{"events": [{}]}"#).await;
    assert_eq!(reporting.0, StatusCode::UNAUTHORIZED);
    assert!(running.gateway.reported().is_empty());
}

#[tokio::test]
async fn what_an_agent_cannot_have_is_refused_with_a_reason() {
    let running = Running::new();
    let mut statuses = Vec::new();
    for (method, path) in [
        (Method::GET, "/v1/sandboxes/sb-000000000000"),
        (Method::POST, "/v1/sandboxes/sb-000000000000/trace"),
        (Method::GET, "/v1/sandboxes/sb-000000000000/files/x"),
        (Method::DELETE, OWN),
        (Method::POST, "/v1/sandboxes"),
        (Method::POST, "/v1/sandboxes/sb-0123456789ab/commands"),
        (Method::GET, "/v1/sandboxes/sb-0123456789ab/files//tmp/x"),
        (Method::GET, "/v1/sandboxes/sb-0123456789ab/state"),
        (Method::GET, "/v1/traces"),
        (Method::POST, "/v1/experiments"),
        (Method::PUT, OWN),
        (Method::GET, "/"),
    ] {
        let (status, body) = running.request(method.clone(), path, "{}").await;
        assert!(body["error"].as_str().is_some_and(|text| text.len() > 20), "{body}");
        assert_eq!(body["error"], body["message"]);
        statuses.push(format!("{} {method} {path}: {}", status.as_u16(), body["code"]));
    }
    insta::assert_snapshot!(statuses.join("\n"), @r#"
    403 GET /v1/sandboxes/sb-000000000000: "forbidden"
    403 POST /v1/sandboxes/sb-000000000000/trace: "forbidden"
    403 GET /v1/sandboxes/sb-000000000000/files/x: "forbidden"
    403 DELETE /v1/sandboxes/sb-0123456789ab: "forbidden"
    501 POST /v1/sandboxes: "not_implemented"
    501 POST /v1/sandboxes/sb-0123456789ab/commands: "not_implemented"
    501 GET /v1/sandboxes/sb-0123456789ab/files//tmp/x: "not_implemented"
    501 GET /v1/sandboxes/sb-0123456789ab/state: "not_implemented"
    501 GET /v1/traces: "not_implemented"
    501 POST /v1/experiments: "not_implemented"
    405 PUT /v1/sandboxes/sb-0123456789ab: "method_not_allowed"
    404 GET /: "not_found"
    "#);
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let running = Running::with_limits(ApiLimits { body_bytes: 1_000, ..ApiLimits::default() });
    let (status, body) = running.post(OWN_TRACE, format!("\"{}\"", "x".repeat(1_100))).await;
    assert_eq!((status, &body["code"]), (StatusCode::PAYLOAD_TOO_LARGE, &json!("too_large")));
    let (status, _) = running.post(OWN_TRACE, format!("\"{}\"", "x".repeat(900))).await;
    assert_eq!(status, StatusCode::OK);
    let running = Running::with_limits(ApiLimits { body_values: 10, ..ApiLimits::default() });
    assert_eq!(running.post(OWN_TRACE, "[1,2,3,4,5,6,7,8,9,10]").await.0, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn bodies_and_answers_under_way_share_their_memory() {
    let running = Running::with_limits(ApiLimits { under_way_bytes: 1_000, ..ApiLimits::default() });
    assert_eq!(running.post(OWN_TRACE, format!("\"{}\"", "x".repeat(1_001))).await.0, StatusCode::SERVICE_UNAVAILABLE);
    for _ in 0..2 {
        assert_eq!(running.post(OWN_TRACE, format!("\"{}\"", "x".repeat(600))).await.0, StatusCode::OK);
    }
    assert_eq!(running.get(OWN_TRACE).await.0, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(running.get(OWN).await.0, StatusCode::OK, "the memory came back");
}

#[tokio::test]
async fn after_the_seal_it_answers_and_records_nothing() {
    let running = Running::new();
    running.post(OWN_TRACE, r#"{"events": [{"tool": "before"}]}"#).await;
    running.gateway.seal().await;
    let late = running.post(OWN_TRACE, r#"{"events": [{"tool": "after"}]}"#).await;
    assert_eq!(late, (StatusCode::OK, json!({"ingested": 0})));
    assert_eq!(running.gateway.reported().len(), 1);
}

#[tokio::test]
async fn a_flood_of_events_is_counted() {
    let running = Running::new();
    let batch = json!({"events": vec![json!({"tool": "t"}); 2_000]}).to_string();
    for _ in 0..4 {
        assert_eq!(running.post(OWN_TRACE, batch.clone()).await.0, StatusCode::OK);
    }
    assert_eq!((running.gateway.reported().len(), running.gateway.uncounted()), (5_000, 3_000));
}

#[tokio::test]
async fn a_connection_beyond_the_number_waits_for_its_turn() {
    let running = Running::with_limits(ApiLimits { connections: 1, ..ApiLimits::default() });
    let request = b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n";
    let mut first = TcpStream::connect(("127.0.0.1", running.port)).await.expect("a connection");
    first.write_all(request).await.expect("sending");
    let mut answer = vec![0; 12];
    timeout(DEADLINE, first.read_exact(&mut answer)).await.expect("in time").expect("an answer");
    let mut second = TcpStream::connect(("127.0.0.1", running.port)).await.expect("a connection");
    second.write_all(request).await.expect("sending");
    assert!(timeout(Duration::from_millis(100), second.readable()).await.is_err(), "it waits while the first is open");
    drop(first);
    timeout(DEADLINE, second.read_exact(&mut answer)).await.expect("in time").expect("an answer");
    assert_eq!(answer, b"HTTP/1.1 200");
}

#[tokio::test]
async fn head_and_an_empty_post_are_answered() {
    let running = Running::new();
    let head = builder(Method::HEAD, OWN).header(AUTHORIZATION, "bearer ks_sb_feed");
    assert_eq!(running.exchange(head, String::new()).await, (StatusCode::OK, Bytes::new()));
    assert_eq!(running.post(OWN_TRACE, "").await, (StatusCode::OK, json!({"ingested": 0})));
}

#[test]
fn the_environment_has_what_the_sdks_read() {
    insta::assert_debug_snapshot!(environment(&settings()), @r#"
    {
        "KEYSTONE_API_KEY": "ks_sb_feed",
        "KEYSTONE_BASE_URL": "http://touchstone.services.internal",
        "KEYSTONE_SANDBOX_ID": "sb-0123456789ab",
        "POLARITY_API_KEY": "ks_sb_feed",
        "POLARITY_BASE_URL": "http://touchstone.services.internal",
        "POLARITY_SANDBOX_ID": "sb-0123456789ab",
        "TOUCHSTONE_API_KEY": "ks_sb_feed",
        "TOUCHSTONE_BASE_URL": "http://touchstone.services.internal",
        "TOUCHSTONE_SANDBOX_ID": "sb-0123456789ab",
    }
    "#);
}
