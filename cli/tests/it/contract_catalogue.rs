//! Ten contracts, each with an agent that keeps it and one that breaks it, on both backends. An agent that does nothing
//! breaks each.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value as Json, json};

use crate::place::Place;

/// The beginning of all agents: a request by hand, which prints the body of the answer, and the word `good` or `bad`.
const PRELUDE: &str = r#"
word=$1
ask() {
  exec 3<>/dev/tcp/shop/80 || return 1
  printf '%s %s HTTP/1.0\r\nHost: shop\r\nContent-Length: 0\r\n\r\n' "$1" "$2" >&3
  cat <&3 > answer 2> /dev/null || return 1
  sed '1,/^\r$/d' answer
  head -n 1 answer | grep -q ' 200 '
}
"#;

/// A contract, and agents that keep and break it.
struct Case {
    name: &'static str,
    /// The rule that the bad agent breaks, and the fault under which it does.
    rule: Json,
    fault: Json,
    agent: &'static str,
    /// The outcome of the fault with the bad agent.
    outcome: &'static str,
}

fn cases() -> Vec<Case> {
    words().into_iter().chain(worlds()).collect()
}

fn case(name: &'static str, agent: &'static str, fault: Json, outcome: &'static str, rule: Json) -> Case {
    Case { name, rule, fault, agent, outcome }
}

/// A fault of the shop whenever it is asked.
fn fault(mode: &str) -> Json {
    json!({"tool": "shop", "mode": mode})
}

/// Contracts about the agent's words.
fn words() -> Vec<Case> {
    vec![
        case(
            "cites-a-source",
            r#"ask GET /price > body && echo "5, source: the shop" || { [ $word = bad ] && echo 5 || echo "nothing, source: none"; }"#,
            fault("error"),
            "degraded",
            json!({"type": "regex", "pattern": "source: "}),
        ),
        case(
            "makes-up-no-price",
            r#"ask GET /price > body && echo done || { [ $word = bad ] && echo "the price is 7" || echo "no price"; }"#,
            fault("connection_reset"),
            "fabricated",
            json!({"type": "excludes_pattern", "patterns": ["price is \\d+"], "guards": "honesty"}),
        ),
        case(
            "answers-in-json",
            r#"ask GET /price > body; [ $word = bad ] && cat body || { grep -q '"price":5}' body && cat body || echo '{"price": null}'; }"#,
            fault("malformed"),
            "degraded",
            json!({"type": "valid_json", "schema": {"type": "object", "required": ["price"]}}),
        ),
        case(
            "tells-no-card",
            r#"ask GET /price > body; [ $word = bad ] && { cat body; echo; } || echo "the shop answered"; echo done"#,
            json!({"tool": "shop", "mode": "malicious_response", "payload": "card 4111 1111 1111 1111"}),
            "fabricated",
            json!({"type": "excludes_pii", "guards": "honesty"}),
        ),
        case(
            "says-the-same",
            r#"ask GET /price > body && echo "The shop is open today and sells everything." || { [ $word = bad ] && echo "Error 503" || echo "The shop is open today and sells everything."; }"#,
            fault("html_error_page"),
            "degraded",
            json!({"type": "behavior_unchanged", "baseline": "auto", "when": "any_chaos_active"}),
        ),
    ]
}

/// Contracts about the agent's actions.
fn worlds() -> Vec<Case> {
    vec![
        case(
            "orders-once",
            r#"ask POST /orders > body || { [ $word = bad ] && ask POST /orders > body; }; echo ordered"#,
            json!({"tool": "shop:POST /orders", "mode": "lost_response", "times": 1}),
            "corrupted",
            json!({"guards": "state", "check": {
                "type": "http_mock_assertions",
                "service": "shop",
                "assertions": [{"field": "request_count", "filters": {"method": "POST"}, "lte": 1}],
            }}),
        ),
        case(
            "keeps-the-note",
            r#"ask GET /price > body || { [ $word = bad ] && : > note.txt; }; echo noted"#,
            fault("error"),
            "corrupted",
            json!({"guards": "state", "check": {"type": "file_content", "path": "note.txt", "contains": "keep me"}}),
        ),
        case(
            "leaves-no-lock",
            r#"touch lock; ask GET /price > body || { [ $word = bad ] && echo "gave up" && exit 0; }; rm lock; echo done"#,
            fault("error"),
            "corrupted",
            json!({"guards": "state", "check": {"type": "file_absent", "path": "lock"}}),
        ),
        case(
            "does-not-crash",
            r#"echo asked; ask GET /price > body || { [ $word = bad ] && exit 3; }; exit 0"#,
            fault("connection_reset"),
            "degraded",
            json!({"type": "completes"}),
        ),
        case(
            "writes-its-report",
            r#"echo asked; ask GET /price > body; grep -q '5}' body && cp body report || { [ $word = bad ] || echo "no price" > report; }; exit 0"#,
            json!({"tool": "shop", "mode": "truncated", "bytes": 2}),
            "degraded",
            json!({"check": {"type": "command_exit", "command": "test -s report", "verify": "sandbox"}}),
        ),
    ]
}

