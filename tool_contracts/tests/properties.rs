//! Properties of every set and every session.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use tool_contracts::options::{Mode, Principal, ResponseGate};
use tool_contracts::{
    Batch, Call, CompileOptions, Compiled, Event, Outcome, Provenance, RawFile, RawSet, SessionState, Status, Verdict,
    apply, compile, decide, judge_step, narrow, release_step,
};

const TOOLS: [&str; 6] = ["look", "approve", "pay", "ship", "purge", "ghost"];

/// A set with a rule of each kind.
fn rules(mode: Mode, gate: ResponseGate) -> Compiled {
    let session = r#"
schema_version: "1.0"
agent: a
phases: [{name: start, initial: true}, {name: paid}, {name: done, terminal: true}]
transitions: {start: [paid], paid: [done]}
session_limits: {max_tool_calls: 12, max_calls_per_tool: {look: 4}, loop_detection: {window: 4, threshold: 3}, circuit_breaker: {consecutive_blocks: 6, consecutive_errors: 4}}
risk_defaults: {destructive: block}
policy: {rules: [{deny: {principal: {path: $.role, equals: guest}, tools: [ship]}}], label_gates: [{when_label: hot, deny_tools: [ship], reason: r}]}
aggregates: [{name: n, metric: sum, tool: pay, path: $.n, lte: 20, reason: r}]
envelopes: [{name: e, reason: r, constraint: lte_ceiling, stages: [{tool: approve, path: $.n, role: ceiling}, {tool: pay, path: $.n, role: constrained}]}]
rules:
  - {id: first, every: ship, after: pay}
  - {id: same, every: pay, after: approve, same: $.id}
  - {id: few, at_most: 3, of: look}
  - {id: twice, at_most: 2, of: pay, per: $.id}
  - {id: leak, never: ship, with: {id: {from: look}}}
  - {id: receipt, every: pay, then: ship, within: {steps: 2}}
"#;
    let files = [
        ("session", session),
        ("look", "tool: look\nside_effect: read\nlabels_on_success: [seen]\n"),
        ("approve", "tool: approve\nside_effect: write\nbinds: [{name: id, path: $.id}]\n"),
        (
            "pay",
            "tool: pay\nside_effect: financial\ntransitions: {valid_in_phases: [start], advances_to: paid}\npreconditions: [{requires_prior_tool: approve, resource: {bind_from: arguments, path: $.id}, with_output: [{path: $.ok, equals: true}]}]\nargument_value_invariants: [{path: $.id, ref: id}]\n",
        ),
        (
            "ship",
            "tool: ship\nside_effect: write\ntransitions: {valid_in_phases: [paid], advances_to: done}\nforbids_after: [look]\n",
        ),
        ("purge", "tool: purge\nside_effect: destructive\n"),
    ];
    let files = files.map(|(name, text)| RawFile { name: format!("{name}.yaml"), text: text.to_owned() });
    let mut options =
        CompileOptions { principal: Principal::Given(json!({"role": "bot"})), ..CompileOptions::default() };
    options.run.mode = mode;
    options.run.gate = gate;
    compile(&RawSet { files: files.to_vec() }, &options).unwrap_or_else(|error| panic!("{:#?}", error.diagnostics)).0
}

fn arguments() -> impl Strategy<Value = Json> {
    let id = prop_oneof![Just(json!(1)), Just(json!(2)), Just(Json::Null)];
    prop_oneof![
        8 => (id, 0..15i64).prop_map(|(id, n)| json!({"id": id, "n": n})),
        1 => Just(json!({})),
        1 => Just(json!("not an object")),
    ]
}

/// A step: calls with their outcomes, or something from outside.
#[derive(Debug, Clone)]
enum Happening {
    Step(Vec<(usize, Json, usize)>),
    Label,
    Cancel,
    Kill,
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let call = (0..TOOLS.len(), arguments(), 0..5usize);
    let one = prop_oneof![
        20 => prop::collection::vec(call, 0..3).prop_map(Happening::Step),
        1 => Just(Happening::Label),
        1 => Just(Happening::Cancel),
        1 => Just(Happening::Kill),
    ];
    prop::collection::vec(one, 0..14)
}

fn outcome(kind: usize) -> Outcome {
    match kind {
        0 => Outcome::Error(json!({"status": 500})),
        1 => Outcome::Lost,
        2 => Outcome::OkEmpty,
        3 => Outcome::Ok(json!({"ok": false})),
        _ => Outcome::Ok(json!({"ok": true})),
    }
}

