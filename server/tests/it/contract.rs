//! A contract on the page of an experiment and in its results.

use scenario::evidence::{AgentRecord, Captured, Evidence, Exit};
use scenario::result::ScenarioResult;
use scenario::spec::load;
use serde_json::json;
use store::{Clock as _, Completion, Numbers};

use crate::test_app::{ADA, TestApp};
use crate::web_session::Browser;

const SPEC: &str = "
version: 1
id: polite
base: debian
task: {prompt: x}
agent: {type: noop}
services: [{name: shop, type: http_mock, ports: [80]}]
contract:
  name: <Politeness>
  invariants:
    - {id: says-please, type: contains, value: please, severity: critical, guards: honesty}
    - {id: ends, type: completes}
chaos_matrix:
  - {name: calm}
  - {name: down, tool_faults: [{tool: shop, mode: error}]}
";

/// Ends all scenarios: the agent is polite while nothing breaks.
async fn finish(app: &TestApp) {
    let spec = load(SPEC, None).spec.expect("a spec");
    while let Some(held) = app.claim().await {
        let said = if held.scenario.chaos == "calm" { "please" } else { "<b>no</b>" };
        let agent = AgentRecord { stdout: Captured::from(said), exit: Some(Exit::Code(0)), ..AgentRecord::default() };
        let evidence = Evidence { agent, ..Evidence::default() };
        let judged = ScenarioResult::judge(&spec, &held.scenario, &evidence);
        let completion = Completion { evidence: Some(&evidence), result: &judged, traces: &[], at: app.clock.now() };
        let numbers = Numbers::of(&app.store, held.run).await.expect("numbers");
        app.store.complete(&held.lease, held.run, completion, &numbers).await.expect("kept");
    }
}

#[tokio::test]
async fn the_page_has_the_matrix_and_leads_from_each_cell_to_its_scenario() {
    let app = TestApp::new().await;
    let id = app.running(SPEC).await;
    finish(&app).await;
    let page = Browser::signed_in(&app, ADA).await.get(&format!("/experiments/{id}")).await.text();
    assert!(page.contains("Contract &lt;Politeness&gt;") && !page.contains("<Politeness>"), "{page}");
    assert!(page.contains("Resilience score <strong>62.50</strong>"), "{page}");
    let link = format!("href=\"/experiments/{id}/scenarios/down--says-please--default-r0?run=1\"");
    assert!(page.contains(&format!("<td class=\"fail\"><a {link}>fail</a> <span class=\"difference\"")), "{page}");
    assert_eq!(page.matches("−100 points").count(), 1, "only a cell that differs from the clean one says so: {page}");
    assert!(page.contains("down: fabricated, lost says-please") && page.contains("<p>1 fabricated.</p>"), "{page}");
    assert!(!page.contains("<b>no</b>"), "what an agent says is no markup: {page}");
}

#[tokio::test]
async fn results_carry_the_contract() {
    let app = TestApp::new().await;
    let id = app.running(SPEC).await;
    finish(&app).await;
    let results = app.get(ADA, &format!("/v1/experiments/{id}")).await.expect(200);
    let contract = &results["contract"];
    assert_eq!((&results["verdict"], &contract["verdict"]), (&json!("fail"), &json!("fail")), "{results:#}");
    assert_eq!((&contract["resilience_score"], &contract["critical_failed"]), (&json!(62.5), &json!(true)));
    let cells: Vec<_> = contract["cells"].as_array().expect("cells").iter().collect();
    let place = |cell: &&serde_json::Value| format!("{} {} {}", cell["invariant"], cell["scenario"], cell["status"]);
    let told: Vec<_> = cells.iter().map(place).map(|text| text.replace('"', "")).collect();
    assert_eq!((&cells[0]["difference_to_clean"], &cells[2]["difference_to_clean"]), (&json!(null), &json!(-1.0)));
    let counts = json!({"recovered": 0, "degraded": 0, "fabricated": 1, "corrupted": 0});
    assert_eq!(contract["outcome_counts"], counts);
    assert_eq!(told, ["says-please calm pass", "ends calm pass", "says-please down fail", "ends down pass"]);
    let metrics = app.get(ADA, &format!("/v1/metrics/experiments/{id}")).await.expect(200);
    assert!(metrics.to_string().contains("resilience_score"), "{metrics}");
    assert!(metrics.to_string().contains("fabricated"), "{metrics}");
}

#[tokio::test]
async fn the_page_of_a_spec_has_the_trend_of_its_resilience_score() {
    let app = TestApp::new().await;
    app.running(SPEC).await;
    finish(&app).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get("/specs/polite").await.text();
    assert!(page.contains("Resilience score <strong>62.50</strong>"), "{page}");
    assert!(page.contains("Outcomes of faults <strong>1 fabricated</strong>"), "{page}");
    assert!(page.contains("<rect class=\"fabricated\"") && !page.contains("<rect class=\"recovered\""), "{page}");
    app.finished(
        &SPEC
            .replace("id: polite", "id: plain")
            .replace("contract:", "x-contract:")
            .replace("chaos_matrix:", "invariants: {ends: {description: ends, check: {type: completes}}}\nx-matrix:"),
    )
    .await;
    let plain = browser.get("/specs/plain").await.text();
    assert!(plain.contains("Pass rate") && !plain.contains("Resilience score"), "no contract, no such chart: {plain}");
    assert!(!plain.contains("Outcomes of faults"), "{plain}");
}
