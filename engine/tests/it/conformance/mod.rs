//! Promises of every backend, as tests: each body takes a harness, and a backend's own module chooses it.

mod attacks;
mod cleanup;
mod determinism;
mod fixtures;
mod isolation;
mod keep;
mod lifecycle;
mod limits;
mod room;
mod service_faults;
mod services;
mod task_file;
mod tool_program;
mod world_faults;

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use engine::bundle::BundleFolder;
use scenario::evidence::{Answer, Evidence, Limit};
use scenario::result::{RowStatus, ScenarioResult};
use scenario::verdict::Outcome;
use serde_json::json;

use crate::harness::Harness;

/// An image with a shell that can open connections, perl, and programs with the setuid bit.
const DEBIAN: &str = "touchstone/debian:bookworm";

/// Runs each body on a backend, and sees that nothing is left.
macro_rules! suite_on {
    ($backend:ident: $($body:ident),+ $(,)?) => {
        mod $backend {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $body() {
                    let mut harness = crate::harness::Harness::$backend().await;
                    super::$body(&mut harness).await;
                    harness.assert_nothing_is_left();
                }
            )+
        }
    };
}
pub(crate) use suite_on;

/// Runs each body that is also one of the suite on namespaces once more, as somebody without any rights.
macro_rules! suite_unprivileged {
    ($($body:ident),+ $(,)?) => {
        mod unprivileged {
            $(
                #[test]
                fn $body() {
                    crate::unprivileged::run(module_path!(), stringify!($body));
                }
            )+
        }
    };
}
pub(crate) use suite_unprivileged;

/// Runs each body on Docker; those of a second list, which need no image of their own, also without it, as root and as
/// somebody without any rights; and those of a third only as root, because they are about what only root has.
macro_rules! suite {
    ($($body:ident),+ $(,)?; also on local: $($also:ident),+ $(,)?; on local as root: $($root:ident),+ $(,)?) => {
        crate::conformance::suite_on! { docker: $($body),+ }
        crate::conformance::suite_on! { local: $($also,)+ $($root),+ }
        crate::conformance::suite_unprivileged! { $($also),+ }
    };
    ($($body:ident),+ $(,)?; also on local: $($also:ident),+ $(,)?) => {
        crate::conformance::suite_on! { docker: $($body),+ }
        crate::conformance::suite_on! { local: $($also),+ }
        crate::conformance::suite_unprivileged! { $($also),+ }
    };
    ($($body:ident),+ $(,)?) => {
        crate::conformance::suite_on! { docker: $($body),+ }
    };
}
pub(crate) use suite;

/// A spec that is put together.
#[derive(Debug, Clone)]
struct Sketch {
    base: String,
    agent: serde_json::Value,
    rest: String,
    invariants: Vec<(String, serde_json::Value)>,
}

impl Sketch {
    /// An agent that runs a script in `bash`.
    fn acting(script: &str) -> Self {
        Self::with_agent(json!({"type": "cli", "command": ["bash", "-c", script], "timeout": "60s"}))
    }

    /// Any agent.
    fn with_agent(agent: serde_json::Value) -> Self {
        Self { base: DEBIAN.to_owned(), agent, rest: String::new(), invariants: Vec::new() }
    }

    /// Sets another image.
    fn base(mut self, image: &str) -> Self {
        image.clone_into(&mut self.base);
        self
    }

    /// A setting of the agent.
    fn agent(mut self, key: &str, value: serde_json::Value) -> Self {
        self.agent[key] = value;
        self
    }

    /// More YAML at the top level.
    fn with(mut self, yaml: &str) -> Self {
        self.rest.push_str(yaml.trim_start_matches('\n'));
        self.rest.push('\n');
        self
    }

    /// An invariant.
    fn must(mut self, name: &str, check: serde_json::Value) -> Self {
        self.invariants.push((name.to_owned(), check));
        self
    }

    /// An invariant that a command succeeds.
    fn must_succeed(self, name: &str, command: &str) -> Self {
        self.must(name, json!({"type": "command_exit", "command": command}))
    }

    fn yaml(&self) -> String {
        let mut invariants = self.invariants.clone();
        if invariants.is_empty() {
            invariants.push(("anything".to_owned(), json!({"type": "file_exists", "path": "."})));
        }
        let invariants: BTreeMap<_, _> =
            invariants.into_iter().map(|(name, check)| (name, json!({"description": "x", "check": check}))).collect();
        let task = if self.rest.contains("task:") { "" } else { "task: {prompt: do it}\n" };
        format!(
            "version: 1\nid: test\nbase: {}\n{task}agent: {}\n{}invariants: {}\n",
            self.base,
            self.agent,
            self.rest,
            json!(invariants)
        )
    }

