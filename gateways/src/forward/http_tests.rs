//! Faults of containers that speak HTTP, and connections that do not.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use scenario::plan::Seed;
use scenario::spec::load;
use tokio::time::{Duration, Instant};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::tests::Here;
use super::{Forward, ForwardFaults, Target};
use crate::clock::Clock;
use crate::faults::testing::call;
use crate::faults::{FaultEngine, ToolFaults};

/// A forward with these faults before a port.
fn forward(faults: &str, port: u16) -> (Forward, SocketAddr, Arc<FaultEngine>) {
    let text = format!(
        "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
         services: [{{name: shop, image: 'shop:1', ports: [80]}}]\nchaos: {{tool_faults: [{faults}]}}\n\
         invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
    );
    let loaded = load(&text, None);
    let spec = loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let engine = Arc::new(FaultEngine::new(&spec.chaos, Seed::new(1), Arc::new(Clock::default())));
    engine.start();
    let front = TcpListener::bind("127.0.0.1:0").expect("a front");
    let address = front.local_addr().expect("an address");
    let target = Target { dial: Arc::new(Here), port };
    let http = ToolFaults::of(&engine, "shop");
    let faults = ForwardFaults { link: engine.http_link("shop"), http, ..ForwardFaults::default() };
    (Forward::serve(front, target, 10, None, faults).expect("a forward"), address, engine)
}

/// Starts a service whose answers repeat the request, behind these faults.
async fn shop(faults: &str) -> (MockServer, Forward, SocketAddr, Arc<FaultEngine>) {
    let server = MockServer::start().await;
    let answer = |request: &Request| {
        let body = serde_json::json!({"asked": request.url.path(), "sent": request.body.len()});
        ResponseTemplate::new(200).insert_header("x-shop", "yes").set_body_json(body)
    };
    Mock::given(any()).respond_with(answer).mount(&server).await;
    let (forward, address, engine) = forward(faults, server.address().port());
    (server, forward, address, engine)
}

async fn get(address: SocketAddr, path: &str) -> (String, Option<ErrorKind>) {
    call(address, &format!("GET {path} HTTP/1.1\r\nhost: shop\r\nconnection: close\r\n\r\n")).await
}

async fn reached(server: &MockServer) -> usize {
    server.received_requests().await.expect("requests").len()
}

#[tokio::test]
async fn requests_without_a_fault_pass_as_they_are() {
    let (server, _forward, address, engine) = shop("{tool: 'shop:GET /never', mode: error}").await;
    let request = "POST /orders?x=1 HTTP/1.1\r\nhost: shop:80\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello";
    let (answer, error) = call(address, request).await;
    assert!(answer.contains("x-shop: yes") && answer.ends_with(r#"{"asked":"/orders","sent":5}"#), "{answer}");
    let seen = &server.received_requests().await.expect("requests")[0];
    assert_eq!((seen.url.query(), seen.headers["host"].to_str().ok(), error), (Some("x=1"), Some("shop:80"), None));
    assert!(engine.record().is_vacuous());
}

#[tokio::test]
async fn faults_answer_in_place_of_the_container_and_change_its_answers() {
    for (fault, shown, reaches) in [
        ("mode: error, error_code: 418, message: no", "no", 0),
        ("mode: html_error_page", "502 Bad Gateway", 0),
        ("mode: malformed", r#""value": "#, 0),
        ("mode: wrong_data, set: {asked: nothing}", r#"{"asked":"nothing","sent":0}"#, 1),
        ("mode: drop_fields, paths: [sent]", r#"{"asked":"/orders/1"}"#, 1),
        ("mode: schema_violation, paths: [sent]", r#""sent":"0"}"#, 1),
        ("mode: wrong_entity, from: /orders/2", r#"{"asked":"/orders/2","sent":0}"#, 2),
    ] {
        let (server, _forward, address, engine) = shop(&format!("{{tool: shop, {fault}}}")).await;
        let (answer, _) = get(address, "/orders/1").await;
        assert!(answer.contains(shown), "{fault}: {answer}");
        assert_eq!((reached(&server).await, engine.record().total()), (reaches, 1), "{fault}");
        assert_eq!(engine.record().firings[0].target, "shop:GET /orders/1", "{fault}");
    }
}

#[tokio::test]
async fn a_lost_answer_took_effect_and_a_reset_did_not() {
    let faults =
        "{tool: 'shop:POST /*', mode: lost_response, times: 1}, {tool: 'shop:GET /reset', mode: connection_reset}";
    let (server, _forward, address, engine) = shop(faults).await;
    let post = "POST /refunds HTTP/1.1\r\nhost: shop\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(call(address, post).await, (String::new(), None));
    assert_eq!(reached(&server).await, 1);
    assert_eq!(get(address, "/reset").await, (String::new(), Some(ErrorKind::ConnectionReset)));
    assert!(call(address, post).await.0.starts_with("HTTP/1.1 200"));
    assert_eq!((reached(&server).await, engine.record().total()), (2, 2));
}

#[tokio::test]
async fn answers_break_off_come_late_and_are_those_of_others() {
    let (_server, _forward, address, _) = shop("{tool: shop, mode: truncated, bytes: 4}").await;
    let (answer, _) = get(address, "/orders/1").await;
    assert!(answer.contains("content-length: 30") && answer.ends_with("\r\n\r\n{\"as"), "{answer}");
    let (_server, _forward, address, _) = shop("{tool: shop, mode: slow, delay_ms: 40}").await;
    let since = Instant::now();
    assert!(get(address, "/orders/1").await.0.contains("/orders/1") && since.elapsed() >= Duration::from_millis(40));
    let (_server, _forward, address, engine) = shop("{tool: shop, mode: wrong_entity}").await;
    assert!(get(address, "/orders/1").await.0.contains("/orders/1"), "there is no other yet");
    assert!(get(address, "/orders/2").await.0.contains("/orders/1"));
    assert!(get(address, "/customers/2").await.0.contains("/customers/2"), "another route");
    assert_eq!(engine.record().total(), 1);
}

#[tokio::test]
async fn one_connection_carries_requests_with_and_without_faults() {
    let (server, _forward, address, _) = shop("{tool: shop, mode: error, on_calls: [2]}").await;
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(1).build().expect("a client");
    let mut statuses = Vec::new();
    for _ in 0..3 {
        let answer = client.get(format!("http://{address}/orders/1")).send().await.expect("an answer");
        statuses.push(answer.status().as_u16());
        answer.bytes().await.expect("a body");
    }
    assert_eq!((statuses, reached(&server).await), (vec![200, 503, 200], 2));
}

#[tokio::test]
async fn connections_are_refused_and_other_protocols_pass_unfaulted() {
    let (_server, _forward, address, engine) = shop("{tool: shop, mode: connection_refused, times: 1}").await;
    assert_eq!(get(address, "/").await.1, Some(ErrorKind::ConnectionReset));
    assert!(get(address, "/").await.0.starts_with("HTTP/1.1 200") && engine.record().total() == 1);
    let port = super::tests::echo().await;
    let (_forward, address, engine) = forward("{tool: shop, mode: error}", port);
    assert_eq!(super::tests::talk(address).await, Ok("xx".to_owned()), "the server greets first");
    assert_eq!(engine.record().rules[0].matched, 0);
}
