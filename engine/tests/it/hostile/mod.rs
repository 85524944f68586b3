//! The agent as an attacker: root in its container without capabilities, or anybody else.
//!
//! Whatever it can provoke is a failure that names its cause, or does no harm. It never makes an error of ours, a verdict of
//! its own, or leaves anything behind; the last is looked at by every run of the harness.

mod calls;
mod databases;
mod doorkeeper;
mod errors;
mod exfiltration;
mod files;
mod fresh;
mod lookups;
mod processes;
mod services;
mod streams;
mod submissions;
mod verdicts;
mod visits;
mod writes;

use scenario::evidence::{Evidence, Limit};
use scenario::result::{RowStatus, ScenarioResult};
use scenario::verdict::Verdict;
use serde_json::{Value as Json, json};

/// An image with Python, for raw system calls.
const PYTHON: &str = "touchstone/python:3.11";
/// Path of the agent's program. It is there before the agent starts, so it is no change of the image.
const PROGRAM: &str = "/opt/attack.py";

/// An attack: a Python program that acts as the agent, and the world that it acts in.
#[derive(Debug, Clone)]
struct Attack {
    program: String,
    spec: Json,
}

impl Attack {
    /// The agent is this program.
    fn new(program: &str) -> Self {
        let spec = json!({
            "version": 1,
            "id": "hostile",
            "base": PYTHON,
            "task": {"prompt": "do it"},
            "setup": {"files": [{"path": PROGRAM, "content": program}]},
            "agent": {"type": "cli", "command": format!("python3 {PROGRAM}"), "timeout": "60s"},
            "resources": {"memory": "128MB", "disk": "32MB", "pids": 64, "cpu": 2},
            "invariants": {},
        });
        Self { program: program.to_owned(), spec }
    }

    /// Sets a value at a path such as `agent.user`.
    fn with(mut self, path: &str, value: impl Into<Json>) -> Self {
        let pointer = format!("/{}", path.replace('.', "/"));
        let (parent, key) = pointer.rsplit_once('/').expect("a key");
        let parent = if parent.is_empty() { &mut self.spec } else { self.spec.pointer_mut(parent).expect("a parent") };
        parent[key] = value.into();
        self
    }

    /// Expects something afterwards.
    fn expect(mut self, name: &str, check: Json) -> Self {
        self.spec["invariants"][name] = json!({"description": name, "check": check});
        self
    }

    /// Expects a shell command to succeed afterwards.
    fn expect_command(self, name: &str, command: &str) -> Self {
        self.expect(name, json!({"type": "command_exit", "command": command, "timeout": "30s"}))
    }

    fn yaml(&self) -> String {
        assert!(!self.program.contains("{{"), "the program would be taken for a template");
        self.spec.to_string()
    }
}

/// The verdict on an invariant.
fn verdict<'a>(result: &'a ScenarioResult, name: &str) -> &'a Verdict {
    let found = result.invariants.iter().find(|invariant| invariant.name == name);
    &found.unwrap_or_else(|| panic!("no {name}: {result:#?}")).verdict
}

/// Returns the agent's output, as JSON.
fn report(evidence: &Evidence) -> Json {
    let printed = evidence.agent.stdout.text();
    serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}\n{:?}", evidence.agent))
}

/// Fails unless the scenario failed by this limit.
fn assert_limit(result: &ScenarioResult, limit: Limit) {
    assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
    assert!(result.limits.iter().any(|fired| fired.limit == limit), "{:#?}", result.limits);
}

/// Fails unless the scenario passed.
fn assert_harmless(result: &ScenarioResult) {
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    assert!(result.limits.is_empty() && result.offences.is_empty(), "{result:#?}");
}

/// A check that only the doorkeeper, the shell and the looking program are there.
const NOBODY_ELSE: &str = "exec python3 -c \"import os,sys; others = {p for p in os.listdir('/proc') if p.isdigit()} - {'1', str(os.getpid())}; print(others); sys.exit(len(others) > 0)\"";
