//! The verdict of an experiment in one sentence.

use scenario::result::RowStatus::{self, Error, Fail, Pass};

use crate::test_app::{ADA, HELLO, TestApp, replicas};
use crate::web_session::Browser;

/// Asserts the verdict on the page of an experiment whose scenarios ended so. `ID` is its id.
async fn check(spec: &str, ended: &[RowStatus], expected: &str) {
    let app = TestApp::new().await;
    let id = app.running(spec).await;
    for status in ended {
        assert!(app.finish_one(*status).await);
    }
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}")).await.text();
    let expected = expected.replace("ID", &id);
    assert!(page.contains(&format!("<p class=\"verdict\">{expected}.</p>")), "{expected} is not in {page}");
}

#[tokio::test]
async fn a_verdict_is_said_by_cells_and_leads_to_where_it_is_seen() {
    let cells = format!("{}, matrix: {{mood: [good, bad, other]}}}}\n", replicas(2).trim_end().trim_end_matches('}'));
    let grid = |words: &str| format!("<a href=\"#grid\">{words}</a>");
    let scenarios = |words: &str| format!("<a href=\"#scenarios\">{words}</a>");
    let failed = |cells: &str, be: &str, missed: &str| {
        let place = "/experiments/ID?run=1&amp;status=missed#scenarios";
        let missed = format!("most often missed: <code>greeted</code> (<a href=\"{place}\">{missed}</a>)");
        format!("<strong>Failed</strong>: {} {be} bar; {missed}", grid(cells))
    };
    check(HELLO, &[Pass], &format!("<strong>Passed</strong>: {} reaches its bar", grid("the only cell"))).await;
    check(HELLO, &[Fail], &failed("the only cell", "is below its", "1 scenario")).await;
    let all = format!("<strong>Passed</strong>: {} reach their bar", grid("all 3 cells"));
    check(&cells, &[Pass; 6], &all).await;
    check(&cells, &[Pass, Fail, Pass, Pass, Pass, Pass], &failed("1 of 3 cells", "is below its", "1 scenario")).await;
    check(&cells, &[Pass, Fail, Fail, Fail, Pass, Pass], &failed("2 of 3 cells", "are below their", "3 scenarios"))
        .await;
    let errored = format!("{} could not be judged, and no cell failed", scenarios("1 of 2 scenarios"));
    check(&replicas(2), &[Pass, Error], &format!("<strong>No verdict</strong>: {errored}")).await;
}