    /// Runs it; there must be evidence.
    async fn run(&self, harness: &Harness) -> (ScenarioResult, Evidence) {
        harness.run(&self.yaml()).await
    }
}

/// The calls and faults of each rule, as `mode matched/fired`.
fn counts(evidence: &Evidence) -> Vec<String> {
    let record = evidence.faults.as_ref().expect("faults");
    assert_eq!(record.firings.len() as u64, record.total(), "{record:#?}");
    record.rules.iter().map(|rule| format!("{} {}/{}", rule.mode, rule.matched, rule.fired)).collect()
}

/// The agent printed all of these words, each under its key.
#[track_caller]
fn assert_said(evidence: &Evidence, expected: &[(&str, &str)]) {
    let said = printed(evidence);
    for (key, words) in expected {
        let value = said.get(*key).unwrap_or_else(|| panic!("no {key}: {evidence:#?}"));
        assert!(value.contains(words), "{key}: {value} instead of {words}: {said:#?}");
    }
}

/// The lines `key=value` that an agent printed.
fn printed(evidence: &Evidence) -> BTreeMap<String, String> {
    let lines = evidence.agent.stdout.head.lines().filter_map(|line| line.split_once('='));
    lines.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// The limits that fired.
fn fired(evidence: &Evidence) -> Vec<Limit> {
    evidence.limits.iter().map(|fired| fired.limit).collect()
}

/// Returns true if an invariant was met.
fn is_met(result: &ScenarioResult, name: &str) -> bool {
    let found = result.invariants.iter().find(|invariant| invariant.name == name);
    found.unwrap_or_else(|| panic!("no invariant {name}: {result:#?}")).verdict.outcome == Outcome::Passed
}

/// Fails unless the scenario failed by exactly this limit, with its invariants answered all the same.
fn assert_failed_by(limit: Limit, result: &ScenarioResult, evidence: &Evidence) {
    assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
    assert_eq!(fired(evidence), [limit], "{evidence:#?}");
    assert_eq!(evidence.answers.len(), result.invariants.len(), "{evidence:#?}");
}

/// The only answer to an invariant.
fn answer<'a>(evidence: &'a Evidence, invariant: &str) -> &'a Answer {
    evidence.answers.get(invariant).and_then(|answers| answers.first()).expect("an answer")
}

/// A folder of files beside a spec.
fn bundle(harness: &Harness, files: &[(&str, &str)]) -> BundleFolder {
    let folder = harness.folder.path().join("bundle");
    for (path, content) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, content).expect("a file");
    }
    BundleFolder::at(folder)
}

/// Returns the output of a command of the host. Its failure fails the test.
fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().expect("a program of the host");
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Waits until something is so.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(tokio::time::Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// An image that is made for a test and goes with it.
#[derive(Debug)]
struct TestImage(String);

impl TestImage {
    /// Makes an image of another: runs a command in it, and changes what it says about itself. That is much faster than a
    /// build, which makes a layer for each line.
    fn make(base: &str, command: &str, changes: &[&str]) -> Self {
        Self::make_named(format!("touchstone-test:{}", engine::entropy::hex(8)), base, command, changes)
    }

    /// Makes an image under a name.
    fn make_named(name: String, base: &str, command: &str, changes: &[&str]) -> Self {
        let options = ["run", "--detach", "--network", "none", "--label", "touchstone=test"];
        let container = output("docker", &[options.as_slice(), &[base, "sh", "-c", command]].concat());
        let code = output("docker", &["wait", &container]);
        let changes = changes.iter().flat_map(|change| ["--change", change]);
        let arguments: Vec<_> =
            ["commit"].into_iter().chain(changes).chain([container.as_str(), name.as_str()]).collect();
        let committed = Command::new("docker").args(&arguments).output().expect("docker");
        output("docker", &["rm", "--force", "--volumes", &container]);
        let image = Self(name);
        assert!(committed.status.success() && code == "0", "{code}: {committed:?}");
        image
    }

    fn name(&self) -> &str {
        &self.0
    }
}

impl Drop for TestImage {
    fn drop(&mut self) {
        let _ = Command::new("docker").args(["image", "rm", "--force", &self.0]).output();
    }
}
