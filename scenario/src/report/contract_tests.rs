//! Contracts and replayed sessions in every rendering.

use super::tests::{HOSTILE, header};
use super::{Report, github, markdown, terminal};
use crate::evidence::{AgentRecord, Captured, Evidence, Exit, FaultRecord, Played, RuleCount};
use crate::plan::{PlanOptions, Scenario, expand};
use crate::result::ScenarioResult;
use crate::score::ScoreOptions;
use crate::spec::{Bundle, load};

const SPEC: &str = "
version: 1
id: greeting
base: debian
task: {prompt: Say hello}
agent: {type: noop}
services: [{name: shop, type: http_mock, ports: [80], record: true}]
contract:
  name: Politeness
  repeat: 2
  invariants:
    - {id: greets, type: contains, value: hello, severity: critical, guards: honesty}
    - {id: ends, type: completes, severity: low}
chaos_matrix:
  - {name: calm}
  - {name: down, tool_faults: [{tool: shop, mode: error}]}
replays:
  - {session: lost.yaml}
  - {session: found.yaml}
";

/// The agent is polite while the shop answers, and once of two times while it does not. It makes a call that the session does not have.
pub(super) fn report() -> Report {
    let sessions = ["lost.yaml", "found.yaml"].map(|path| (path.to_owned(), 1));
    let loaded = load(SPEC, Some(&Bundle::new(sessions).expect("a bundle")));
    let spec = loaded.spec.unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics));
    let plan = expand(&spec, PlanOptions::default()).expect("a plan");
    let judged = |scenario: &Scenario| ScenarioResult::judge(&spec, scenario, &evidence(scenario));
    let results = plan.scenarios.iter().map(judged).collect();
    Report::new(header("greeting/spec.yaml"), &spec, &plan, results, ScoreOptions::default())
}

fn evidence(scenario: &Scenario) -> Evidence {
    let is_lost = scenario.id.as_str().starts_with("replay-lost");
    let is_rude = scenario.chaos == "down" && scenario.replica == 1 || is_lost;
    let said = if is_rude { HOSTILE } else { "hello" };
    let agent = AgentRecord { stdout: Captured::from(said), exit: Some(Exit::Code(0)), ..AgentRecord::default() };
    let text = str::to_owned;
    let rule =
        RuleCount { rule: text("tool_faults[0]"), mode: text("error"), target: text("shop"), matched: 1, fired: 1 };
    let faults = (scenario.chaos == "down").then(|| FaultRecord { rules: vec![rule], ..FaultRecord::default() });
    let unexpected = if is_lost { vec![format!("shop POST /{HOSTILE}")] } else { Vec::new() };
    let replay = scenario.purpose.replay().map(|replay| Played {
        session: replay.id.clone(),
        answered: 3,
        unexpected,
        unconsumed: vec![text("shop GET /orders")],
        ..Played::default()
    });
    Evidence { agent, faults, replay, ..Evidence::default() }
}

#[test]
fn the_terminal_has_the_matrix_the_sessions_and_what_differs_from_the_clean_world() {
    let text = terminal(&report(), 100);
    let from = text.find("┌────").expect("tables");
    let sections = text[from..].find("contract Politeness").map(|at| from + at).expect("a contract");
    let matrix = text[..sections].rfind("│ rule").expect("a matrix");
    insta::assert_snapshot!(text[matrix..].to_owned());
}

#[test]
fn the_markdown_has_the_matrix_and_the_sessions() {
    let text = markdown(&report());
    let (from, to) = (text.find("#### Contract").expect("a contract"), text.find("<details>").expect("details"));
    insta::assert_snapshot!(text[from..to].to_owned());
}

#[test]
fn the_annotation_of_a_contract_names_its_failed_cells_before_all_scenarios() {
    let text = github(&report());
    let first = text.lines().next().expect("an annotation");
    insta::assert_snapshot!(first.replace("%0A", "%0A\n"));
}
