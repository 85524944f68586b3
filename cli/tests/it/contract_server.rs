//! A contract of an agent that is a server in a container of Docker: reset between its rules, and asked in other words.

use std::fs;

use serde_json::{Value as Json, json};

use crate::place::Place;

/// Repeats all that it heard since it was reset.
const SERVER: &str = r#"
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

heard = []

class Assistant(BaseHTTPRequestHandler):
    def do_POST(self):
        told = self.rfile.read(int(self.headers["Content-Length"] or 0))
        heard.clear() if self.path == "/reset" else heard.append(json.loads(told)["input"])
        body = json.dumps({"answer": " | ".join(heard)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

ThreadingHTTPServer(("", 8080), Assistant).serve_forever()
"#;

fn spec(reset: bool) -> String {
    let mut agent = json!({"type": "http", "url": "http://assistant:8080/ask", "response_path": "answer"});
    if reset {
        agent["reset"] = json!("/reset");
    }
    json!({
        "version": 1, "id": "memory", "base": "touchstone/debian:bookworm",
        "task": {"prompt": "How do I change my password?"},
        "agent": agent,
        "services": [{
            "name": "assistant", "image": "touchstone/python:3.11", "ports": [8080], "command": ["python3", "-c", SERVER],
        }],
        "contract": {"name": "Memory", "isolation": "reuse", "invariants": [
            {"id": "hears", "type": "contains", "value": "Ada", "severity": "critical", "probes": ["My name is Ada."]},
            {"id": "forgets", "type": "excludes_pattern", "patterns": ["Ada"], "severity": "critical", "probes": ["Who am I?"]},
            {"id": "helps", "type": "contains", "value": "password"},
        ]},
        "mutations": {"types": ["case", "custom"], "count": 1, "templates": ["{{ task.prompt }} Quickly!"]},
    })
    .to_string()
}

/// The exit code of a run on Docker, the experiment, and what was said.
fn run(place: &Place, reset: bool) -> (i32, Json, String) {
    fs::write(place.spec().join("spec.yaml"), spec(reset)).expect("a spec");
    let folder = place.spec().display().to_string();
    let (code, stdout, stderr) = place.run(&["run", "--no-pull", "--backend", "docker", &folder, "--format", "json"]);
    let report: Json = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
    (code, report["experiments"][0].clone(), stdout)
}

#[test]
fn a_server_in_a_container_is_reset_between_rules_and_asked_in_other_words() {
    let place = Place::new("");
    let (code, kept, _) = run(&place, true);
    let contract = &kept["contract"];
    assert_eq!((code, &contract["resilience_score"]), (0, &json!(100.0)), "{kept:#}");
    let mutated = kept["mutations"]["kinds"].as_array().expect("kinds").iter();
    let mutated: Vec<_> = mutated.map(|kind| format!("{} {}", kind["kind"], kind["passed"]).replace('"', "")).collect();
    assert_eq!(mutated, ["case 1", "custom 1"], "{kept:#}");
    let (code, shared, stdout) = run(&place, false);
    let statuses = shared["contract"]["cells"].as_array().expect("cells").iter().map(|cell| cell["status"].clone());
    assert_eq!((code, statuses.collect()), (1, json!(["pass", "fail", "pass"])), "who is not reset remembers");
    assert!(stdout.contains("No reset_endpoint configured"), "{stdout}");
}
