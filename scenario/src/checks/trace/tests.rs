use std::collections::BTreeMap;

use crate::checks::testing::judge;
use crate::evidence::{
    AgentRecord, AuditEvent, Audited, Body, CallTrace, CallTraceRecorder, Captured, Dialect, Evidence, Exchange, Exit,
    FaultMark, FaultRecord, Fired, Firing, Journal, Limit, ModelCall, ModelRecord, Overflow, OverflowCount, ToolCall,
    ToolProposal, Usage,
};
use crate::spec::load;
use crate::verdict::{Outcome, Verdict};

fn model_call(at_ms: u64, status: u16) -> ModelCall {
    ModelCall { at_ms, status, dialect: Dialect::Chat, ..ModelCall::default() }
}

fn request(at_ms: u64, method: &str, path: &str) -> Exchange {
    Exchange {
        method: method.to_owned(),
        path: path.to_owned(),
        query: Vec::new(),
        headers: Vec::new(),
        body: Body::default(),
        status: 200,
        at_ms,
        fault: None,
        answer: None,
    }
}

/// Returns the evidence of an agent that called its model three times, with calls of tools in the first two answers,
/// and that called the shop twice. Each step took `step_ms`.
fn run(step_ms: u64) -> Evidence {
    let mut recorder = CallTraceRecorder::default();
    for (model_call, tool) in [(0, "read_order"), (1, "refund_order")] {
        let arguments = recorder.read_arguments("{}");
        let at_ms = (model_call * 3 + 1) as u64 * step_ms;
        recorder.add_proposal(ToolProposal { at_ms, model_call, id: String::new(), tool: tool.to_owned(), arguments });
    }
    let calls = (0..3).map(|call| model_call(call * 3 * step_ms, 200)).collect();
    let exchanges = vec![request(2 * step_ms, "GET", "/orders/7"), request(5 * step_ms, "POST", "/refunds")];
    let agent = AgentRecord { exit: Some(Exit::Code(0)), ..AgentRecord::default() };
    Evidence {
        agent,
        call_trace: recorder.finish(),
        model: Some(ModelRecord { calls, ..ModelRecord::default() }),
        journals: BTreeMap::from([("shop".to_owned(), Journal { exchanges, overflow: None })]),
        usage: Usage { calls: 3, input_tokens: 100, output_tokens: 20, ..Usage::default() },
        ..Evidence::default()
    }
}

const STEPS: [&str; 7] =
    ["llm", "tool:read_order", "http:shop GET /orders/7", "llm", "tool:refund_order", "http:shop POST /refunds", "llm"];

fn verdict(keys: &str, evidence: &Evidence) -> Verdict {
    judge(&format!("{{type: trace, {keys}}}"), &[], evidence)
}

#[track_caller]
fn passes(keys: &str, evidence: &Evidence) {
    let verdict = verdict(keys, evidence);
    assert!(verdict.is_passed(), "{keys}: {}", verdict.message);
}

#[track_caller]
fn fails(keys: &str, evidence: &Evidence) -> String {
    let verdict = verdict(keys, evidence);
    assert_eq!((verdict.outcome, verdict.score, verdict.is_unproven), (Outcome::Failed, 0.0, false), "{keys}");
    verdict.message
}

#[test]
fn steps_are_in_the_order_of_time_also_within_a_millisecond() {
    let steps = |run: &Evidence| verdict("status: completed", run).details["steps"].clone();
    assert_eq!(steps(&run(10)), serde_json::json!(STEPS));
    // A request carries out the call that was proposed before, and the model hears of it afterwards.
    let mut quick = run(10);
    let calls = &mut quick.model.as_mut().expect("a model").calls;
    (calls[1].at_ms, calls[2].at_ms) = (20, 50);
    let CallTrace(entries) = &mut quick.call_trace;
    (entries[0].at_ms, entries[1].at_ms) = (20, 50);
    assert_eq!(steps(&quick), serde_json::json!(STEPS));
}

