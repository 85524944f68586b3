use std::collections::BTreeMap;

use crate::checks::testing::judge;
use crate::evidence::{CallTrace, CallTraceRecorder, Evidence, ModelRecord, ToolCall, ToolCallSource, ToolProposal};
use crate::spec::{Bundle, Loaded, load};
use crate::verdict::{Outcome, Verdict};

/// Evidence of an agent whose model proposed these calls, one in each answer.
fn proposed(calls: &[(&str, &str)]) -> Evidence {
    let mut recorder = CallTraceRecorder::default();
    for (index, (tool, arguments)) in calls.iter().enumerate() {
        let arguments = recorder.read_arguments(arguments);
        let (id, tool) = (format!("call-{index}"), (*tool).to_owned());
        recorder.add_proposal(ToolProposal { at_ms: 10, model_call: index, id, tool, arguments });
    }
    Evidence { call_trace: recorder.finish(), model: Some(ModelRecord::default()), ..Evidence::default() }
}

/// The same calls without arguments.
fn called(tools: &[&str]) -> Evidence {
    proposed(&tools.iter().map(|tool| (*tool, "{}")).collect::<Vec<_>>())
}

fn verdict(keys: &str, evidence: &Evidence) -> Verdict {
    judge(&format!("{{type: tool_calls, {keys}}}"), &[], evidence)
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

const REFUNDS: [(&str, &str); 3] = [
    ("read_order", r#"{"order_id": "7"}"#),
    ("refund_order", r#"{"order_id": "7", "amount": 250, "items": [{"id": 3}]}"#),
    ("refund_order", r#"{"order_id": "7", "amount": "25.0", "note": null}"#),
];

#[test]
fn calls_of_a_tool_are_counted_by_their_arguments() {
    let evidence = proposed(&REFUNDS);
    passes("tool: refund_order", &evidence);
    passes("tool: refund_order, count: 2", &evidence);
    passes("tool: refund_order, arguments: {order_id: '7'}, count: {gte: 2, lt: 3}", &evidence);
    passes("tool: refund_order, arguments: {amount: {lte: 25}}, count: 1", &evidence);
    passes("tool: refund_order, arguments: {'items[0].id': 3}, count: 1", &evidence);
    passes("tool: refund_order, arguments: {note: {equals: null}}, count: 1", &evidence);
    passes("tool: refund_order, arguments: {amount: {gt: 1000}}, count: 0", &evidence);
    passes("tool: delete_order, count: 0", &evidence);
    passes("tool: refund_order, arguments: {'items[0].id': '{{ params.three }}'}", &evidence);
    insta::assert_snapshot!(fails("tool: refund_order, count: 1", &evidence), @"calls of `refund_order`: expected 1, found 2");
    insta::assert_snapshot!(fails("tool: delete_order", &evidence), @"calls of `delete_order`: expected at least 1, found none");
    insta::assert_snapshot!(fails("tool: refund_order, arguments: {amount: 30}", &evidence), @r#"calls of `refund_order` with these arguments: expected at least 1, found none; another call of it has `amount`: expected 30, found "25.0""#);
    insta::assert_snapshot!(fails("tool: read_order, arguments: {note: {equals: null}}", &evidence), @"calls of `read_order` with these arguments: expected at least 1, found none; another call of it has no argument `note`");
}

#[test]
fn arguments_that_cannot_be_read_prove_nothing() {
    let evidence = proposed(&[("refund_order", "{\"amount\": 2")]);
    passes("tool: refund_order, count: 1", &evidence);
    for keys in ["count: 0", "count: 1", "count: {lte: 0}"] {
        let verdict = verdict(&format!("tool: refund_order, arguments: {{amount: 25}}, {keys}"), &evidence);
        assert!(verdict.is_unproven && verdict.message.contains("cannot be read"), "{keys}: {}", verdict.message);
    }
    passes("tool: refund_order, arguments: {amount: 25}, count: {lt: 2}", &evidence);
    let deep = format!("{{\"amount\": 25, \"deep\": {}{}}}", "[".repeat(40), "]".repeat(40));
    passes("tool: refund_order, arguments: {amount: 25}", &proposed(&[("refund_order", &deep)]));
}

#[test]
fn a_list_is_compared_in_four_ways() {
    let evidence = called(&["read", "refund", "mail"]);
    let table = [
        ("[read, refund, mail]", [true, true, true, true]),
        ("[mail, read, refund]", [false, true, true, true]),
        ("[read, refund]", [false, false, false, true]),
        ("[read, refund, mail, mail]", [false, false, true, false]),
        ("[read, read, mail]", [false, false, false, false]),
        ("[refund]", [false, false, false, true]),
    ];
    for (order, expected) in table {
        for (mode, expected) in ["strict", "unordered", "subset", "superset"].into_iter().zip(expected) {
            let verdict = verdict(&format!("order: {order}, match: {mode}"), &evidence);
            assert_eq!(verdict.is_passed(), expected, "{order} {mode}: {}", verdict.message);
        }
    }
    passes("order: []", &called(&[]));
    insta::assert_snapshot!(fails("order: []", &evidence), @"expected no call, found `read`");
}

#[test]
fn messages_name_the_first_difference() {
    let evidence = called(&["read_order", "read_order", "read_note"]);
    let strict = "order: [read_order, read_order, refund_order]";
    insta::assert_snapshot!(fails(strict, &evidence), @"expected step 3 `refund_order`, found `read_note`");
    assert_eq!(verdict(strict, &evidence).details["step"], 3);
    let listed = serde_json::json!(["read_order", "read_order", "read_note"]);
    assert_eq!(verdict(strict, &evidence).details["calls"], listed);
    let fails = |keys: &str| fails(keys, &evidence);
    insta::assert_snapshot!(fails("order: [read_order, read_order]"), @"expected 2 calls, found one more: `read_note`");
    insta::assert_snapshot!(fails("order: [read_order, read_order, read_note, send]"), @"expected step 4 `send`, found no more calls");
    insta::assert_snapshot!(fails("order: [send, read_order], match: superset"), @"expected a call of `send`, found none");
    insta::assert_snapshot!(fails("order: [read_note, read_note], match: superset"), @"expected 2 calls of `read_note`, found 1");
    insta::assert_snapshot!(fails("order: [read_order, read_note], match: subset"), @"expected at most 1 call of `read_order`, found 2");
    insta::assert_snapshot!(fails("order: [read_order, read_order], match: subset"), @"expected no call of `read_note`, found one: call 3");
    insta::assert_snapshot!(fails("not_called: [send, read_note]"), @"expected no call of `read_note`, found one: call 3");
}

#[test]
fn names_of_tools_are_safe_to_show() {
    let message = fails("order: [read]", &called(&["\u{1b}[2Jread\nline"]));
    assert!(!message.contains('\u{1b}') && !message.contains('\n'), "{message:?}");
}

#[test]
fn not_called_stands_beside_other_keys() {
    let evidence = called(&["read", "refund"]);
    passes("not_called: [delete, drop]", &evidence);
    passes("tool: refund, count: 1, not_called: [delete]", &evidence);
    passes("order: [refund], match: superset, not_called: [delete]", &evidence);
    fails("order: [refund], match: superset, not_called: [read]", &evidence);
}

#[test]
fn a_source_leaves_other_sightings_out() {
    let mut evidence = proposed(&[("read", r#"{"id": 1}"#), ("refund", r#"{"amount": 250}"#)]);
    let executed = |seq: u64, tool: &str, arguments: serde_json::Value, proposal: Option<u64>| {
        let entry = serde_json::json!({
            "seq": seq, "at_ms": seq, "source": "executed", "tool": tool, "arguments": arguments, "proposal": proposal,
        });
        serde_json::from_value::<ToolCall>(entry).expect("an entry")
    };
    let CallTrace(entries) = &mut evidence.call_trace;
    entries.push(executed(2, "refund", serde_json::json!({"amount": 25}), Some(1)));
    entries.push(executed(3, "clean", serde_json::Value::Null, None));
    assert_eq!(entries[2].source, ToolCallSource::Executed);
    passes("order: [read, refund, clean]", &evidence);
    passes("order: [read, refund], source: proposed", &evidence);
    passes("order: [refund, clean], source: executed", &evidence);
    passes("tool: refund, arguments: {amount: 25}, count: 1", &evidence);
    passes("tool: refund, arguments: {amount: 250}, count: 1, source: proposed", &evidence);
    fails("tool: refund, arguments: {amount: 250}, source: executed", &evidence);
}

#[test]
fn calls_that_were_only_counted_prove_no_absence() {
    let mut evidence = called(&["read"]);
    evidence.model = Some(ModelRecord { tools_only_counted: 3, ..ModelRecord::default() });
    for keys in
        ["order: [read]", "not_called: [send]", "tool: read, count: 1", "tool: read, not_called: [send]", "tool: send"]
    {
        let verdict = verdict(keys, &evidence);
        assert!(verdict.is_unproven, "{keys}: {}", verdict.message);
    }
    passes("tool: read", &evidence);
    passes("order: [read], match: superset", &evidence);
    fails("not_called: [read]", &evidence);
    fails("tool: read, count: 7", &evidence);
}

const SPEC: &str = "version: 1\nid: test\nbase: debian\ntask: {prompt: do it}\nagent: {type: noop}\n\
    model: {mode: scripted, turns: [{content: x}]}\n\
    invariants: {x: {description: x, check: {type: tool_calls, KEYS}}}\n";

/// A spec with this check and a file `t.yaml` beside it.
fn spec(keys: &str, file: &str) -> Loaded {
    let sizes = BTreeMap::from([("t.yaml".to_owned(), 1), ("large.yaml".to_owned(), 1 << 20)]);
    let bundle = Bundle::new(sizes).expect("a bundle").with_texts(|_| Some(file.as_bytes().to_vec()));
    load(&SPEC.replace("KEYS", keys), Some(&bundle))
}

fn found(keys: &str, file: &str) -> String {
    let shown = spec(keys, file).diagnostics;
    let shown = shown.iter().map(|one| format!("{} at {}: {}", one.code, one.path, one.message));
    shown.collect::<Vec<_>>().join("\n")
}

/// Judges by a trajectory.
fn by_trajectory(mode: &str, file: &str, evidence: &Evidence) -> Verdict {
    let loaded = spec(&format!("trajectory: t.yaml, match: {mode}"), file);
    let spec = loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let scenario = crate::plan::Scenario::only(&spec, []);
    let values = crate::plan::Values::for_judging(&spec, &scenario, evidence);
    spec.invariants.values().next().expect("one").check.judge(&crate::checks::Case::new(&[], evidence, &values))
}

const TRAJECTORY: &str =
    "- tool: read_order\n- tool: refund_order\n  arguments: {amount: {lte: 100}}\n- tool: refund_order\n";

#[test]
fn a_trajectory_has_arguments() {
    let evidence = proposed(&REFUNDS);
    let message = by_trajectory("strict", TRAJECTORY, &evidence).message;
    insta::assert_snapshot!(message, @"step 2 `refund_order`: `amount`: expected at most 100, found 250");
    // The entry without arguments gives way to the one that needs the second call.
    let swapped = "- tool: refund_order\n- tool: refund_order\n  arguments: {amount: 250}\n- {tool: read_order}\n";
    for file in [TRAJECTORY, swapped] {
        for mode in ["unordered", "subset", "superset"] {
            let verdict = by_trajectory(mode, file, &evidence);
            assert!(verdict.is_passed(), "{mode}: {}", verdict.message);
        }
    }
    let json = "[\n\t{\"tool\": \"refund_order\", \"arguments\": {\"amount\": 1}}\n]";
    let message = by_trajectory("superset", json, &evidence).message;
    insta::assert_snapshot!(message, @"expected a call of `refund_order` (entry 1 of the list), and none fits: `amount`: expected 1, found 250");
    let message = by_trajectory(
        "unordered",
        "[{tool: read_order}, {tool: refund_order}, {tool: refund_order, arguments: {amount: 1}}]",
        &evidence,
    )
    .message;
    insta::assert_snapshot!(message);
}

#[test]
fn what_is_wrong_with_a_trajectory_is_told_where_it_is_named() {
    let keys = "trajectory: t.yaml";
    assert_eq!(found(keys, TRAJECTORY), "");
    insta::assert_snapshot!(found(keys, "- tool: read\n  argument: {}\n"));
    insta::assert_snapshot!(found(keys, "- tool: read\n  arguments: {a: {less: 3}, b: {}}\n"));
    insta::assert_snapshot!(found(keys, "- tool: read\n  arguments: {a: {}, b: {contains: ''}}\n"));
    insta::assert_snapshot!(found(keys, "- tool: read\n  arguments: {a: '{{ params.missing }}'}\n"));
    insta::assert_snapshot!(found(keys, "- tool: read\n  tool: write\n"));
    insta::assert_snapshot!(found(keys, "[]"));
    insta::assert_snapshot!(found(keys, "{tool: read}"));
    insta::assert_snapshot!(found(keys, "- [\n"));
    insta::assert_snapshot!(found("trajectory: large.yaml", ""));
    insta::assert_snapshot!(found("trajectory: other.yaml", ""));
}

#[test]
fn keys_belong_together_or_exclude_each_other() {
    let found = |keys: &str| found(keys, TRAJECTORY);
    assert_eq!(found("tool: a, arguments: {x: 1, y: {gt: 2}}, count: {gte: 1, lte: 2}, not_called: [b]"), "");
    insta::assert_snapshot!(found("source: proposed"), @"missing-condition at invariants.x.check: a check on calls without a condition");
    insta::assert_snapshot!(found("not_called: []"), @"missing-condition at invariants.x.check.not_called: `not_called` is empty, and every run has that");
    insta::assert_snapshot!(found("tool: a, order: [b]"), @"conflicting-keys at invariants.x.check.order: `tool`, `order` and `trajectory` exclude each other");
    insta::assert_snapshot!(found("order: [a], count: 1, arguments: {x: 1}"));
    insta::assert_snapshot!(found("tool: a, match: subset"), @"missing-key at invariants.x.check.match: `match` is about `order` or `trajectory`, and there is neither");
    insta::assert_snapshot!(found("order: [], match: superset"), @"missing-condition at invariants.x.check.order: `order` is empty, and every run has all calls of an empty list");
    insta::assert_snapshot!(found("tool: a, not_called: [a]"), @"conflicting-keys at invariants.x.check.not_called[0]: `a` must be called, and must not be called");
    insta::assert_snapshot!(found("trajectory: t.yaml, match: superset, not_called: [b, read_order]"), @"conflicting-keys at invariants.x.check.not_called[1]: `read_order` must be called, and must not be called");
    insta::assert_snapshot!(found("order: [a], not_called: [b]"), @"no-effect at invariants.x.check.not_called[0]: `match: strict` refuses a call of `b` already");
    insta::assert_snapshot!(found("not_called: [b, b]"), @"no-effect at invariants.x.check.not_called[1]: `b` stands in the list already");
    insta::assert_snapshot!(found("tool: a, arguments: {x: {}}"), @"missing-condition at invariants.x.check.arguments.x: the argument `x` without a comparison");
    insta::assert_snapshot!(found("tool: a, arguments: {x: null}"), @"invalid-value at invariants.x.check.arguments.x: expected a value or comparators, found nothing");
}

#[test]
fn a_count_can_be_met_and_missed() {
    let found = |count: &str| found(&format!("tool: a, count: {count}"), TRAJECTORY);
    for count in ["0", "3", "{gte: 1}", "{gt: 1, lt: 3}", "{not_equals: 2}", "'{{ seed }}'"] {
        assert_eq!(found(count), "", "{count}");
    }
    for count in ["-1", "1.5", "{gt: 1, lt: 2}", "{lt: 0}", "{gte: 3, equals: 2}"] {
        assert!(found(count).starts_with("never-holds"), "{count}: {}", found(count));
    }
    for count in ["{gte: 0}", "{not_equals: 1.5}", "{}", "{lt: 1e30}"] {
        assert!(found(count).starts_with("missing-condition"), "{count}: {}", found(count));
    }
    for count in ["many", "'1'", "{contains: 1}", "{matches: x}", "[1]", "{gte: '1'}"] {
        assert!(found(count).starts_with("invalid-value"), "{count}: {}", found(count));
    }
}

#[test]
fn calls_are_seen_where_there_is_a_model() {
    let text = SPEC.replace("model: {mode: scripted, turns: [{content: x}]}\n", "").replace("KEYS", "tool: a");
    let found = load(&text, None).diagnostics;
    assert_eq!(found.iter().map(|one| one.code.name()).collect::<Vec<_>>(), ["not-recorded"]);
}
