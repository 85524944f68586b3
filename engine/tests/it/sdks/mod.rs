//! Stock SDKs inside a sandbox, as agents use them: Keystone's, OpenAI's and Anthropic's.
//!
//! `scripts/test-images` makes their image.

use std::collections::BTreeMap;

use scenario::evidence::{Dialect, Evidence, Exit, ModelRecord};
use scenario::result::RowStatus;
use serde_json::{Value as Json, json};

use crate::harness::Harness;

const IMAGE: &str = "touchstone-test/sdks:1";

/// Runs an agent that is a script in Python, and gives what it left. The script must end well.
async fn run(script: &str, rest: Json) -> Evidence {
    let mut spec = json!({
        "version": 1,
        "id": "sdks",
        "base": IMAGE,
        "task": {"prompt": "do it"},
        "setup": {"files": [{"path": "agent.py", "content": script}]},
        "agent": {"type": "cli", "command": ["python3", "agent.py"], "timeout": "2m"},
        "invariants": {"there": {"description": "x", "check": {"type": "file_exists", "path": "agent.py"}}},
    });
    for (key, value) in rest.as_object().expect("sections") {
        spec[key] = value.clone();
    }
    let harness = Harness::docker().await;
    let (result, evidence) = harness.run(&spec.to_string()).await;
    let (output, errors) = (&evidence.agent.stdout.head, &evidence.agent.stderr.head);
    assert_eq!(evidence.agent.exit, Some(Exit::Code(0)), "{output}\n{errors}");
    assert_eq!(result.status, RowStatus::Pass, "{result:#?}");
    evidence
}

/// Fails unless the agent printed exactly this.
fn assert_printed(evidence: &Evidence, expected: &[&str]) {
    let lines: Vec<_> = evidence.agent.stdout.head.lines().collect();
    assert_eq!(lines, expected, "{}", evidence.agent.stderr.head);
}

/// A scripted model that answers with text, or with a call of `read_file`.
fn model(turns: impl IntoIterator<Item = Json>) -> Json {
    json!({"model": {"mode": "scripted", "turns": turns.into_iter().collect::<Vec<_>>(), "require_all_turns": true}})
}

fn says(content: &str) -> Json {
    json!({"content": content, "prompt_tokens": 11, "completion_tokens": 5})
}

fn reads(path: &str) -> Json {
    json!({"tool_calls": [{"name": "read_file", "arguments": {"path": path}}], "prompt_tokens": 20, "completion_tokens": 7})
}

