//! Times a decision with 100 tools and 1,000 calls before it, and the judgement of a trace of 1,000 calls.
//!
//! `cargo bench -p tool_contracts`.

use divan::Bencher;
use serde_json::json;
use tool_contracts::options::Mode;
use tool_contracts::{
    Batch, Call, CompileOptions, Compiled, Event, Outcome, Provenance, RawFile, RawSet, SessionState, StepCall,
    TraceEntry, Verdict, apply, compile, decide, judge_trace, narrow,
};

fn main() {
    divan::main();
}

/// A set of 100 tools with a rule of each kind on the one that is decided about.
fn set() -> Compiled {
    let session = "schema_version: \"1.0\"\nagent: a\nphases: [{name: a, initial: true}, {name: z, terminal: true}]\ntransitions: {a: [z]}\n\
        session_limits: {max_tool_calls: 100000, loop_detection: {window: 10, threshold: 5}}\n\
        policy: {label_gates: [{when_label: hot, deny_tools: [order], reason: r}]}\n\
        aggregates: [{name: n, metric: sum, tool: order, path: $.n, lte: 1000000, reason: r}, {name: d, metric: count_distinct, tool: '*', path: $.id, lte: 5000, reason: r}]\n\
        envelopes: [{name: e, reason: r, constraint: lte_ceiling, stages: [{tool: approve, path: $.n, role: ceiling}, {tool: order, path: $.n, role: constrained}]}]\n\
        rules: [{id: a, every: order, after: approve, same: $.id}, {id: b, at_most: 100, of: order, per: $.id}, \
        {id: c, every: approve, then: order, within: {calls: 5}}, {id: d, never: order, with: {note: {from: approve}}}]\n";
    let order = "tool: order\nside_effect: financial\ntransitions: {valid_in_phases: [a]}\n\
        preconditions: [{requires_prior_tool: approve, resource: {bind_from: arguments, path: $.id}, with_output: [{path: $.ok, equals: true}]}]\n\
        argument_value_invariants: [{path: $.n, type: integer, gte: 1, lte: 100}, {path: $.side, one_of: [buy, sell]}, {path: $.id, regex: '^id-[0-9]+$'}, {path: $.limit, ref: limit}]\n";
    let approve = "tool: approve\nside_effect: write\nbinds: [{name: limit, path: $.limit}]\n";
    let mut files = vec![
        ("session".to_owned(), session.to_owned()),
        ("order".to_owned(), order.to_owned()),
        ("approve".to_owned(), approve.to_owned()),
    ];
    files.extend((0..98).map(|tool| (format!("tool_{tool}"), format!("tool: tool_{tool}\nside_effect: read\n"))));
    let files = files.into_iter().map(|(name, text)| RawFile { name: format!("{name}.yaml"), text }).collect();
    let mut options = CompileOptions::default();
    options.run.mode = Mode::Govern;
    compile(&RawSet { files }, &options).expect("a set").0
}

/// The state after 1,000 calls.
fn state(set: &Compiled) -> SessionState {
    let mut state = SessionState::new(set);
    for place in 0..1000 {
        let tool = if place % 2 == 0 { "approve" } else { "order" };
        let call = Call { id: format!("c{place}"), tool: tool.to_owned(), arguments: arguments(place) };
        let step = StepCall { call: call.clone(), verdict: Verdict::Allow, is_released: true };
        apply(set, &mut state, &Event::StepDecided { calls: vec![step], is_step: true });
        let outcome = Outcome::Ok(output(place));
        apply(set, &mut state, &Event::CallCompleted { call: call.id, outcome, provenance: Provenance::Gateway });
    }
    state
}

fn arguments(place: i32) -> serde_json::Value {
    json!({"id": format!("id-{}", place % 400), "n": 100, "side": "buy", "limit": 7, "note": "as agreed; ".repeat(20)})
}

fn output(place: i32) -> serde_json::Value {
    json!({"ok": true, "more": format!("the text of answer {place}")})
}

/// 1,000 calls as a recorded trace: each proposed by the model and reported back.
fn trace() -> Vec<TraceEntry> {
    let used = |place: i32| {
        let tool = if place % 2 == 0 { "approve" } else { "order" };
        let proposed = json!({"seq": 2 * place, "source": "proposed", "tool": tool, "arguments": arguments(place / 2 * 2), "model_call": place});
        let result = output(place).to_string();
        let reported =
            json!({"seq": 2 * place + 1, "source": "reported", "tool": tool, "proposal": 2 * place, "result": result});
        [proposed, reported].map(|entry| serde_json::from_value(entry).expect("an entry"))
    };
    (0..1000).flat_map(used).collect()
}

#[divan::bench]
fn decide_a_call(bencher: Bencher<'_, '_>) {
    let set = set();
    let state = state(&set);
    let batch = Batch { step: state.attempt_steps + 1, ..Batch::default() };
    let call = Call { id: "c".to_owned(), tool: "order".to_owned(), arguments: arguments(2) };
    assert_eq!(decide(&set, &state, &batch, &call).verdict, Verdict::Allow);
    bencher.bench(|| decide(&set, &state, &batch, &call));
}

#[divan::bench]
fn narrow_100_tools(bencher: Bencher<'_, '_>) {
    let set = set();
    let state = state(&set);
    let offered: Vec<String> = set.tool_names().map(ToOwned::to_owned).collect();
    bencher.bench(|| narrow(&set, &state, &offered));
}

#[divan::bench]
fn judge_a_trace_of_1000_calls(bencher: Bencher<'_, '_>) {
    let set = set();
    let trace = trace();
    assert_eq!(judge_trace(&set, &trace).calls.len(), 1000);
    bencher.bench(|| judge_trace(&set, &trace));
}
