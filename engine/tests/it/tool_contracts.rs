//! Tool contracts that are applied while an agent acts.

use std::fs;

use engine::bundle::BundleFolder;
use scenario::evidence::Exit;
use scenario::result::RowStatus;
use serde_json::{Value as Json, json};

use crate::harness::Harness;

const SESSION: &str = "schema_version: \"1.0\"\nagent: payer\n\
    phases: [{name: start, initial: true}, {name: looked, terminal: true}]\ntransitions: {start: [looked]}\n";
const LOOK: &str =
    "tool: look\nside_effect: read\ntransitions: {valid_in_phases: [start, looked], advances_to: looked}\n";
const PAY: &str = "tool: pay\nside_effect: financial\ntransitions: {valid_in_phases: [looked]}\n\
    argument_value_invariants: [{path: $.amount, lte: 100}]\n";

/// Puts a folder with rules into a harness.
fn with_rules(harness: &mut Harness, pay: &str) {
    let folder = harness.folder.path().join("beside");
    fs::create_dir_all(folder.join("rules")).expect("a folder");
    for (name, text) in [("session.yaml", SESSION), ("look.yaml", LOOK), ("pay.yaml", pay)] {
        fs::write(folder.join("rules").join(name), text).expect("a file");
    }
    harness.bundle = BundleFolder::at(folder);
}

fn spec(base: &str, script: &str, rest: &Json) -> String {
    let rules = json!({"description": "x", "gate": true, "check": {"type": "tool_contract", "contracts": "rules"}});
    let mut spec = json!({
        "version": 1,
        "id": "governed",
        "base": base,
        "task": {"prompt": "do it"},
        "setup": {"files": [{"path": "agent.py", "content": script}]},
        "agent": {"type": "cli", "command": ["python3", "agent.py"], "timeout": "2m"},
        "tool_contracts": {"dir": "rules", "mode": "govern"},
        "invariants": {"rules": rules},
    });
    for (key, value) in rest.as_object().expect("sections") {
        spec[key] = value.clone();
    }
    spec.to_string()
}

fn calls(tool: &str, arguments: &Json) -> Json {
    json!({"tool_calls": [{"name": tool, "arguments": arguments}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn stock_clients_of_models_read_refusals_as_errors_and_do_not_ask_again() {
    let mut harness = Harness::docker().await;
    with_rules(&mut harness, PAY);
    let turns = json!([
        calls("pay", &json!({"amount": 5})),
        calls("look", &json!({})),
        calls("pay", &json!({"amount": 5})),
        calls("pay", &json!({"amount": 500})),
        calls("pay", &json!({"amount": 500})),
        {"content": "bye"},
    ]);
    let rest = json!({"model": {"mode": "scripted", "turns": turns, "require_all_turns": true}});
    let script = include_str!("sdks/contracts_agent.py");
    let (result, evidence) = harness.run(&spec("touchstone-test/sdks:1", script, &rest)).await;
    assert_eq!(evidence.agent.exit, Some(Exit::Code(0)), "{}", evidence.agent.stderr.head);
    let printed: Vec<_> = evidence.agent.stdout.head.lines().collect();
    let expected = [
        "chat contract_violation wrong_phase",
        "stream look",
        "paid {\"amount\":5}",
        "messages contract_violation argument_invariant_failed",
        "responses contract_violation argument_invariant_failed",
        "text bye",
    ];
    assert_eq!(printed, expected, "{}", evidence.agent.stderr.head);
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    assert_eq!(evidence.model.expect("a model").calls.len(), 6, "nothing was tried again");
}

/// Program that asks a container that speaks HTTP itself, and over another protocol.
const AROUND: &str = r#"
import json, os, socket
from urllib.error import HTTPError
from urllib.request import Request, urlopen

def ask(method, path, body=None):
    try:
        with urlopen(Request(f"http://shop:8000{path}", body, method=method), timeout=20) as answer:
            return answer.status
    except HTTPError as error:
        return error.code

print("pay first", ask("POST", "/pay", b'{"amount": 5}'))
print("look", ask("GET", "/look"))
print("elsewhere", ask("GET", "/elsewhere"))
print("pay", ask("POST", "/pay", b'{"amount": 5}'))
print("too much", ask("POST", "/pay", b'{"amount": 500}'))
with socket.create_connection((socket.gethostbyname("shop"), 8000), timeout=20) as other:
    other.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    try:
        print("http/2", other.recv(100))
    except ConnectionResetError:
        print("http/2 reset")
"#;

const SHOP: &str = r#"
from http.server import BaseHTTPRequestHandler, HTTPServer
import sys

class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = b'{"ok": true}'
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET

HTTPServer(("0.0.0.0", 8000), Shop).serve_forever()
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_container_answers_only_requests_that_are_allowed_calls() {
    let mut harness = Harness::docker().await;
    with_rules(&mut harness, PAY);
    let route = |tool: &str, method: &str, path: &str| json!({"tool": tool, "via": "http", "service": "shop", "match": {"method": method, "path": path}});
    let rest = json!({
        "services": [{"name": "shop", "image": "touchstone/python:3.11", "command": ["python3", "-c", SHOP], "ports": [8000]}],
        "tool_contracts": {
            "dir": "rules", "mode": "govern",
            "tools": [route("look", "GET", "/look"), route("pay", "POST", "/pay")],
        },
    });
    let (result, evidence) = harness.run(&spec("touchstone/python:3.11", AROUND, &rest)).await;
    let printed: Vec<_> = evidence.agent.stdout.head.lines().collect();
    let expected = ["pay first 403", "look 200", "elsewhere 403", "pay 200", "too much 403", "http/2 reset"];
    assert_eq!(printed, expected, "{}", evidence.agent.stderr.head);
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    let session = &evidence.tool_contracts.expect("a record").sessions[0];
    let of = |kind: &str| session.records.iter().filter(|record| record["kind"] == kind).count();
    assert_eq!((of("decision"), of("completed"), session.phase.as_deref()), (5, 2, Some("looked")));
}
