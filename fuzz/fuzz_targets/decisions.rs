//! Any bytes as a small set of tool contracts and a session under it. Nothing may panic; deciding changes nothing and
//! repeats itself; earlier calls of a batch never permit; and a tool that narrowing hides would be blocked.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value as Json, json};
use tool_contracts::options::{Fallback, Mode, ResponseGate};
use tool_contracts::{
    Batch, Call, CompileOptions, Compiled, Event, Outcome, Provenance, RawFile, RawSet, SessionState, StateAnswer,
    Verdict, apply, compile, decide, judge_step, narrow, release_step, state_questions,
};

const TOOLS: [&str; 4] = ["look", "pay", "mail", "ghost"];
/// Parts of a session file, any of which may be there.
const SESSION: [&str; 14] = [
    "phases: [{name: a, initial: true}, {name: b}, {name: z, terminal: true}]\ntransitions: {a: [b], b: [b, z]}\n",
    "session_limits: {max_steps: 9, max_tool_calls: 8, max_tool_calls_mode: narrow, max_calls_per_tool: {look: 2}, loop_detection: {window: 3, threshold: 2}, circuit_breaker: {consecutive_blocks: 4, consecutive_errors: 3}}\n",
    "risk_defaults: {financial: block}\n",
    "policy: {label_gates: [{when_label: hot, deny_tools: [mail], reason: r}]}\n",
    "aggregates: [{name: n, metric: sum, tool: pay, path: $.n, lte: 12, reason: r}, {name: d, metric: count_distinct, tool: '*', path: $.id, lte: 2, reason: r}]\n",
    "envelopes: [{name: e, reason: r, constraint: lte_ceiling, stages: [{tool: look, path: $.n, role: ceiling, source: output}, {tool: pay, path: $.n, role: constrained}]}]\n",
    "checkpoints: [{name: c, tool: pay, when: [{path: $.n, gte: 5}], timeout_seconds: 30}]\n",
    "  - {id: r0, every: pay, after: look, same: $.id}\n",
    "  - {id: r1, at_most: 2, of: pay, per: $.id}\n",
    "  - {id: r2, at_most: 1, of: mail}\n",
    "  - {id: r3, every: pay, then: mail, within: {calls: 2}, same: $.id}\n",
    "  - {id: r4, every: look, then: pay, within: {steps: 1}}\n",
    "  - {id: r5, never: mail, with: {id: {from: look}, '$.n': {from: look}}}\n",
    "  - {id: r6, every: pay, when_state: {sql: \"select a where b = '{{ arguments.id }}'\", service: db, equals: 1}}\n",
];
/// The place from which the parts of a session are rules of the list `rules`.
const FIRST_RULE: usize = 7;
/// Parts of a tool file, with the tool whose part it is.
const PARTS: [(usize, &str); 7] = [
    (0, "labels_on_success: [hot]\n"),
    (0, "binds: [{name: id, path: $.id}]\n"),
    (1, "preconditions: [{requires_prior_tool: look, resource: {bind_from: arguments, path: $.id}}]\n"),
    (1, "forbids_after: [look]\n"),
    (1, "argument_value_invariants: [{path: $.n, type: number, gte: 0, optional: true}]\n"),
    (2, "commit_requirement: none\n"),
    (2, "allowed_errors: [{status: 4xx}]\n"),
];

/// Bytes, taken one after the other; zero when there are no more.
struct Bytes<'a>(std::slice::Iter<'a, u8>);

impl Bytes<'_> {
    fn take(&mut self) -> usize {
        self.0.next().copied().map_or(0, usize::from)
    }

    fn flag(&mut self) -> bool {
        self.take() % 2 == 1
    }
}

fn set(bytes: &mut Bytes<'_>) -> Option<Compiled> {
    let mut session = "schema_version: \"1.0\"\nagent: a\n".to_owned();
    let chosen: Vec<_> = (0..SESSION.len()).filter(|_| bytes.flag()).collect();
    session.extend(chosen.iter().filter(|place| **place < FIRST_RULE).map(|place| SESSION[*place]));
    let rules: String = chosen.iter().filter(|place| **place >= FIRST_RULE).map(|place| SESSION[*place]).collect();
    if !rules.is_empty() {
        session.push_str(&format!("rules:\n{rules}"));
    }
    let mut texts = ["read", "financial", "write"].map(|effect| format!("side_effect: {effect}\n"));
    for (tool, part) in PARTS {
        if bytes.flag() {
            texts[tool].push_str(part);
        }
    }
    let tools = TOOLS.iter().zip(texts).map(|(tool, text)| (*tool, format!("tool: {tool}\n{text}")));
    let files = tools.chain([("session", session)]).map(|(name, text)| RawFile { name: format!("{name}.yaml"), text });
    let mut options = CompileOptions::default();
    options.run.mode = if bytes.flag() { Mode::Govern } else { Mode::Observe };
    options.run.unmatched = if bytes.flag() { Fallback::Allow } else { Fallback::Block };
    let gates = [ResponseGate::RejectAll, ResponseGate::StripPartial, ResponseGate::StripBlocked];
    options.run.gate = gates[bytes.take() % gates.len()];
    compile(&RawSet { files: files.collect() }, &options).ok().map(|(set, _)| set)
}

