//! Rules over the whole session: against naive models, in a recorded trace, and in the words that people read.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use tool_contracts::options::{Mode, ResponseGate};
use tool_contracts::{
    Call, Code, CompileOptions, Compiled, Event, Outcome, Provenance, Question, RawFile, RawSet, SessionState,
    StateAnswer, TraceEntry, Verdict, apply, compile, judge_step, judge_trace, release_step, state_questions,
};

const TOOLS: [&str; 3] = ["refund", "mail", "read"];

fn files() -> RawSet {
    let file =
        |tool: &str| RawFile { name: format!("{tool}.yaml"), text: format!("tool: {tool}\nside_effect: write\n") };
    RawSet { files: TOOLS.into_iter().map(file).collect() }
}

/// A set with these rules, in govern mode.
fn set(rules: Json) -> Compiled {
    let mut options = CompileOptions { rules: rules.as_array().expect("rules").clone(), ..CompileOptions::default() };
    options.run.mode = Mode::Govern;
    options.run.gate = ResponseGate::StripPartial;
    compile(&files(), &options).unwrap_or_else(|error| panic!("{:#?}", error.diagnostics)).0
}

/// The problems of rules given as JSON.
fn problems(rules: Json) -> Vec<String> {
    let options = CompileOptions { rules: rules.as_array().expect("rules").clone(), ..CompileOptions::default() };
    let error = compile(&files(), &options).expect_err("mistakes");
    error.diagnostics.iter().map(ToString::to_string).collect()
}

fn call(id: usize, tool: &str, arguments: Json) -> Call {
    Call { id: format!("c{id}"), tool: tool.to_owned(), arguments }
}

/// Judges a step, applies it with the outcomes of what is released, and returns the verdicts and the codes found.
fn step(set: &Compiled, state: &mut SessionState, calls: &[(Call, Outcome)]) -> (Vec<Verdict>, Vec<Code>) {
    let made: Vec<Call> = calls.iter().map(|(call, _)| call.clone()).collect();
    let verdicts: Vec<_> = judge_step(set, state, &made, None).iter().map(|decision| decision.verdict).collect();
    let judged: Vec<_> = made.into_iter().zip(verdicts.iter().copied()).collect();
    let (released, is_step) = release_step(set, state, &judged);
    let mut found = apply(set, state, &Event::StepDecided { calls: released.clone(), is_step });
    for (released, (_, outcome)) in released.iter().zip(calls).filter(|(released, _)| released.is_released) {
        let (call, outcome, provenance) = (released.call.id.clone(), outcome.clone(), Provenance::Gateway);
        found.extend(apply(set, state, &Event::CallCompleted { call, outcome, provenance }));
    }
    (verdicts, found.into_iter().map(|finding| finding.code).collect())
}

/// Failed, lost, or successful.
fn outcome(kind: usize) -> Outcome {
    [Outcome::Error(json!({"status": 500})), Outcome::Lost, Outcome::Ok(json!({"ok": true}))][kind].clone()
}