/// Applies the events, and looks at the state before each step.
fn follow(set: &Compiled, happenings: &[Happening], mut look: impl FnMut(&SessionState)) -> SessionState {
    let mut state = SessionState::new(set);
    let mut count = 0;
    for happening in happenings {
        look(&state);
        match happening {
            Happening::Label => {
                apply(set, &mut state, &Event::LabelAdded { label: "hot".to_owned(), origin: "test".to_owned() });
            }
            Happening::Cancel => drop(apply(set, &mut state, &Event::CancelRequested)),
            Happening::Kill => drop(apply(set, &mut state, &Event::Killed("test".to_owned()))),
            Happening::Step(made) => {
                let calls: Vec<Call> = made
                    .iter()
                    .map(|(tool, arguments, _)| {
                        count += 1;
                        Call { id: format!("c{count}"), tool: TOOLS[*tool].to_owned(), arguments: arguments.clone() }
                    })
                    .collect();
                let decisions = judge_step(set, &state, &calls, None);
                let judged: Vec<_> = calls.iter().cloned().zip(decisions.iter().map(|one| one.verdict)).collect();
                let (released, is_step) = release_step(set, &state, &judged);
                apply(set, &mut state, &Event::StepDecided { calls: released.clone(), is_step });
                for (call, (_, _, kind)) in released.iter().zip(made).filter(|(call, _)| call.is_released) {
                    let event = Event::CallCompleted {
                        call: call.call.id.clone(),
                        outcome: outcome(*kind),
                        provenance: Provenance::Gateway,
                    };
                    apply(set, &mut state, &event);
                }
            }
        }
    }
    look(&state);
    state
}

fn call(tool: &str, arguments: Json) -> Call {
    Call { id: "probe".to_owned(), tool: tool.to_owned(), arguments }
}

fn offered() -> Vec<String> {
    TOOLS.iter().map(|tool| (*tool).to_owned()).collect()
}

