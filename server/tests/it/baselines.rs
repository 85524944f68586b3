//! Baselines by name, and what is flaky, over the API.

use scenario::result::RowStatus;
use serde_json::{Value, json};

use crate::test_app::{ADA, ADA_READS, ADMIN, BOB, HELLO, TestApp, replicas};
use crate::web_session::Browser;

#[tokio::test]
async fn a_baseline_is_kept_listed_read_and_removed_by_its_owner() {
    let app = TestApp::new().await;
    let id = app.finished(HELLO).await;
    let order = json!({"experiments": [id], "reason": "the first"});
    app.post(ADA_READS, "/v1/baselines/main", order.clone()).await.refused(403);
    app.post(BOB, "/v1/baselines/main", order.clone()).await.refused(403);
    let kept = app.post(ADA, "/v1/baselines/main", order).await.expect(201);
    let line = &kept[0];
    assert_eq!((&line["name"], &line["branch"], &line["experiment_id"]), (&json!("main"), &Value::Null, &json!(id)));
    assert_eq!(
        (&line["user_id"], &line["verdict"], &line["reason"]),
        (&json!("ada"), &json!("pass"), &json!("the first"))
    );
    assert_eq!(app.get(ADA_READS, "/v1/baselines").await.expect(200), kept);
    assert_eq!(app.get(ADMIN, "/v1/baselines").await.expect(200), kept);
    assert_eq!(app.get(BOB, "/v1/baselines").await.expect(200), json!([]));
    let one = app.get(ADA, "/v1/baselines/main").await.expect(200);
    assert_eq!((&one["lines"], one.get("experiments")), (&kept, None));
    let form = Browser::signed_in(&app, ADA).await.get("/compare").await.text();
    assert!(form.contains(&format!("<option value=\"{id}\">baseline main, hello</option>")), "{form}");
    // The experiment may go; the report stays, and can be kept again as it is.
    app.delete(ADA, &format!("/v1/experiments/{id}")).await.expect(204);
    let reports = app.get(ADA, "/v1/baselines/main?reports=true&branch=fix/x").await.expect(200)["experiments"].clone();
    assert_eq!(reports[0]["experiment_id"], json!(id));
    let again = app.post(ADA, "/v1/baselines/main?branch=fix/x", json!({"reports": reports})).await.expect(201);
    assert_eq!(again[0]["branch"], "fix/x");
    app.get(BOB, "/v1/baselines/main").await.refused(404);
    app.delete(BOB, "/v1/baselines/main").await.refused(404);
    app.delete(ADA_READS, "/v1/baselines/main").await.refused(403);
    app.delete(ADA, "/v1/baselines/main").await.expect(204);
    assert_eq!(app.get(ADA, "/v1/baselines").await.expect(200), again, "the branch stays");
    app.delete(ADA, "/v1/baselines/main?branch=fix/x&spec_id=other").await.refused(404);
}

#[tokio::test]
async fn what_must_not_become_a_baseline_is_refused_with_the_reasons() {
    let app = TestApp::new().await;
    let (large, small) = (app.finished(&replicas(3)).await, app.finished(&replicas(2)).await);
    let running = app.running(HELLO).await;
    let save = async |order: Value| app.post(ADA, "/v1/baselines/main", order).await;
    save(json!({"experiments": [large]})).await.expect(201);
    let refused = save(json!({"experiments": [small]})).await;
    assert!(refused.refused(409).contains("`hello` has 2 replicas where the baseline has 3"));
    assert_eq!(refused.json()["code"], "refused");
    assert!(save(json!({"experiments": [running]})).await.refused(409).contains("is incomplete"));
    assert_eq!(
        save(json!({"experiments": [small], "force": true})).await.expect(201)[0]["overridden"],
        json!(["`hello` has 2 replicas where the baseline has 3"])
    );
    assert!(save(json!({})).await.refused(400).contains("at least one experiment"));
    assert!(save(json!({"experiments": [large, small]})).await.refused(400).contains("two of `hello`"));
    assert!(save(json!({"experiments": [format!("{large}#x")]})).await.refused(400).contains("no number of a run"));
    assert!(save(json!({"reports": [{}]})).await.refused(400).contains("reports[0]"));
    save(json!({"experiments": ["gone"]})).await.refused(404);
    assert!(app.post(ADA, "/v1/baselines/a%20b", json!({})).await.refused(400).contains("is no name of a baseline"));
}

#[tokio::test]
async fn what_flips_is_told_by_the_api_and_on_a_board_that_leads_to_the_evidence() {
    let app = TestApp::new().await;
    app.get(ADA, "/v1/specs/hello/flaky").await.refused(404);
    let first = app.finished(HELLO).await;
    let second = app.running(HELLO).await;
    app.finish(RowStatus::Fail).await;
    let table = app.get(ADA_READS, "/v1/specs/hello/flaky?last=10").await.expect(200);
    let run = |index: usize| table["runs"][index]["experiment_id"].clone();
    assert_eq!([run(0), run(1)], [json!(first), json!(second)]);
    assert_eq!((&table["lines"][0]["flips"], &table["lines"][0]["cause"]), (&json!(1), &json!("unknown")));
    app.get(BOB, "/v1/specs/hello/flaky").await.refused(404);
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get("/specs/hello/flaky").await.text();
    assert!(page.contains("1 of 1 cell flaky over the last 2 runs"), "{page}");
    let shown = table["lines"][0]["squares"][1]["shown_by"].as_str().expect("a scenario");
    assert!(page.contains(&format!("/experiments/{second}/scenarios/{shown}?run=1")), "{page}");
    assert!(browser.get("/experiments").await.text().contains("/specs/hello/flaky"));
    assert!(browser.get("/specs/hello/flaky?all=1&last=50").await.text().contains("last 50 runs"));
    assert!(browser.get("/specs/other/flaky").await.text().contains("No experiment has run all of this spec"));
}