proptest! {
    #[test]
    fn a_quota_agrees_with_a_naive_model(
        most in 0..4u64,
        steps in prop::collection::vec(prop::collection::vec((0..3i64, 0..3usize), 0..4), 0..8),
    ) {
        let set = set(json!([{"id": "few", "at_most": most, "of": "refund", "per": "$.id"}]));
        let mut state = SessionState::new(&set);
        let (mut counted, mut count): (BTreeMap<i64, u64>, usize) = Default::default();
        for batch in steps {
            let mut expected = Vec::new();
            let mut tentative = counted.clone();
            for (id, _) in &batch {
                let used = tentative.entry(*id).or_default();
                let is_allowed = *used < most;
                *used += u64::from(is_allowed);
                expected.push(if is_allowed { Verdict::Allow } else { Verdict::Block });
            }
            let calls: Vec<_> = batch.iter().map(|(id, kind)| {
                count += 1;
                (call(count, "refund", json!({ "id": id })), outcome(*kind))
            }).collect();
            let (verdicts, _) = step(&set, &mut state, &calls);
            prop_assert_eq!(&verdicts, &expected);
            for ((id, kind), verdict) in batch.iter().zip(verdicts) {
                // A call that failed did not happen; one that was lost may have.
                *counted.entry(*id).or_default() += u64::from(verdict == Verdict::Allow && *kind > 0);
            }
        }
    }

    #[test]
    fn obligations_agree_with_a_naive_model(
        window in 1..4usize,
        calls in prop::collection::vec((0..TOOLS.len(), 0..2i64, 0..3usize), 0..16),
    ) {
        let rule = json!({"id": "receipt", "every": "refund", "then": "mail", "within": {"calls": window}, "same": "$.id"});
        let set = set(json!([rule]));
        let mut state = SessionState::new(&set);
        let mut found = Vec::new();
        for (place, (tool, id, kind)) in calls.iter().enumerate() {
            let made = (call(place, TOOLS[*tool], json!({ "id": id })), outcome(*kind));
            found.extend(step(&set, &mut state, &[made]).1);
        }
        found.extend(apply(&set, &mut state, &Event::Closed).into_iter().map(|finding| finding.code));
        let follows = |place: usize, id: i64| calls[place + 1..].iter().take(window).any(|one| *one == (1, id, 2));
        let owes = |place: usize| calls[place].0 == 0 && calls[place].2 > 0;
        let expected = (0..calls.len()).filter(|place| owes(*place) && !follows(*place, calls[*place].1)).count();
        prop_assert_eq!(found.iter().filter(|code| **code == Code::RuleViolated).count(), expected);
    }

    #[test]
    fn flows_agree_with_a_naive_search(
        leaves in prop::collection::vec("[ab]{6,10}", 0..6),
        body in "[ab]{0,24}",
    ) {
        let set = set(json!([{"id": "leak", "never": "mail", "with": {"body": {"from": "read"}}}]));
        let mut state = SessionState::new(&set);
        step(&set, &mut state, &[(call(0, "read", json!({})), Outcome::Ok(json!(leaves)))]);
        let (verdicts, _) = step(&set, &mut state, &[(call(1, "mail", json!({ "body": body })), outcome(2))]);
        let leaks = leaves.iter().any(|leaf| leaf.len() >= 8 && body.contains(leaf.as_str()));
        prop_assert_eq!(verdicts[0] == Verdict::Block, leaks);
    }

    #[test]
    fn no_value_leaves_its_place_in_a_statement(value in "\\PC{0,20}|[';\\\\\" \\-a]{0,12}") {
        let sql = "select state from orders where id = '{{ arguments.id }}' and no = {{ arguments.id }}";
        let state = json!({"sql": sql, "service": "db", "equals": "paid"});
        let set = set(json!([{"id": "paid", "every": "refund", "when_state": state}]));
        for question in state_questions(&set, &call(0, "refund", json!({ "id": value }))) {
            let Question::Sql { statement, .. } = question.question else { panic!("a statement") };
            let quoted = value.replace('\'', "''");
            prop_assert_eq!(statement, format!("select state from orders where id = '{quoted}' and no = '{quoted}'"));
            prop_assert!(!value.contains('\\') && !value.contains('\0'));
        }
    }
}