proptest! {
    #[test]
    fn a_removed_tool_would_be_blocked_for_every_argument(
        happenings in happenings(),
        probes in prop::collection::vec(arguments(), 1..6),
    ) {
        for mode in [Mode::Govern, Mode::Observe] {
            let set = rules(mode, ResponseGate::StripPartial);
            follow(&set, &happenings, |state| {
                let batch = Batch { step: state.attempt_steps + 1, ..Batch::default() };
                for removed in narrow(&set, state, &offered()) {
                    for arguments in &probes {
                        let decision = decide(&set, state, &batch, &call(&removed.tool, arguments.clone()));
                        assert_eq!(decision.verdict, Verdict::Block, "{} for {}: {arguments}", removed.reason.code, removed.tool);
                    }
                }
            });
        }
    }

    #[test]
    fn deciding_changes_nothing_and_repeats_itself(happenings in happenings(), arguments in arguments(), tool in 0..TOOLS.len()) {
        let set = rules(Mode::Govern, ResponseGate::StripPartial);
        follow(&set, &happenings, |state| {
            let before = format!("{state:?}");
            let batch = Batch { step: state.attempt_steps + 1, ..Batch::default() };
            let probe = call(TOOLS[tool], arguments.clone());
            let first = decide(&set, state, &batch, &probe);
            assert_eq!(first, decide(&set, state, &batch, &probe));
            assert_eq!(format!("{state:?}"), before);
        });
    }

    #[test]
    fn a_batch_only_makes_decisions_stricter(
        happenings in happenings(),
        accepted in prop::collection::vec((0..TOOLS.len(), arguments()), 0..4),
        arguments in arguments(),
        tool in 0..TOOLS.len(),
    ) {
        let set = rules(Mode::Govern, ResponseGate::StripPartial);
        follow(&set, &happenings, |state| {
            let step = state.attempt_steps + 1;
            let alone = Batch { step, ..Batch::default() };
            let probe = call(TOOLS[tool], arguments.clone());
            let accepted = accepted.iter().map(|(tool, arguments)| call(TOOLS[*tool], arguments.clone())).collect();
            let after = decide(&set, state, &Batch { step, accepted, ..Batch::default() }, &probe);
            if decide(&set, state, &alone, &probe).verdict == Verdict::Block {
                assert_eq!(after.verdict, Verdict::Block);
            }
        });
    }

    #[test]
    fn killed_absorbs(before in happenings(), after in happenings(), tool in 0..TOOLS.len(), arguments in arguments()) {
        let set = rules(Mode::Govern, ResponseGate::StripPartial);
        let all: Vec<_> = before.into_iter().chain([Happening::Kill]).chain(after).collect();
        let state = follow(&set, &all, |_| {});
        prop_assert!(matches!(state.status, Status::Killed(_)));
        let batch = Batch { step: state.attempt_steps + 1, ..Batch::default() };
        prop_assert_eq!(decide(&set, &state, &batch, &call(TOOLS[tool], arguments)).verdict, Verdict::Block);
        prop_assert_eq!(narrow(&set, &state, &offered()).len(), TOOLS.len());
    }

    #[test]
    fn nothing_permissive_happens_when_nothing_is_released(happenings in happenings()) {
        let set = rules(Mode::Govern, ResponseGate::RejectAll);
        follow(&set, &happenings, |state| {
            if state.released_calls == 0 {
                assert!(state.bindings.is_empty() && state.forbidden.is_empty());
                assert_eq!(state.phase.as_deref(), Some("start"));
            }
        });
    }

    #[test]
    fn aggregates_agree_with_a_naive_model(
        metric in prop_oneof![Just("sum"), Just("count"), Just("max"), Just("min"), Just("count_distinct")],
        bound in -20..60i64,
        is_upper: bool,
        values in prop::collection::vec((-10..10i64, 0..3usize), 0..20),
    ) {
        let key = if is_upper { "lte" } else { "gte" };
        let session = format!("schema_version: \"1.0\"\nagent: a\naggregates: [{{name: m, metric: {metric}, tool: t, path: $.n, {key}: {bound}, reason: r}}]\n");
        let files = vec![
            RawFile { name: "session.yaml".to_owned(), text: session },
            RawFile { name: "t.yaml".to_owned(), text: "tool: t\nside_effect: write\n".to_owned() },
        ];
        let mut options = CompileOptions::default();
        options.run.mode = Mode::Govern;
        let (set, _) = compile(&RawSet { files }, &options).expect("a set");
        let mut state = SessionState::new(&set);
        let mut counted: Vec<i64> = Vec::new();
        for (place, (value, kind)) in values.into_iter().enumerate() {
            let made = Call { id: format!("c{place}"), tool: "t".to_owned(), arguments: json!({"n": value}) };
            let mut all = counted.clone();
            all.push(value);
            let figure = match metric {
                "sum" => all.iter().sum(),
                "count" => i64::try_from(all.len()).expect("few"),
                "max" => *all.iter().max().expect("some"),
                "min" => *all.iter().min().expect("some"),
                _ => i64::try_from(all.iter().collect::<std::collections::BTreeSet<_>>().len()).expect("few"),
            };
            let holds = if is_upper { figure <= bound } else { figure >= bound };
            let decisions = judge_step(&set, &state, std::slice::from_ref(&made), None);
            prop_assert_eq!(decisions[0].verdict == Verdict::Allow, holds, "{} {} {:?}", metric, bound, all);
            let (released, is_step) = release_step(&set, &state, &[(made.clone(), decisions[0].verdict)]);
            apply(&set, &mut state, &Event::StepDecided { calls: released, is_step });
            if holds {
                // Failures do not count; successes and calls that may have happened do.
                let outcome = [Outcome::Error(json!({})), Outcome::Lost, Outcome::Ok(json!({}))][kind].clone();
                if kind > 0 {
                    counted = all;
                }
                apply(&set, &mut state, &Event::CallCompleted { call: made.id, outcome, provenance: Provenance::Gateway });
            }
        }
    }

    #[test]
    fn no_text_panics(name in "(session|t)", text in "([ \\n]|- |: |\\$\\.a|phases|policy|rules|tool|[0-9{}\\[\\],]|allow|when|name){0,40}") {
        let set = RawSet { files: vec![RawFile { name: format!("{name}.yaml"), text }] };
        let _ = compile(&set, &CompileOptions::default());
    }
}

#[test]
fn the_rules_are_all_tried() {
    // Without this, the properties above could hold because everything is blocked.
    let set = rules(Mode::Govern, ResponseGate::StripPartial);
    let step = |calls: &[(usize, Json)]| {
        Happening::Step(calls.iter().map(|(tool, arguments)| (*tool, arguments.clone(), 4)).collect())
    };
    let happenings = [
        step(&[(1, json!({"id": 1, "n": 10}))]),
        step(&[(2, json!({"id": 1, "n": 5}))]),
        step(&[(0, json!({}))]),
        step(&[(3, json!({}))]),
    ];
    let state = follow(&set, &happenings, |_| {});
    assert_eq!(state.phase.as_deref(), Some("done"));
    assert_eq!(state.released_calls, 4);
    assert_eq!(state.per_tool, BTreeMap::from(["approve", "look", "pay", "ship"].map(|tool| (tool.to_owned(), 1))));
}
