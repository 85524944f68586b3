//! Contracts in real sandboxes: runs that are shared between scenarios.

use std::collections::HashSet;

use scenario::evidence::Evidence;
use scenario::result::ScenarioResult;

use crate::harness::Harness;

/// A contract with these keys, and the words of its agent.
fn contract(agent: &[&str], more: &str) -> String {
    let agent = serde_json::to_string(agent).expect("JSON");
    format!(
        "version: 1\nid: contract\nbase: debian\ntask: {{prompt: Say hello.}}\n\
         agent: {{type: cli, command: {agent}}}\n{more}\n"
    )
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
        u.urlopen(u.Request(os.environ['OPENAI_BASE_URL'] + '/chat/completions', body, {'Content-Type': 'application/json'}))\n\
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