#[test]
fn a_verdict_names_its_shortest_witness_and_the_words_of_its_author() {
    let set = set(json!([
        {"id": "one", "at_most": 1, "of": "refund", "per": "$.id", "reason": "refund an order once"},
        {"id": "leak", "never": "mail", "with": {"body": {"from": "read"}}},
    ]));
    let mut state = SessionState::new(&set);
    step(&set, &mut state, &[(call(1, "refund", json!({"id": "o-1"})), outcome(2))]);
    step(&set, &mut state, &[(call(2, "read", json!({})), Outcome::Ok(json!({"key": "hunter22"})))]);
    let probes = [call(3, "refund", json!({"id": "o-1"})), call(4, "mail", json!({"body": "hunter22"}))];
    let decisions = judge_step(&set, &state, &probes, None);
    let shown: Vec<_> = decisions.iter().map(tool_contracts::Decision::explain).collect();
    assert_eq!(
        shown,
        [
            "blocked: `refund` may be called 1 time at most for `$.id` \"o-1\", and this would be call 2; \
             witness: `c1`, `c3` (refund an order once) [rules/one]",
            "blocked: `$.body` of `mail` contains a value that `read` gave; witness: `c2`, `c4` [rules/leak]",
        ]
    );
    assert_eq!(decisions[0].reasons[0].found["calls"], r#"["c1","c3"]"#);
    assert_eq!(decisions[0].reasons[0].checked["at_most"], 1);
}

#[test]
fn a_recorded_trace_is_judged_by_the_rules_too() {
    let rules = json!([
        {"id": "read-first", "every": "refund", "after": "read", "same": "$.id"},
        {"id": "one", "at_most": 1, "of": "refund", "per": "$.id"},
        {"id": "receipt", "every": "refund", "then": "mail", "within": {"calls": 2}},
        {"id": "leak", "never": "mail", "with": {"body": {"from": "read"}}},
    ]);
    let used = |seq: u64, tool: &str, arguments: Json, result: &str| -> [TraceEntry; 2] {
        let entry = |entry: Json| serde_json::from_value(entry).expect("an entry");
        let proposed =
            json!({"seq": seq, "source": "proposed", "tool": tool, "arguments": arguments, "model_call": seq});
        let reported = json!({"seq": seq + 1, "source": "reported", "tool": tool, "proposal": seq, "result": result});
        [entry(proposed), entry(reported)]
    };
    let trace = [
        used(0, "refund", json!({"id": 1}), "{\"done\": true}"),
        used(2, "read", json!({"id": 2}), "{\"token\": \"hunter22\"}"),
        used(4, "refund", json!({"id": 2}), "{\"done\": true}"),
        used(6, "refund", json!({"id": 2}), "{\"done\": true}"),
    ]
    .concat();
    let report = judge_trace(&set(rules), &trace);
    let found = |rule: &str| -> Vec<(Option<u64>, &str, &str)> {
        let of_rule = report.findings.iter().filter(|found| found.finding.rule == rule);
        of_rule.map(|found| (found.seq, found.finding.code.name(), found.finding.call.as_str())).collect()
    };
    assert_eq!(found("rules/read-first"), [(Some(0), "rule_violated", "#0")]);
    assert_eq!(found("rules/one"), [(Some(6), "rule_violated", "#6")]);
    let owed = [(Some(4), "rule_violated", "#0"), (None, "rule_violated", "#4"), (None, "rule_violated", "#6")];
    assert_eq!(found("rules/receipt"), owed);
    assert_eq!(found("rules/leak"), [(None, "rule_vacuous", "")]);
    let first = report.findings.iter().find(|found| found.finding.rule == "rules/receipt").expect("a finding");
    assert!(first.finding.message.contains("witness: `#0`"), "{}", first.finding.message);
}

#[test]
fn executed_arguments_are_those_that_count() {
    let set = set(json!([{"id": "one", "at_most": 1, "of": "refund", "per": "$.id"}]));
    let mut state = SessionState::new(&set);
    let first = call(1, "refund", json!({"id": 1}));
    let (calls, is_step) = release_step(&set, &state, &[(first.clone(), Verdict::Allow)]);
    apply(&set, &mut state, &Event::StepDecided { calls, is_step });
    apply(&set, &mut state, &Event::ArgumentsExecuted { call: first.id, arguments: json!({"id": 2}) });
    let verdict = |id: u64| judge_step(&set, &state, &[call(2, "refund", json!({ "id": id }))], None)[0].verdict;
    assert_eq!((verdict(1), verdict(2)), (Verdict::Allow, Verdict::Block));
}

#[test]
fn an_answer_is_for_the_arguments_that_it_was_read_for() {
    let state = json!({"mock": {"service": "smtp", "path": "/mails/{{ arguments.id }}", "count": {"lte": 0}}});
    let set = set(json!([{"id": "quiet", "every": "mail", "when_state": state}]));
    let mut state = SessionState::new(&set);
    let made = call(1, "mail", json!({"id": 1}));
    let questions = state_questions(&set, &made);
    assert_eq!(questions[0].rule, "quiet");
    let path = Some("/mails/1".to_owned());
    assert_eq!(questions[0].question, Question::Mock { service: "smtp".to_owned(), path });
    let answer = StateAnswer::Count(0);
    let question = questions[0].clone();
    apply(&set, &mut state, &Event::StateRead { call: made.id.clone(), question, answer });
    let decided =
        |state: &SessionState, made: &Call| judge_step(&set, state, std::slice::from_ref(made), None).remove(0);
    assert_eq!(decided(&state, &made).verdict, Verdict::Allow);
    let other = Call { arguments: json!({"id": 2}), ..made.clone() };
    assert!(decided(&state, &other).explain().contains("it was not read"), "{}", decided(&state, &other).explain());
    let arguments = json!({"id": "../../x"});
    let changed = Call { arguments, ..made };
    assert!(state_questions(&set, &changed).is_empty());
    let decision = decided(&state, &changed);
    assert_eq!(decision.codes(), [Code::RuleViolated]);
    assert!(decision.explain().contains("characters that could change the question"), "{}", decision.explain());
}

#[test]
fn a_state_that_nobody_read_is_a_remark_while_observing() {
    let state = json!({"file": {"path": "/data/state", "equals": "open"}});
    let rules = vec![json!({"id": "open", "every": "refund", "when_state": state})];
    let options = CompileOptions { rules, ..CompileOptions::default() };
    let (set, _) = compile(&files(), &options).expect("a set");
    let mut state = SessionState::new(&set);
    let probe = call(1, "refund", json!({}));
    let decided = |state: &SessionState| judge_step(&set, state, std::slice::from_ref(&probe), None).remove(0);
    assert_eq!((decided(&state).verdict, decided(&state).notes), (Verdict::Allow, vec![Code::NotEvaluable]));
    for (contents, verdict) in
        [(Some("open\n"), Verdict::Allow), (Some("shut"), Verdict::Block), (None, Verdict::Block)]
    {
        let answer = StateAnswer::File(contents.map(ToOwned::to_owned));
        let question = state_questions(&set, &probe).remove(0);
        apply(&set, &mut state, &Event::StateRead { call: probe.id.clone(), question, answer });
        assert_eq!((decided(&state).verdict, decided(&state).notes), (verdict, vec![]), "{contents:?}");
    }
}

#[test]
fn rules_from_outside_are_part_of_the_hash_and_named_by_their_number() {
    let quota = json!({"id": "few", "at_most": 1, "of": "refund"});
    let plain = set(json!([])).hash;
    assert_ne!(plain, set(json!([quota])).hash);
    assert_eq!(plain, compile(&files(), &CompileOptions::default()).expect("a set").0.hash);
    let shown = problems(json!([quota, {"id": "few", "evry": "refund", "after": "read"}]));
    assert_eq!(
        shown,
        [
            "rules[1]:1:1: error MISSING_FIELD: the field `every` is missing",
            "rules[1]:1:13: error UNKNOWN_FIELD: there is no field `evry` here; did you mean `every`?",
        ]
    );
    let shown = problems(json!([quota, {"id": "few", "at_most": 2, "of": "mail", "per": "id"}, quota]));
    assert!(shown.iter().any(|one| one.starts_with("rules[1]:") && one.contains("INVALID_PATH")), "{shown:?}");
    assert!(shown.iter().any(|one| one.starts_with("rules[2]:") && one.contains("DUPLICATE_NAME")), "{shown:?}");
}

#[test]
fn a_rule_about_a_tool_without_a_contract_is_a_warning_with_its_place() {
    let session = "schema_version: \"1.0\"\nagent: a\nrules:\n  - { id: first, every: refnd, after: read }\n";
    let mut set = files();
    set.files.push(RawFile { name: "session.yaml".to_owned(), text: session.to_owned() });
    let (_, warnings) = compile(&set, &CompileOptions::default()).expect("a set");
    let shown: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    let expected =
        "session.yaml:4:25: warning UNKNOWN_TOOL: there is no contract for the tool `refnd`; did you mean `refund`?";
    assert_eq!(shown, [expected]);
}
