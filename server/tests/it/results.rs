//! Results of runs, and how clients follow them.

use std::time::Duration;

use http::Method;
use scenario::result::RowStatus;
use serde_json::json;

use crate::experiments::counters;
use crate::test_app::{ADA, Answer, HELLO, TestApp, replicas};

async fn get(app: &TestApp, path: &str, headers: &[(&str, &str)]) -> Answer {
    app.call(Method::GET, ADA, path, headers, "").await
}

#[tokio::test]
async fn who_knows_the_results_gets_no_body() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(2)).await;
    let path = format!("/v1/experiments/{id}");
    let first = get(&app, &path, &[]).await;
    let tag = first.header("etag").to_owned();
    assert!(tag.starts_with("W/\""), "{tag}");
    let again = get(&app, &path, &[("if-none-match", &tag)]).await;
    assert_eq!((again.status.as_u16(), again.body.len(), again.header("etag")), (304, 0, tag.as_str()));
    app.finish_one(RowStatus::Pass).await;
    let news = get(&app, &path, &[("if-none-match", &tag)]).await;
    assert_eq!(counters(&news.expect(200)), [2, 1, 0, 0, 0]);
    assert_ne!(news.header("etag"), tag);
    let summary = get(&app, &format!("{path}?view=summary"), &[("if-none-match", news.header("etag"))]).await;
    assert_eq!(summary.status, 200, "another view is another body");
    assert!(summary.json().get("scenarios").is_none());
    assert_eq!(counters(&summary.json()), [2, 1, 0, 0, 0]);
    let strong = news.header("etag").trim_start_matches("W/");
    assert_eq!(get(&app, &path, &[("if-none-match", &format!("\"x\", {strong}"))]).await.status, 304);
}

#[tokio::test]
async fn a_request_waits_for_the_end_of_the_run() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let path = format!("/v1/experiments/{id}?wait=20s");
    let (answer, ()) = tokio::join!(app.get(ADA, &path), async {
        app.until_waiting(1).await;
        app.finish(RowStatus::Pass).await;
    });
    assert_eq!(answer.expect(200)["status"], "finished");
}

#[tokio::test]
async fn a_request_waits_for_anything_new() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(2)).await;
    let path = format!("/v1/experiments/{id}");
    let tag = app.get(ADA, &path).await.header("etag").to_owned();
    let (waiting, headers) = (format!("{path}?wait=20"), [("if-none-match", tag.as_str())]);
    let (answer, ()) = tokio::join!(get(&app, &waiting, &headers), async {
        app.until_waiting(1).await;
        app.finish_one(RowStatus::Pass).await;
    });
    assert_eq!(counters(&answer.expect(200)), [2, 1, 0, 0, 0]);
}

#[tokio::test]
async fn who_waits_in_vain_is_answered_in_time() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let path = format!("/v1/experiments/{id}?wait=30ms");
    let answer = app.get(ADA, &path).await;
    assert_eq!(answer.expect(200)["status"], "running");
    let tag = answer.header("etag").to_owned();
    assert_eq!(get(&app, &path, &[("if-none-match", &tag)]).await.status, 304);
    for wait in ["soon", "-1", "1x", "nan", ""] {
        assert!(app.get(ADA, &format!("/v1/experiments/{id}?wait={wait}")).await.refused(400).contains("wait"));
    }
}

#[tokio::test]
async fn who_finds_no_place_to_wait_is_answered_at_once() {
    let app = TestApp::with(|config| config.streams = 0).await;
    let id = app.running(HELLO).await;
    let path = format!("/v1/experiments/{id}?wait=20s");
    let answer = tokio::time::timeout(Duration::from_secs(10), app.get(ADA, &path));
    assert_eq!(answer.await.expect("an answer at once").expect(200)["status"], "running");
}

#[tokio::test]
async fn results_come_in_the_form_that_is_asked_for() {
    let app = TestApp::new().await;
    let id = app.finished(HELLO).await;
    let path = format!("/v1/experiments/{id}");
    for (query, accept, kind, begins) in [
        ("?format=junit", "*/*", "application/xml", "<?xml"),
        ("", "application/xml", "application/xml", "<?xml"),
        ("?format=markdown", "*/*", "text/markdown; charset=utf-8", "#"),
        ("", "text/markdown, */*;q=0.1", "text/markdown; charset=utf-8", "#"),
        ("", "application/json", "application/json", "{"),
        ("?format=json", "application/xml", "application/json", "{"),
    ] {
        let answer = get(&app, &format!("{path}{query}"), &[("accept", accept)]).await;
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, kind), "{query} {accept}");
        assert!(answer.text().starts_with(begins), "{query} {accept}: {}", answer.text());
    }
    app.get(ADA, &format!("{path}?format=pdf")).await.refused(400);
    let unrun = app.experiment(HELLO).await;
    app.get(ADA, &format!("/v1/experiments/{unrun}?format=junit")).await.refused(409);
}

#[tokio::test]
async fn each_status_is_counted_and_flaky_is_neither() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(4)).await;
    for status in [RowStatus::Pass, RowStatus::Fail, RowStatus::Error, RowStatus::Pass] {
        app.finish_one(status).await;
    }
    let results = app.get(ADA, &format!("/v1/experiments/{id}")).await.expect(200);
    assert_eq!(counters(&results), [4, 2, 0, 1, 1]);
    let statuses: Vec<_> =
        results["scenarios"].as_array().expect("rows").iter().map(|row| row["status"].clone()).collect();
    assert_eq!(statuses, [json!("pass"), json!("flaky"), json!("error"), json!("pass")]);
    let failed = &results["scenarios"][1];
    assert!(failed["reproducer"]["command"].as_str().is_some_and(|command| command.contains("--filter")));
    assert_eq!(failed["exit_code"], -1);
}

#[tokio::test]
async fn a_cancelled_run_counts_to_its_end() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(3)).await;
    let path = format!("/v1/experiments/{id}");
    app.finish_one(RowStatus::Pass).await;
    let held = app.claim().await.expect("a job");
    let cancelled = app.post(ADA, &format!("{path}/cancel"), json!({"reason": "enough"})).await.expect(202);
    assert_eq!(cancelled["status"], "running", "one is being run");
    app.complete(&held, RowStatus::Pass).await;
    let results = app.get(ADA, &path).await.expect(200);
    let [total, passed, failed, flaky, errors] = counters(&results);
    assert_eq!(passed + failed + flaky + errors, total, "clients stop to wait: {results}");
    assert_eq!(results["status"], "cancelled");
    assert_eq!(results["reason"], "enough");
    assert_eq!(results["not_run"], errors);
    assert!(errors >= 1);
    assert_eq!(results["verdict"], "error");
    app.post_empty(ADA, &format!("{path}/cancel")).await.refused(409);
    assert!(app.claim().await.is_none());
}

#[tokio::test]
async fn what_was_not_run_cannot_be_cancelled() {
    let app = TestApp::new().await;
    let id = app.experiment(HELLO).await;
    app.post_empty(ADA, &format!("/v1/experiments/{id}/cancel")).await.refused(409);
}

#[tokio::test]
async fn many_who_ask_at_once_all_get_the_same() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(20)).await;
    let path = format!("/v1/experiments/{id}");
    for _ in 0..20 {
        app.finish_one(RowStatus::Pass).await;
        let asking = (0..20).map(|_| app.get(ADA, &path));
        let answers = futures::future::join_all(asking).await;
        assert!(answers.iter().all(|answer| answer.status == 200 && answer.body == answers[0].body));
    }
    assert_eq!(counters(&app.get(ADA, &path).await.expect(200)), [20, 20, 0, 0, 0]);
}
