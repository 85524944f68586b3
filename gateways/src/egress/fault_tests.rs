//! Faults of hosts outside.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;

use scenario::plan::Seed;
use scenario::spec::load;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Duration, Instant, timeout};

use super::tests::{DEADLINE, Running, hello, sends};
use crate::clock::Clock;
use crate::faults::FaultEngine;
use crate::faults::testing::call;

/// A gateway to `a.example` and `b.example` with these faults.
async fn running(faults: &str) -> (Running, Arc<FaultEngine>) {
    let text = format!(
        "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n\
         services: [{{name: shop, type: http_mock}}]\nnetwork: {{egress: {{allow: ['*.example']}}}}\n\
         chaos: {{tool_faults: [{faults}]}}\n\
         invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
    );
    let loaded = load(&text, None);
    let spec = loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let engine = Arc::new(FaultEngine::new(&spec.chaos, Seed::new(1), Arc::new(Clock::default())));
    engine.start();
    (Running::with(&["*.example"], Some(Arc::clone(&engine))).await, engine)
}

async fn get(address: SocketAddr, host: &str, path: &str) -> (String, Option<ErrorKind>) {
    call(address, &format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")).await
}

/// Returns the answer to the beginning of TLS.
async fn encrypted(address: SocketAddr, host: &str) -> String {
    sends(&mut TcpStream::connect(address).await.expect("a connection"), &hello(host)).await
}

fn targets(engine: &FaultEngine) -> Vec<String> {
    engine.record().firings.into_iter().map(|firing| firing.target).collect()
}

#[tokio::test]
async fn plain_requests_are_faulted_like_those_of_services() {
    for (fault, shown, reaches) in [
        ("mode: error, error_code: 418, message: no", "no", 0),
        ("mode: malformed", r#""value": "#, 0),
        ("mode: unauthorized", "401", 0),
        ("mode: truncated, bytes: 4", "\r\n\r\nget ", 1),
        ("mode: empty", "content-length: 0", 1),
        ("mode: wrong_entity, from: /orders/2", "get /orders/2 http/1.1 | host: a.example", 1),
    ] {
        let (running, engine) = running(&format!("{{tool: A.example, {fault}}}")).await;
        let (answer, _) = get(running.plain, "a.example", "/orders/1").await;
        assert!(answer.contains(shown), "{fault}: {answer}");
        assert_eq!(
            (running.connected().len(), targets(&engine)),
            (reaches, vec!["a.example:GET /orders/1".to_owned()])
        );
        let (answer, _) = get(running.plain, "b.example", "/orders/1").await;
        assert!(answer.ends_with("get /orders/1 http/1.1 | host: b.example"), "{fault}: {answer}");
        assert_eq!(engine.record().rules[0].matched, 1, "{fault}");
    }
}

#[tokio::test]
async fn answers_are_remembered_for_each_host() {
    let (running, engine) = running("{tool: '*.example', mode: wrong_entity}").await;
    for (host, path, about) in [
        ("a.example", "/orders/1", "/orders/1"),
        ("b.example", "/orders/2", "/orders/2"),
        ("a.example", "/orders/3", "/orders/1"),
    ] {
        let (answer, _) = get(running.plain, host, path).await;
        assert!(answer.ends_with(&format!("get {about} http/1.1 | host: {host}")), "{host}{path}: {answer}");
    }
    assert_eq!(targets(&engine), ["a.example:GET /orders/3"]);
}

#[tokio::test]
async fn requests_through_the_proxy_and_its_tunnels_are_faulted() {
    let (running, engine) = running("{tool: 'a.example:GET /x', mode: connection_reset}").await;
    let whole = "GET http://a.example/x HTTP/1.1\r\nhost: a.example\r\n\r\n";
    assert_eq!(call(running.proxy, whole).await, (String::new(), Some(ErrorKind::ConnectionReset)));
    let mut tunnel = TcpStream::connect(running.proxy).await.expect("a connection");
    let connect = b"CONNECT a.example:80 HTTP/1.1\r\nhost: a.example:80\r\n\r\n";
    assert_eq!(sends(&mut tunnel, connect).await, "HTT");
    tunnel.write_all(b"GET /x HTTP/1.1\r\nhost: a.example\r\n\r\n").await.expect("sending");
    let mut rest = Vec::new();
    let ended = timeout(DEADLINE, tunnel.read_to_end(&mut rest)).await.expect("an end in time");
    assert!(ended.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset));
    assert_eq!(targets(&engine), ["a.example:GET /x", "a.example:GET /x"]);
    assert_eq!((running.connected(), running.seen().await), (vec![], String::new()));
}

#[tokio::test]
async fn encrypted_connections_are_reset_refused_left_waiting_and_late() {
    for mode in ["connection_reset", "connection_refused", "timeout, delay_ms: 10"] {
        let (running, engine) = running(&format!("{{tool: '*.example', mode: {mode}, on_calls: [1, 3]}}")).await;
        let said = [encrypted(running.tls, "a.example").await, encrypted(running.tls, "a.example").await];
        assert_eq!(said, ["ended", "got"], "{mode}");
        let connect = "CONNECT b.example:443 HTTP/1.1\r\nhost: b.example:443\r\n\r\n";
        let (answer, error) = call(running.proxy, connect).await;
        let is_reset = error == Some(ErrorKind::ConnectionReset);
        assert_eq!((answer.as_str(), is_reset), ("", !mode.starts_with("timeout")), "{mode}");
        assert_eq!(targets(&engine), ["a.example:connect", "b.example:connect"], "{mode}");
        assert_eq!(running.connected(), ["11.0.0.1:443"], "{mode}");
    }
    let (running, _) = running("{tool: a.example, mode: slow, delay_ms: 40}").await;
    let since = Instant::now();
    assert_eq!(encrypted(running.tls, "a.example").await, "got");
    assert!(since.elapsed() >= Duration::from_millis(40));
}

#[tokio::test]
async fn a_refused_connection_is_the_first_call_of_a_host() {
    let (running, engine) = running("{tool: a.example, mode: connection_refused, on_calls: [2]}").await;
    let one = "GET /one HTTP/1.1\r\nhost: a.example\r\n\r\n";
    let twice = format!("{one}GET /two HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n");
    let (answer, error) = call(running.plain, &twice).await;
    assert!(answer.contains("get /one") && answer.contains("get /two") && error.is_none(), "{answer}");
    assert_eq!(get(running.plain, "a.example", "/").await, (String::new(), Some(ErrorKind::ConnectionReset)));
    assert_eq!((targets(&engine), engine.record().rules[0].matched), (vec!["a.example:connect".to_owned()], 2));
}

#[tokio::test]
async fn rules_of_services_routes_and_answers_leave_encrypted_connections_alone() {
    let faults = "{tool: '*', mode: connection_reset}, {tool: 'a.example:GET /x', mode: timeout}, \
                  {tool: a.example, match_url: '*x*', mode: timeout}, {tool: a.example, mode: error}";
    let (running, engine) = running(faults).await;
    assert_eq!(encrypted(running.tls, "a.example").await, "got");
    assert!(get(running.plain, "b.example", "/").await.0.starts_with("HTTP/1.1 200"));
    assert!(engine.record().rules.iter().all(|rule| rule.matched == 0), "{:?}", engine.record().rules);
}
