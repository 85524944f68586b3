//! Findings of tool contracts in reports, with an agent whose tools have names that would break out of them.

use serde_json::json;

use super::Report;
use super::tests::{HOSTILE, assert_form, header};
use crate::evidence::{CallTraceRecorder, Evidence, ToolProposal, ToolReport};
use crate::plan::{Plan, PlanOptions, expand};
use crate::result::ScenarioResult;
use crate::score::ScoreOptions;
use crate::spec::{Bundle, Spec, load};

const SPEC: &str = "
version: 1
id: refund-agent
base: debian
task: {prompt: Refund order 7}
agent: {type: noop}
invariants:
  keeps_the_rules:
    description: Orders are looked up before they are refunded
    gate: true
    check: {type: tool_contract, contracts: rules, unmatched: allow, require_terminal_phase: false}
";
const FILES: [(&str, &str); 2] = [
    (
        "rules/session.yaml",
        "schema_version: \"1.0\"\nagent: support\nphases: [{name: triage, initial: true}, {name: done, terminal: true}]\n\
         transitions: {triage: [done]}\n",
    ),
    (
        "rules/refund.yaml",
        "tool: refund\nside_effect: financial\ntransitions: {valid_in_phases: [triage], advances_to: done}\n\
         argument_value_invariants:\n  - {path: $.amount, lte: 100}\n",
    ),
];

fn planned() -> (Spec, Plan) {
    let sizes = FILES.iter().map(|(name, text)| ((*name).to_owned(), text.len() as u64));
    let content = |path: &str| FILES.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec());
    let loaded = load(SPEC, Some(&Bundle::new(sizes).expect("a bundle").with_texts(content)));
    let spec = loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let plan = expand(&spec, PlanOptions::default()).expect("a plan");
    (spec, plan)
}

/// A report on an agent that makes these calls: a tool and an amount.
fn report(calls: &[(&str, i64)]) -> Report {
    let mut recorder = CallTraceRecorder::default();
    for (model_call, (tool, amount)) in calls.iter().enumerate() {
        let arguments = recorder.read_arguments(&json!({"amount": amount}).to_string());
        let (id, tool) = (String::new(), (*tool).to_owned());
        let seq = recorder.add_proposal(ToolProposal { at_ms: 0, model_call, id, tool, arguments });
        let result = "{\"ok\": true}".to_owned();
        recorder.add_report(seq, ToolReport { at_ms: 1, model_call: model_call + 1, result, is_error: false });
    }
    let evidence = Evidence { call_trace: recorder.finish(), ..Evidence::default() };
    let (spec, plan) = planned();
    let results = vec![ScenarioResult::judge(&spec, &plan.scenarios[0], &evidence)];
    Report::new(header("specs/refund/spec.yaml"), &spec, &plan, results, ScoreOptions::default())
}

/// The part of a report from a word on.
fn from<'t>(text: &'t str, word: &str) -> &'t str {
    &text[text.find(word).unwrap_or_else(|| panic!("no {word} in {text}"))..]
}

#[test]
fn junit_and_markdown_have_the_findings_with_the_first_one_marked() {
    let report = report(&[("refund", 700), ("refund", 5)]);
    let junit = super::junit(&report);
    assert_form(&junit);
    insta::assert_snapshot!("junit", from(&junit, "<failure"));
    insta::assert_snapshot!("markdown", from(&super::markdown(&report), "<details>"));
}

#[test]
fn hostile_names_of_tools_break_no_report() {
    let report = report(&[(HOSTILE, 1), ("refund", 700)]);
    let (junit, markdown) = (super::junit(&report), super::markdown(&report));
    assert_form(&junit);
    for text in [&junit, &markdown] {
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{0}']), "{text}");
    }
    assert_eq!(markdown.matches("<details>").count(), markdown.matches("</details>").count(), "{markdown}");
}

#[test]
fn a_report_that_was_written_is_read_with_its_findings() {
    let report = report(&[("refund", 700)]);
    let read = super::read(super::json_value(&report)).expect("a report");
    assert_eq!(super::junit(&read), super::junit(&report));
}