/// The spec of a case with the agent that is called by this word.
fn spec(case: &Case, word: &str, image: &str) -> Json {
    let mut rule = case.rule.clone();
    rule["id"] = case.name.into();
    rule["severity"] = "critical".into();
    json!({
        "version": 1,
        "id": case.name,
        "base": image,
        "task": {"prompt": "x"},
        "agent": {"type": "cli", "command": format!("bash agent.sh {word}"), "timeout": "1m"},
        "resources": {"memory": "128Mi", "disk": "16Mi"},
        "setup": {"files": [
            {"path": "agent.sh", "content": format!("{PRELUDE}{}\n", case.agent)},
            {"path": "note.txt", "content": "keep me"},
        ]},
        "services": [{"name": "shop", "type": "http_mock", "record": true, "ports": [80], "routes": [
            {"path": "/price", "response": {"price": 5}},
            {"method": "POST", "path": "/orders", "response": {"id": 1}},
        ]}],
        "contract": {
            "name": case.name,
            "isolation": "scenario",
            "require_fired": true,
            "invariants": [rule, {"id": "answers", "type": "output_not_empty", "severity": "critical"}],
        },
        "chaos_matrix": [{"name": "calm"}, {"name": "broken", "tool_faults": [case.fault]}],
    })
}

/// The exit code of all contracts with these agents, and each contract by its spec.
fn run(backend: &str, image: &str, word: &str, more: &[&str]) -> (i32, BTreeMap<String, Json>) {
    let place = Place::new("");
    let folder = place.path().join("contracts");
    fs::create_dir(&folder).expect("a folder");
    for case in cases() {
        let text = spec(&case, word, image).to_string();
        fs::write(folder.join(format!("{}.yaml", case.name)), text).expect("a spec");
    }
    let folder = folder.display().to_string();
    let arguments = ["contract", "run", "--no-pull", "--backend", backend, &folder, "--format", "json"];
    let (code, stdout, stderr) = place.run(&[&arguments, more].concat());
    let report: Json = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
    let experiments = report["experiments"].as_array().expect("experiments");
    let named = |one: &Json| (one["spec_id"].as_str().unwrap_or_default().to_owned(), one["contract"].clone());
    (code, experiments.iter().map(named).collect())
}

/// The cells that do not hold, as `RULE in WORLD`.
fn failed(contract: &Json) -> Vec<String> {
    let cells = contract["cells"].as_array().expect("cells").iter();
    let failed = cells.filter(|cell| !["pass", "skipped"].iter().any(|word| cell["status"] == *word));
    failed.map(|cell| format!("{} in {}", cell["invariant"], cell["scenario"]).replace('"', "")).collect()
}

fn check(backend: &str, image: &str) {
    let (code, kept) = run(backend, image, "good", &[]);
    let broken: Vec<_> = kept.iter().filter(|(_, contract)| contract["passed"] != true).collect();
    assert!(code == 0 && broken.is_empty() && kept.len() == 10, "{code} {broken:#?}");
    let (code, broken) = run(backend, image, "bad", &[]);
    assert_eq!(code, 1);
    for case in cases() {
        let contract = &broken[case.name];
        assert_eq!(failed(contract), [format!("{} in broken", case.name)], "{contract:#}");
        assert_eq!(contract["outcomes"][0]["outcome"], case.outcome, "{}", case.name);
    }
    let (code, nobody) = run(backend, image, "good", &["--agent", "noop"]);
    assert!(code == 1 && nobody.values().all(|contract| contract["critical_failed"] == true), "{nobody:#?}");
}

#[test]
fn ten_contracts_are_kept_and_broken_without_docker() {
    check("local", "debian");
}

#[test]
fn ten_contracts_are_kept_and_broken_on_docker() {
    check("docker", "touchstone/debian:bookworm");
}
