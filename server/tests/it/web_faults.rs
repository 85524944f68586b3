//! Faults on the pages: worlds beside each other, a story of faulted moments only, and a pass that proves nothing.

use scenario::evidence::{Evidence, Exchange, FaultMark, FaultRecord, Firing, Journal};
use scenario::result::{RowStatus, ScenarioError, ScenarioResult};
use scenario::verdict::ErrorKind;

use crate::test_app::{ADA, HELLO, TestApp, result};
use crate::web_hostile::{end, exchange, require_harmless};
use crate::web_session::Browser;

/// A spec of which every cell is run in two worlds.
fn in_two_worlds() -> String {
    format!(
        "{HELLO}services: [{{name: shop, type: http_mock, ports: [80], routes: [{{path: /orders}}]}}]\n\
         parallelism: {{matrix: {{size: [1, 2]}}}}\n\
         chaos_matrix: [{{name: calm}}, {{name: shop-down, tool_faults: [{{tool: shop, mode: error}}]}}]\n"
    )
}

/// A request that a fault hit, one that none did, and a statement that one hit.
fn faulted() -> Evidence {
    let mark = FaultMark { rule: "tool_faults[0]".to_owned(), mode: "error".to_owned(), call: 1, reached: false };
    let hit = Exchange { fault: Some(mark), ..exchange("/hit", 5) };
    let journal = Journal { exchanges: vec![hit, exchange("/spared", 9)], overflow: None };
    let statement = Firing {
        rule: "service_faults[0]".to_owned(),
        mode: "read_only".to_owned(),
        target: "db:update <b>orders</b>".to_owned(),
        call: 1,
        at_ms: 12,
        ..Firing::default()
    };
    Evidence {
        journals: [("shop".to_owned(), journal)].into(),
        faults: Some(FaultRecord { firings: vec![statement], ..FaultRecord::default() }),
        ..Evidence::default()
    }
}

#[tokio::test]
async fn a_story_can_be_of_faulted_moments_only() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let held = end(&app, RowStatus::Fail, &faulted()).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let place = format!("/experiments/{id}/scenarios/{}", held.scenario.id);
    let page = browser.get(&place).await.text();
    assert!(page.contains("faulted only 2</a>") && page.contains("/spared"), "{page}");
    let story = |page: &str| page.split("<ol class=\"story\">").nth(1).expect("a story").to_owned();
    for (query, many) in [("faulted=only", 2), ("faulted=only&kind=http", 1), ("faulted=only&text=read_only", 1)] {
        let page = browser.get(&format!("{place}?{query}")).await.text();
        assert_eq!(page.matches("<details id=\"moment-").count(), many, "{query}: {page}");
        assert!(!story(&page).contains("/spared"), "{query}: {page}");
        assert!(page.contains("aria-current=\"true\">faulted only 2</a>"), "{query}: {page}");
        require_harmless(&page);
    }
    let page = browser.get(&format!("{place}?faulted=only&text=read_only")).await.text();
    assert!(page.contains("db:update &lt;b&gt;orders&lt;/b&gt;") && page.contains("fault: read_only"), "{page}");
    assert!(page.contains("name=\"faulted\" value=\"only\""), "the search keeps the choice: {page}");
}

#[tokio::test]
async fn a_story_without_faults_offers_no_such_choice() {
    let app = TestApp::new().await;
    let id = app.finished(HELLO).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}/scenarios/default-r0")).await.text();
    assert!(!page.contains("faulted only"), "{page}");
}

#[tokio::test]
async fn chaos_cells_are_groups_of_columns() {
    let app = TestApp::new().await;
    let id = app.running(&in_two_worlds()).await;
    app.finish(RowStatus::Pass).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}")).await.text();
    for world in ["calm", "shop-down"] {
        let head = format!("<th class=\"world\" scope=\"colgroup\" colspan=\"4\">chaos {world}</th>");
        assert!(page.contains(&head), "{head}: {page}");
    }
    let grid = page.split("<table class=\"grid\">").nth(1).and_then(|rest| rest.split("</table>").next());
    let grid = grid.expect("a grid");
    assert_eq!(grid.matches("<tr>").count(), 4, "two lines of heads, and a row for each size: {grid}");
    assert!(grid.contains("scenario, chaos=shop-down size=2, replica 0: passed"), "{grid}");
}

#[tokio::test]
async fn a_pass_that_proves_nothing_is_called_inconclusive() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let held = app.claim().await.expect("a job");
    let error = ScenarioError { kind: ErrorKind::Inconclusive, message: "no fault fired".to_owned() };
    let passed = result(&held, RowStatus::Pass);
    app.complete_with(&held, ScenarioResult { status: RowStatus::Error, error: Some(error), ..passed }).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}")).await.text();
    assert!(page.contains("replica 0: inconclusive") && page.contains("</span>inconclusive</span>"), "{page}");
    let page = browser.get(&format!("/experiments/{id}/scenarios/{}", held.scenario.id)).await.text();
    assert!(page.contains("<strong>inconclusive</strong>") && page.contains("no fault fired"), "{page}");
    let results = app.get(ADA, &format!("/v1/experiments/{id}")).await.expect(200);
    let scenario = &results["scenarios"][0];
    assert_eq!((&scenario["status"], &scenario["error_kind"]), (&"error".into(), &"inconclusive".into()), "{results}");
    assert_eq!(results["errors"], 1);
}