#[test]
fn a_path_is_some_of_the_steps_or_all() {
    let run = run(10);
    passes("path: [llm, 'tool:refund_order', 'http:shop POST /refunds', llm]", &run);
    passes("path: ['http:shop GET /orders/{id}', 'http:shop POST /*'], last_step: llm", &run);
    passes(&format!("path_exact: true, path: {}", serde_json::json!(STEPS)), &run);
    insta::assert_snapshot!(fails("path: [llm, 'tool:refund_order', 'tool:read_order']", &run), @"expected step 3 `tool:read_order` after `tool:refund_order`, found `http:shop POST /refunds`, `llm`");
    insta::assert_snapshot!(fails("path: [llm, llm, llm, llm]", &run), @"expected step 4 `llm` after `llm`, found no more steps");
    insta::assert_snapshot!(fails("path: ['http:shop PUT /refunds']", &run));
    insta::assert_snapshot!(fails("path: [llm, 'tool:read_note'], path_exact: true", &run), @"expected step 2 `tool:read_note`, found `tool:read_order`");
    insta::assert_snapshot!(fails("path: [llm], path_exact: true", &run), @"expected 1 step, found one more: `tool:read_order`");
    insta::assert_snapshot!(fails("last_step: 'tool:refund_order'", &run), @"expected the last step `tool:refund_order`, found `llm`");
    insta::assert_snapshot!(fails("last_step: llm", &Evidence::default()), @"expected the last step `llm`, found no step");
    assert_eq!(verdict("path: [llm, 'tool:x']", &run).details["step"], 2);
}

#[test]
fn only_what_was_answered_and_arrived_is_a_step() {
    let mut run = run(10);
    let model = run.model.as_mut().expect("a model");
    model.calls[2].status = 429;
    model.calls[0].dialect = Dialect::Embeddings;
    let mark = FaultMark { rule: "tool_faults[0]".to_owned(), mode: "error".to_owned(), call: 1, reached: false };
    run.journals.get_mut("shop").expect("a journal").exchanges[0].fault = Some(mark);
    let path = "['tool:read_order', llm, 'tool:refund_order', 'http:shop POST /refunds']";
    passes(&format!("path: {path}, path_exact: true"), &run);
}

#[test]
fn an_executed_tool_is_a_step_where_it_was_executed() {
    let mut run = run(10);
    let entry = serde_json::json!({"seq": 2, "at_ms": 55, "source": "executed", "tool": "read_order", "proposal": 0});
    let CallTrace(entries) = &mut run.call_trace;
    entries.push(serde_json::from_value::<ToolCall>(entry).expect("an entry"));
    passes("path: ['http:shop GET /orders/7', llm, 'tool:refund_order', 'tool:read_order', llm]", &run);
    fails("path: ['tool:read_order', 'tool:refund_order']", &run);
}

#[test]
fn steps_that_were_only_counted_prove_no_absence() {
    let mut run = run(10);
    let count = OverflowCount { method: "GET".to_owned(), path: None, count: 4 };
    run.journals.get_mut("shop").expect("a journal").overflow = Some(Overflow { counts: vec![count] });
    passes("path: [llm, 'tool:refund_order']", &run);
    for keys in
        ["path: [llm, 'tool:x']", "last_step: llm", &format!("path_exact: true, path: {}", serde_json::json!(STEPS))]
    {
        let verdict = verdict(keys, &run);
        assert!(verdict.is_unproven && verdict.message.contains("4 requests"), "{keys}: {}", verdict.message);
    }
}

#[test]
fn calls_and_tokens_have_bounds() {
    let run = run(10);
    passes("max_llm_calls: 3, max_total_tokens: 120", &run);
    insta::assert_snapshot!(fails("max_llm_calls: 1", &run), @"expected at most 1 call of the model, found 3");
    insta::assert_snapshot!(fails("max_total_tokens: 119", &run), @"expected at most 119 tokens, found 120");
}

