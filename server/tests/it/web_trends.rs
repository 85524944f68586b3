//! Trends of specs, which only runs of a whole plan make.

use http::Method;
use scenario::result::RowStatus::{Fail, Pass};
use serde_json::json;

use crate::test_app::{ADA, TestApp, replicas};
use crate::web_session::Browser;

#[tokio::test]
async fn a_run_of_what_failed_changes_no_trend_and_one_of_all_does() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(4)).await;
    for status in [Pass, Pass, Fail, Pass] {
        app.finish_one(status).await;
    }
    let browser = Browser::signed_in(&app, ADA).await;
    let check = async |rate: &str, runs: &str, counted: &str, why: &str| {
        let history = browser.get("/experiments").await.text();
        assert!(history.contains(&format!("Pass rate of hello, newest {rate}")), "{why}: {history}");
        let page = browser.get("/specs/hello").await.text();
        assert!(page.contains(&format!("Pass rate <strong>{rate}</strong>")), "{why}: {page}");
        assert!(page.contains(&format!(" newest of {runs}, ")) && page.contains(counted), "{why}: {page}");
    };
    check("75 %", "1", "Over the last 1 run.", "the first run").await;

    let path = format!("/v1/experiments/{id}/rerun");
    let part = app.post(ADA, &path, json!({"failed_only": true})).await.expect(202);
    app.finish(Fail).await;
    check("75 %", "1", "Over the last 1 run.", "one of four failed again").await;

    let part = part["id"].as_str().expect("an id");
    app.post_empty(ADA, &format!("/v1/experiments/{part}/rerun")).await.expect(202);
    app.finish(Fail).await;
    check("75 %", "1", "Over the last 1 run.", "all of a part are a part").await;

    let yaml = [("content-type", "application/x-yaml")];
    let run = async |filter: &str| {
        app.call(Method::POST, ADA, &format!("/v1/runs?filter={filter}"), &yaml, replicas(4)).await.expect(202);
        app.finish(Fail).await;
    };
    run("*-r1").await;
    check("75 %", "1", "Over the last 1 run.", "a filter chose one").await;

    run("hello").await;
    check("0 %", "2", "Over the last 2 runs.", "a filter chose all").await;

    app.post_empty(ADA, &path).await.expect(202);
    app.finish(Pass).await;
    check("100 %", "3", "Over the last 3 runs.", "all were run again").await;
}
