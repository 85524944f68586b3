//! Contracts in real sandboxes: runs that are shared between scenarios.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use engine::machine::Machine;
use engine::providers::Providers;
use scenario::evidence::Evidence;
use scenario::result::{Caveat, RowStatus, ScenarioResult};
use serde_json::{Value as Json, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::harness::Harness;

/// A contract with these keys, and the words of its agent.
fn contract(agent: &[&str], more: &str) -> String {
    let agent = serde_json::to_string(agent).expect("JSON");
    format!(
        "version: 1\nid: contract\nbase: debian\ntask: {{prompt: Say hello.}}\n\
         agent: {{type: cli, command: {agent}}}\n{more}\n"
    )
}

/// A contract whose agent is this shell line with these keys, and whose rules are judged in one sandbox.
fn reused(agent: &str, keys: &str, rules: &[&str]) -> String {
    let agent = serde_json::to_string(agent).expect("JSON");
    let rules: String = rules.iter().map(|rule| format!("    - {{{rule}}}\n")).collect();
    format!(
        "version: 1\nid: contract\nbase: debian\ntask: {{prompt: Say hello.}}\n\
         agent: {{type: cli, command: {agent}{keys}}}\n\
         contract:\n  name: Reused\n  isolation: reuse\n  invariants:\n{rules}"
    )
}

/// An agent that counts in a file how often it was invoked.
const COUNTING: &str =
    "n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n > count; echo \"$TOUCHSTONE_TASK_PROMPT $n\"";

/// The agent's output in each invocation.
fn printed(evidence: &Evidence) -> Vec<String> {
    let records = evidence.invocations.iter().map(|one| one.agent.as_ref().expect("an invocation"));
    records.map(|record| record.stdout.text().trim().to_owned()).collect()
}

fn met<'a>(ran: impl IntoIterator<Item = &'a (ScenarioResult, Evidence)>) -> Vec<String> {
    let invariants = ran.into_iter().flat_map(|(result, _)| &result.invariants);
    invariants.filter(|one| one.verdict.is_passed()).map(|one| one.name.clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_run_without_faults_is_shared_by_all_rules_and_worlds() {
    let mut harness = Harness::local().await;
    harness.secrets.insert("TOKEN".to_owned(), "a-very-secret-token".to_owned());
    // Each run prints another name, so that the clean runs of scenarios are the same only when they are one.
    let ask = "import os, urllib.request as u, json\n\
        body = json.dumps({'model': 'm', 'messages': [{'role': 'user', 'content': 'x'}]}).encode()\n\
        u.urlopen(u.Request(os.environ['OPENAI_BASE_URL'] + '/chat/completions', body, {'Content-Type': 'application/json', 'Authorization': 'Bearer ' + os.environ['OPENAI_API_KEY']}))\n\
        print('hello', os.environ['TOKEN'], open('/proc/sys/kernel/random/uuid').read())";
    let rules = "secrets: [TOKEN]\nmodel: {mode: scripted, turns: [{content: hi, prompt_tokens: 5, completion_tokens: 2}]}\n\
        services: [{name: shop, type: http_mock, ports: [80]}]\n\
        chaos_matrix: [{name: calm}, {name: down, tool_faults: [{tool: shop, mode: error}]}]\n\
        contract:\n  name: Same\n  invariants:\n\
        \x20   - {id: alike, type: behavior_unchanged, similarity_threshold: 0.1}\n\
        \x20   - {id: the-same, type: behavior_unchanged, similarity_threshold: 1}\n";
    let ran = harness.run_all(&contract(&["python3", "-c", ask], rules)).await;
    assert_eq!((ran.len(), met(&ran)), (4, vec!["alike".to_owned(), "alike".to_owned()]), "{ran:#?}");
    let clean: HashSet<_> = ran
        .iter()
        .map(|(_, evidence)| {
            let (baseline, key) =
                (evidence.baseline.as_ref().expect("a run"), evidence.marker_key.as_ref().expect("a key"));
            let marker = format!("[redacted:TOKEN:{key}]");
            assert!(baseline.stdout.head.contains(&marker), "{baseline:?}");
            assert_ne!(baseline.stdout.head, evidence.agent.stdout.head);
            baseline.stdout.head.replace(&marker, "")
        })
        .collect();
    assert_eq!(clean.len(), 1, "all are compared with one run");
    let calls: u64 = ran.iter().map(|(result, _)| result.usage.calls).sum();
    let tokens: u64 = ran.iter().map(|(result, _)| result.usage.tokens()).sum();
    assert_eq!((calls, tokens), (5, 35), "four scenarios and one run without faults, counted once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_gives_each_rule_an_agent_that_knows_nothing() {
    let harness = Harness::local().await;
    let rules = [
        "id: first, type: contains, value: hello. 1",
        "id: second, type: contains, value: hello. 1",
        "id: probed, type: regex, pattern: '^{{ task.prompt }} 1', probes: [Who are you?, Where?]",
        "id: left, check: {type: file_content, path: count, pattern: '^1\\s*$'}",
    ];
    let yaml = reused(COUNTING, ", reset: {command: rm count}", &rules);
    let (result, evidence) = harness.run(&yaml).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    assert_eq!(printed(&evidence), ["Say hello. 1", "Say hello. 1", "Who are you? 1", "Where? 1", "Say hello. 1"]);
    let told = (evidence.keeps_state, evidence.notes.iter().any(|note| note.contains("reset")));
    assert_eq!(told, (false, false), "{:?}", evidence.notes);
    assert!(result.agent_output.contains("Who are you? 1\nWhere? 1\n"), "{}", result.agent_output);
    let kept = serde_json::to_string(&evidence).expect("JSON");
    assert_eq!(serde_json::from_str::<Evidence>(&kept).expect("evidence"), evidence);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_reset_an_agent_with_state_is_told_and_fails_nothing() {
    let harness = Harness::local().await;
    let rules = ["id: greets, type: contains, value: hello", "id: again, type: contains, value: hello"];
    let (result, evidence) = harness.run(&reused(COUNTING, "", &rules)).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    assert_eq!(printed(&evidence), ["Say hello. 1", "Say hello. 3"], "the second was to see if it keeps state");
    assert!(evidence.keeps_state && result.caveats.contains(&Caveat::SharedState), "{result:#?}");
    let (result, evidence) = harness.run(&reused("echo hello", "", &rules)).await;
    assert_eq!((result.status, evidence.keeps_state), (RowStatus::Pass, false));
    assert!(!result.caveats.contains(&Caveat::SharedState));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_that_fails_is_noted_and_fails_nothing() {
    let harness = Harness::local().await;
    let rules = ["id: greets, type: contains, value: hello", "id: again, type: contains, value: hello"];
    for reset in ["{command: 'echo no >&2; exit 3'}", "{http: 'http://localhost:9/reset'}"] {
        let (result, evidence) = harness.run(&reused(COUNTING, &format!(", reset: {reset}"), &rules)).await;
        assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
        let is_note = |note: &&String| note.starts_with("the reset before invocation 2 of the agent failed: ");
        assert_eq!(evidence.notes.iter().filter(is_note).count(), 1, "{:?}", evidence.notes);
    }
}

/// An agent that leaves a server with a count running, and asks it.
const SERVING: &str = r#"
import subprocess, sys, time, urllib.request
SERVER = """
from http.server import BaseHTTPRequestHandler, HTTPServer
class Counting(BaseHTTPRequestHandler):
    count = 0
    def do_POST(self):
        Counting.count = 0 if self.path == '/reset' else Counting.count + 1
        body = str(Counting.count).encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words): pass
HTTPServer(('127.0.0.1', 8765), Counting).serve_forever()
"""
def ask():
    return urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:8765/ask", b"x"), timeout=5).read().decode()
try:
    print("count", ask())
except OSError:
    nothing = subprocess.DEVNULL
    subprocess.Popen([sys.executable, "-c", SERVER], stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)
    for _ in range(500):
        try:
            print("count", ask())
            break
        except OSError:
            time.sleep(0.02)
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_the_agent_left_is_reset_over_http() {
    let harness = Harness::local().await;
    let agent = SERVING.replace('\'', "'\"'\"'");
    let rules = ["id: first, type: contains, value: count 1", "id: second, type: contains, value: count 1"];
    let yaml = reused(&format!("python3 -c '{agent}'"), ", reset: {http: 'http://localhost:8765/reset'}", &rules);
    let (result, evidence) = harness.run(&yaml).await;
    assert_eq!((result.status, printed(&evidence)), (RowStatus::Pass, vec!["count 1".to_owned(); 2]), "{evidence:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invocation_that_takes_too_long_fails_its_own_rule_alone() {
    let harness = Harness::local().await;
    let rules = [
        "id: hangs, type: output_not_empty, probes: [wait]",
        "id: goes-on, type: contains, value: '{{ task.prompt }}'",
        "id: in-the-file, type: contains, value: Say hello.",
    ];
    let agent = "case $TOUCHSTONE_TASK_PROMPT in wait) sleep 600;; *) echo said; grep prompt \"$TOUCHSTONE_TASK_FILE\" .keystone/task.json;; esac";
    let (result, evidence) = harness.run(&reused(agent, ", timeout: 1s, reset: {command: 'true'}", &rules)).await;
    let told: Vec<_> = result.invariants.iter().map(|one| (one.name.as_str(), one.verdict.is_passed())).collect();
    assert_eq!(told, [("hangs", false), ("goes-on", true), ("in-the-file", true)], "{result:#?}");
    assert_eq!((result.status, evidence.limits.len()), (RowStatus::Fail, 1));
    assert_eq!(evidence.workspace.modified, Vec::<String>::new(), "the task is ours");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_invocation_is_compared_with_the_clean_run_of_its_prompt_by_embeddings() {
    let mut harness = Harness::local().await;
    let server = MockServer::start().await;
    // The same direction for the same prompt, whatever the agent says about it.
    let vector =
        |text: &Json| if text.as_str().is_some_and(|text| text.contains("one")) { [1.0, 0.0] } else { [0.0, 1.0] };
    let answer = move |request: &Request| {
        let asked: Json = serde_json::from_slice(&request.body).expect("JSON");
        let data: Vec<_> =
            (0..2).map(|index| json!({"index": index, "embedding": vector(&asked["input"][index])})).collect();
        ResponseTemplate::new(200).set_body_json(json!({"data": data, "model": "small", "usage": {"prompt_tokens": 3}}))
    };
    Mock::given(method("POST")).and(path("/v1/embeddings")).respond_with(answer).mount(&server).await;
    let yaml = format!("aliases: {{embedder: {{provider: openai, base_url: '{}/v1', model: small}}}}", server.uri());
    let providers = Providers::read(&yaml, Path::new("models.yaml"), &|_| None).expect("providers");
    harness.machine = Machine { providers: Arc::new(providers), ..Machine::default() };
    let agent = "echo \"$TOUCHSTONE_TASK_PROMPT\" $(cat /proc/sys/kernel/random/uuid)";
    let rules = ["id: alike, type: behavior_unchanged, method: embedding, model: embedder, probes: [one, two]"];
    let (result, evidence) = harness.run(&reused(agent, ", reset: {command: 'true'}", &rules)).await;
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    assert_eq!(result.invariants[0].verdict.details["method"], "embedding");
    let clean: Vec<_> = evidence.invocations.iter().filter_map(|one| one.baseline.as_ref()).collect();
    assert!(clean.len() == 2 && clean[0].stdout.head.starts_with("one ") && clean[1].stdout.head.starts_with("two "));
    assert_eq!((evidence.judge_usage.calls, evidence.invocations[1].answers["alike"].len()), (2, 1));
    // A model that is down is nobody's failure.
    server.reset().await;
    let (result, _) = harness.run(&reused(agent, ", reset: {command: 'true'}", &rules)).await;
    assert_eq!(result.status, RowStatus::Error, "{result:#?}");
}