fn ended(exit: Option<Exit>, limits: &[Limit], stderr: &str) -> Evidence {
    let agent = AgentRecord { exit, stderr: Captured::from(stderr), ..AgentRecord::default() };
    let fired = |limit: &Limit| Fired { limit: *limit, detail: "too much".to_owned() };
    Evidence { agent, limits: limits.iter().map(fired).collect(), ..Evidence::default() }
}

#[test]
fn a_run_ends_in_one_of_four_ways() {
    for (evidence, status) in [
        (ended(Some(Exit::Code(0)), &[], ""), "completed"),
        (ended(Some(Exit::Code(3)), &[], ""), "failed"),
        (ended(Some(Exit::Signal(9)), &[], ""), "errored"),
        (ended(None, &[], ""), "errored"),
        (ended(Some(Exit::Code(1)), &[Limit::ModelCalls], ""), "errored"),
        (ended(None, &[Limit::AgentTimeout], ""), "timed_out"),
        (ended(None, &[Limit::Output, Limit::Timeout], ""), "timed_out"),
    ] {
        for word in ["completed", "failed", "errored", "timed_out"] {
            assert_eq!(verdict(&format!("status: {word}"), &evidence).is_passed(), word == status, "{word} {status}");
        }
    }
    let evidence = ended(Some(Exit::Code(1)), &[Limit::ModelCalls], "");
    insta::assert_snapshot!(fails("status: completed", &evidence), @"expected the run to be `completed`, found `errored` (limit `model.max_calls`: too much; exit code 1)");
}