fn value(bytes: &mut Bytes<'_>) -> Json {
    match bytes.take() % 7 {
        0 => json!(1),
        1 => json!(12_345_678),
        2 => json!("hunter22"),
        3 => json!("it is hunter22; --'"),
        4 => Json::Null,
        5 => json!(bytes.take()),
        _ => json!(["hunter22", {"x": 1.5}]),
    }
}

fn arguments(bytes: &mut Bytes<'_>) -> Json {
    match bytes.take() % 8 {
        0 => json!({}),
        1 => json!("no object"),
        _ => json!({"id": value(bytes), "n": value(bytes)}),
    }
}

fn outcome(bytes: &mut Bytes<'_>) -> Option<Outcome> {
    Some(match bytes.take() % 6 {
        0 => return None,
        1 => Outcome::Error(json!({"status": 400 + bytes.take()})),
        2 => Outcome::Lost,
        3 => Outcome::OkEmpty,
        _ => Outcome::Ok(arguments(bytes)),
    })
}

/// Checks what holds of every state.
fn check(set: &Compiled, state: &SessionState, accepted: &[Call], probe: &Call) {
    let step = state.attempt_steps + 1;
    let alone = Batch { step, ..Batch::default() };
    let before = format!("{state:?}");
    let decision = decide(set, state, &alone, probe);
    assert_eq!(decision, decide(set, state, &alone, probe));
    assert_eq!(before, format!("{state:?}"));
    assert_eq!(decision.verdict == Verdict::Allow, decision.reasons.is_empty());
    let offered: Vec<String> = TOOLS.iter().map(|tool| (*tool).to_owned()).collect();
    if narrow(set, state, &offered).iter().any(|removed| removed.tool == probe.tool) {
        assert_eq!(decision.verdict, Verdict::Block);
    }
    let batch = Batch { step, accepted: accepted.to_vec(), exchange: None };
    if decision.verdict == Verdict::Block {
        assert_eq!(decide(set, state, &batch, probe).verdict, Verdict::Block);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Bytes(bytes.iter());
    let Some(set) = set(&mut bytes) else { return };
    let mut state = SessionState::new(&set);
    let mut ids = 0..;
    for _ in 0..12 {
        let mut call = || Call {
            id: format!("c{}", ids.next().unwrap_or(0)),
            tool: TOOLS[bytes.take() % TOOLS.len()].to_owned(),
            arguments: arguments(&mut bytes),
        };
        let calls = [call(), call(), call()];
        let count = bytes.take() % 4;
        check(&set, &state, &calls[..count.min(2)], &calls[2]);
        for call in &calls[..count.min(3)] {
            for question in state_questions(&set, call) {
                let answer = match bytes.take() % 4 {
                    0 => continue,
                    1 => StateAnswer::Unavailable("down".to_owned()),
                    _ => StateAnswer::Rows(vec![value(&mut bytes)]),
                };
                apply(&set, &mut state, &Event::StateRead { call: call.id.clone(), question, answer });
            }
        }
        let made = &calls[..count.min(3)];
        let decisions = judge_step(&set, &state, made, None);
        let judged: Vec<_> = made.iter().cloned().zip(decisions.iter().map(|decision| decision.verdict)).collect();
        let (released, is_step) = release_step(&set, &state, &judged);
        apply(&set, &mut state, &Event::StepDecided { calls: released.clone(), is_step });
        for call in released.iter().filter(|call| call.is_released) {
            if bytes.take() % 8 == 7 {
                let arguments = arguments(&mut bytes);
                apply(&set, &mut state, &Event::ArgumentsExecuted { call: call.call.id.clone(), arguments });
            }
            let Some(outcome) = outcome(&mut bytes) else { continue };
            let provenance = if bytes.flag() { Provenance::Gateway } else { Provenance::SelfReported };
            apply(&set, &mut state, &Event::CallCompleted { call: call.call.id.clone(), outcome, provenance });
        }
    }
    apply(&set, &mut state, &Event::Closed);
});
