//! Mutations on the page of an experiment and in its results.

use scenario::evidence::{AgentRecord, Captured, Evidence, Exit};
use scenario::result::ScenarioResult;
use scenario::spec::load;
use serde_json::json;
use store::{Clock as _, Completion, Numbers};

use crate::test_app::{ADA, TestApp};
use crate::web_session::Browser;

const SPEC: &str = "
version: 1
id: greeting
base: debian
task: {prompt: Say hello}
agent: {type: noop}
invariants: {greets: {description: It greets, check: {type: contains, value: hello}}}
mutations: {types: [typos, case], count: 3, min_robustness: 0.9}
";

/// Ends all scenarios: the agent does not understand capitals.
async fn finish(app: &TestApp) {
    let spec = load(SPEC, None).spec.expect("a spec");
    while let Some(held) = app.claim().await {
        let is_case = held.scenario.id.as_str().starts_with("mutation-case");
        let said = if is_case { "<b>what?</b>" } else { "hello" };
        let agent = AgentRecord { stdout: Captured::from(said), exit: Some(Exit::Code(0)), ..AgentRecord::default() };
        let prompt = Some("<i>SAY HELLO</i>".to_owned());
        let evidence = Evidence { agent, prompt, ..Evidence::default() };
        let judged = ScenarioResult::judge(&spec, &held.scenario, &evidence);
        let completion = Completion { evidence: Some(&evidence), result: &judged, traces: &[], at: app.clock.now() };
        let numbers = Numbers::of(&app.store, held.run).await.expect("numbers");
        app.store.complete(&held.lease, held.run, completion, &numbers).await.expect("kept");
    }
}

#[tokio::test]
async fn the_page_has_the_kinds_and_leads_from_each_failed_mutation_to_its_prompt() {
    let app = TestApp::new().await;
    let id = app.running(SPEC).await;
    finish(&app).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}")).await.text();
    // (0.8 + 0.8) / (0.8 + 0.8 + 0.9)
    assert!(page.contains("Robustness <strong>0.6400</strong> of 1."), "{page}");
    assert!(page.contains("mutations</a> have a robustness of 0.6400"), "{page}");
    assert!(page.contains("aria-label=\"0 of 1 passed\"") && !page.contains("style="), "{page}");
    assert!(page.contains("Overall score"), "{page}");
    let scenario = format!("/experiments/{id}/scenarios/mutation-case-0--default-r0?run=1");
    assert!(page.contains(&format!("href=\"{scenario}#task\"")), "{page}");
    assert!(!page.contains("<b>what?</b>"), "what an agent says is no markup: {page}");
    let shown = browser.get(&scenario).await.text();
    assert!(shown.contains("&lt;i&gt;SAY HELLO&lt;/i&gt;"), "the page has the prompt that the agent got: {shown}");
}

#[tokio::test]
async fn results_carry_the_mutations_and_the_overall_score() {
    let app = TestApp::new().await;
    let id = app.running(SPEC).await;
    finish(&app).await;
    let results = app.get(ADA, &format!("/v1/experiments/{id}")).await.expect(200);
    let mutations = &results["mutations"];
    assert_eq!((&results["verdict"], &mutations["verdict"]), (&json!("fail"), &json!("fail")), "{results:#}");
    assert_eq!((&mutations["robustness"], &mutations["failed"][0]["kind"]), (&json!(0.64), &json!("case")));
    assert_eq!((&results["overall"]["score"], &results["overall"]["not_run"][0]), (&json!(0.64), &json!("chaos")));
    let metrics = app.get(ADA, &format!("/v1/metrics/experiments/{id}")).await.expect(200).to_string();
    assert!(metrics.contains("mutation_robustness") && metrics.contains("overall_score"), "{metrics}");
}