#[test]
fn a_reason_is_a_limit_an_exit_or_an_error_text() {
    let evidence = ended(Some(Exit::Code(3)), &[], "Traceback\nRefused: the Budget is spent\n");
    for text in ["the budget", "exit code 3", "refused:"] {
        passes(&format!("reason_contains: '{text}'"), &evidence);
    }
    passes("reason_contains: model.max_calls", &ended(None, &[Limit::ModelCalls], ""));
    insta::assert_snapshot!(fails("reason_contains: disk", &evidence));
    insta::assert_snapshot!(fails("reason_contains: x", &ended(Some(Exit::Code(0)), &[], "x")), @r#"expected a reason that contains "x", and the run completed"#);
    let cut = Captured { head: "a".to_owned(), tail: Some("b".to_owned()), dropped_bytes: 3 };
    let mut evidence = evidence;
    evidence.agent.stderr = cut;
    assert!(verdict("reason_contains: disk", &evidence).is_unproven);
}

#[test]
fn a_denial_is_what_a_gateway_refused() {
    let dns = |name: &str, answer: Option<&str>| AuditEvent::Dns {
        name: name.to_owned(),
        kind: "A".to_owned(),
        answer: answer.map(ToOwned::to_owned),
    };
    let denied = |host: &str| AuditEvent::EgressDenied { host: host.to_owned(), port: 443, reason: "no".to_owned() };
    let events = vec![
        dns("evil.example", None),
        dns("EVIL.example", None),
        denied("evil.example"),
        denied("other.example"),
        dns("shop.services.internal", Some("127.0.0.2")),
        dns("shup.services.internal", None),
        dns("2.0.0.127.in-addr.arpa", None),
        dns("localhost", None),
        dns("hidden.example", None),
    ];
    let firing = Firing { target: "dns:hidden.example".to_owned(), ..firing() };
    let refused =
        |status, problem: Option<&str>| ModelCall { problem: problem.map(ToOwned::to_owned), ..model_call(0, status) };
    let mark = FaultMark { rule: "llm_faults[0]".to_owned(), mode: "error".to_owned(), call: 1, reached: false };
    let calls = vec![
        refused(429, Some("the limit `model.max_calls` fired")),
        refused(429, None),
        refused(500, Some("the script is used up")),
        refused(499, Some("the agent hung up")),
        ModelCall { from_upstream: true, ..refused(400, Some("bad request")) },
        ModelCall { fault: Some(mark), ..refused(429, Some("a fault")) },
    ];
    let evidence = Evidence {
        audit: Some(events.into_iter().map(Audited::from).collect()),
        faults: Some(FaultRecord { firings: vec![firing], ..FaultRecord::default() }),
        model: Some(ModelRecord { calls, ..ModelRecord::default() }),
        ..Evidence::default()
    };
    passes("min_denials: 3", &evidence);
    insta::assert_snapshot!(fails("min_denials: 4", &evidence), @"expected at least 4 denials, found 3: host evil.example, host other.example, call of the model (429): the limit `model.max_calls` fired");
    insta::assert_snapshot!(fails("min_denials: 1", &Evidence::default()), @"expected at least 1 denial, found none");
}

fn firing() -> Firing {
    serde_json::from_value(serde_json::json!({
        "rule": "network_faults[0]", "mode": "dns_failure", "target": "x", "at_ms": 1, "call": 1, "effect": "x",
    }))
    .expect("a firing")
}

const SPEC: &str = "version: 1\nid: test\nbase: debian\ntask: {prompt: do it}\nagent: {type: noop}\n\
    model: {mode: scripted, turns: [{content: x}]}\n\
    services: [{name: shop, type: http_mock, record: true}, {name: deaf, type: http_mock}]\n\
    invariants: {x: {description: x, check: {type: trace, KEYS}}}\n";

fn found(text: &str, keys: &str) -> String {
    let found = load(&text.replace("KEYS", keys), None).diagnostics;
    let shown = found.iter().map(|one| format!("{} at {}: {}", one.code, one.path, one.message));
    shown.collect::<Vec<_>>().join("\n")
}

#[test]
fn conditions_can_be_met_and_prove_something() {
    let found_in = |keys: &str| found(SPEC, keys);
    assert_eq!(
        found_in("path: [llm, 'tool:a', 'http:shop GET /x'], path_exact: true, max_llm_calls: 1, status: failed"),
        ""
    );
    insta::assert_snapshot!(found_in("path_exact: false"), @"missing-condition at invariants.x.check: a check on the trace without a condition");
    insta::assert_snapshot!(found_in("path_exact: true, last_step: llm"), @"missing-key at invariants.x.check.path_exact: `path_exact` is about `path`, and there is none");
    insta::assert_snapshot!(found_in("path: [agent]"), @"invalid-value at invariants.x.check.path[0]: `agent` is no step of a run");
    insta::assert_snapshot!(found_in("path: []"), @"invalid-value at invariants.x.check.path: expected at least one entry");
    insta::assert_snapshot!(found_in("path: ['http:shup GET /', 'http:deaf GET /']"));
    insta::assert_snapshot!(found_in("status: completed, reason_contains: x"), @"conflicting-keys at invariants.x.check.reason_contains: a run that is `completed` has no reason for which it did not complete");
    insta::assert_snapshot!(found_in("path: [llm, 'tool:a'], path_exact: true, last_step: llm"), @"conflicting-keys at invariants.x.check.last_step: the path ends with `tool:a`, and `llm` must be the last step");
    insta::assert_snapshot!(found_in("path: [llm], path_exact: true, last_step: llm"), @"no-effect at invariants.x.check.last_step: `path_exact` says already which step is the last");
    insta::assert_snapshot!(found_in("path: [llm, llm], max_llm_calls: 1"), @"never-holds at invariants.x.check.max_llm_calls: the steps need 2 calls of the model, and at most 1 call is allowed");
    insta::assert_snapshot!(found_in("last_step: llm, max_llm_calls: 0"), @"never-holds at invariants.x.check.max_llm_calls: the steps need 1 call of the model, and at most 0 calls are allowed");
    insta::assert_snapshot!(found_in("min_denials: 0"), @"invalid-value at invariants.x.check.min_denials: expected a whole number from 1 to 1000000, found 0");
}

#[test]
fn calls_are_seen_where_there_is_a_model() {
    let silent = SPEC.replace("model: {mode: scripted, turns: [{content: x}]}\n", "");
    insta::assert_snapshot!(found(
        &silent,
        "path: [llm, 'http:shop GET /x'], last_step: 'tool:a', max_total_tokens: 3, status: failed"
    ));
}