/// The shape of each call of a kind that takes a turn, and whether it was streamed.
fn asked(record: &ModelRecord) -> Vec<(Dialect, bool)> {
    let turns = record.calls.iter().filter(|call| !matches!(call.dialect, Dialect::Embeddings | Dialect::Models));
    turns.map(|call| (call.dialect, call.stream)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn keystones_sdk_finds_its_sandbox_and_what_it_reports_is_kept_as_its_own_word() {
    let services =
        json!({"services": [{"name": "shop", "type": "http_mock", "ports": [80], "routes": [{"path": "/"}]}]});
    let evidence = run(include_str!("keystone_agent.py"), services).await;
    let lines = evidence.agent.stdout.head.lines().filter_map(|line| line.split_once('='));
    let printed: BTreeMap<_, _> = lines.collect();
    let sandbox = printed["sandbox"];
    let id = sandbox.strip_suffix(" running sdks").and_then(|id| id.strip_prefix("sb-")).expect("an id");
    assert!(id.len() == 12 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{sandbox}");
    for (key, value) in [
        ("health", "ok"),
        ("wrapped", "one moment"),
        ("sum", "3"),
        ("raised", "as expected"),
        ("odd", "3"),
        ("another", "403"),
        ("destroy", "403"),
        ("files", "501"),
        ("experiments", "501"),
    ] {
        assert_eq!(printed.get(key), Some(&value), "{key}: {printed:#?}");
    }
    assert!(printed["shop"].ends_with(":80 True"), "{printed:#?}");
    assert_reported(&evidence);
    assert_eq!(evidence.usage, Default::default(), "what an agent says of its model costs nothing");
    assert_eq!(evidence.tool_counts(), (0, 0), "and counts nothing");
}

/// Fails unless what the SDK reported is there, in any order: it sends from several threads.
fn assert_reported(evidence: &Evidence) {
    let reported = &evidence.self_reported;
    assert!(reported.iter().all(|event| event["self_reported"] == true), "{reported:#?}");
    let text = |event: &Json, key: &str| event[key].as_str().unwrap_or("-").to_owned();
    let of = |event| ["event_type", "phase", "tool", "status"].map(|key| text(event, key)).join(" ");
    let mut events: Vec<_> = reported.iter().map(of).collect();
    events.sort();
    let expected = [
        "- - - -",
        "- - - -",
        "- - - -",
        "llm_call complete openai.create ok",
        "tool_call end add ok",
        "tool_call end breaks error",
        "tool_call end step ok",
        "tool_call start add ok",
        "tool_call start breaks ok",
        "tool_call start step ok",
        "tool_use invoked lookup ok",
    ];
    assert_eq!(events, expected, "{reported:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn openais_package_talks_to_a_scripted_model() {
    let turns = [
        says("Hello from turn 0."),
        says("Hello from turn 1."),
        reads("notes.txt"),
        reads("other.txt"),
        says("Hello from turn 4."),
        says("Hello from turn 5."),
        reads("last.txt"),
    ];
    let evidence = run(include_str!("openai_agent.py"), model(turns)).await;
    let expected = [
        "chat=Hello from turn 0. stop",
        "chat tokens=11 5 16",
        "stream=Hello from turn 1. stop",
        "stream tokens=11 5",
        "tool=read_file notes.txt tool_calls",
        "streamed tool=read_file other.txt tool_calls",
        "response=Hello from turn 4. completed",
        "response tokens=11 5",
        "streamed response=Hello from turn 5. response.completed Hello from turn 5.",
        "response tool=read_file last.txt",
        "embeddings=True True False",
        "models=True",
    ];
    assert_printed(&evidence, &expected);
    let record = evidence.model.as_ref().expect("a record of the model");
    let (chat, responses) = (Dialect::Chat, Dialect::Responses);
    let order = [
        (chat, false),
        (chat, true),
        (chat, false),
        (chat, true),
        (responses, false),
        (responses, true),
        (responses, false),
    ];
    assert_eq!(asked(record), order);
    let uses = evidence.calls();
    let tools: Vec<_> = uses.iter().map(|used| used.seen.tool.as_str()).collect();
    assert_eq!(tools, ["read_file"; 3]);
    assert_eq!((uses[0].result(), uses[0].is_error()), (Some("the notes"), false));
    assert!(!record.exhausted && record.unused_turns.is_empty(), "{record:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn anthropics_package_talks_to_a_scripted_model() {
    let turns = [
        says("Hello from turn 0."),
        says("Hello from turn 1."),
        reads("notes.txt"),
        reads("other.txt"),
        says("Hello from turn 4."),
    ];
    let evidence = run(include_str!("anthropic_agent.py"), model(turns)).await;
    let expected = [
        "message=Hello from turn 0. end_turn",
        "tokens=11 5",
        "stream=Hello from turn 1. end_turn",
        "stream tokens=11 5",
        "tool=read_file notes.txt tool_use",
        "streamed tool=read_file other.txt tool_use",
        "events=message_start message_stop",
    ];
    assert_printed(&evidence, &expected);
    let record = evidence.model.as_ref().expect("a record of the model");
    let messages = Dialect::Messages;
    let order = [(messages, false), (messages, true), (messages, false), (messages, true), (messages, true)];
    assert_eq!(asked(record), order);
    let used = evidence.calls()[0];
    assert_eq!((used.result(), used.is_error()), (Some("the notes"), false));
}
