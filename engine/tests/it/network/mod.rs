//! Names, the way out, HTTPS and the way in, with real sandboxes. The outside is played by a network of its own, which
//! leads nowhere else.

mod egress;
mod faults;
mod https;
mod ingress;
mod internet;
mod names;

use scenario::evidence::{AuditEvent, Evidence};
use serde_json::{Value as Json, json};

/// An image with Python.
const PYTHON: &str = "touchstone/python:3.11";

/// A spec whose agent is a Python program.
fn acting(program: &str, rest: &Json) -> String {
    let mut spec = json!({
        "version": 1,
        "id": "network",
        "base": PYTHON,
        "task": {"prompt": "do it"},
        "agent": {"type": "cli", "command": ["python3", "-c", program], "timeout": "60s"},
        "invariants": {"anything": {"description": "x", "check": {"type": "file_exists", "path": "."}}},
    });
    for (key, value) in rest.as_object().expect("an object") {
        spec[key] = value.clone();
    }
    spec.to_string()
}

/// Returns the agent's output, as JSON.
fn report(evidence: &Evidence) -> Json {
    let printed = evidence.agent.stdout.text();
    serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}\n{:#?}", evidence.agent))
}

/// Names that were looked up, each with its kind and where it leads, once.
fn lookups(evidence: &Evidence) -> Vec<String> {
    let events = evidence.audit.iter().flatten();
    let mut found: Vec<_> = events
        .filter_map(|event| match &event.event {
            AuditEvent::Dns { name, kind, answer } => {
                Some(format!("{name} {kind} {}", answer.as_deref().unwrap_or("nothing")))
            }
            _ => None,
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Lists the connections that went out and those that were denied, without numbers of bytes.
fn went_out(evidence: &Evidence) -> Vec<String> {
    let events = evidence.audit.iter().flatten();
    let mut found: Vec<_> = events
        .filter_map(|event| match &event.event {
            AuditEvent::Egress { host, port, address, bytes_out, bytes_in } => {
                let some = if *bytes_out > 0 && *bytes_in > 0 { "both ways" } else { "nothing" };
                Some(format!("{host}:{port} at {address}, {some}"))
            }
            AuditEvent::EgressDenied { host, port, reason } => Some(format!("{host}:{port} denied: {reason}")),
            _ => None,
        })
        .collect();
    found.sort();
    found.dedup();
    found
}
