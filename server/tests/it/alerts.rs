//! Alerts: what they may say, and that they fire once.

use http::Method;
use scenario::result::RowStatus;
use serde_json::{Value, json};

use crate::serving::{Serving, until};
use crate::test_app::{ADA, ADA_READS, ADMIN, BOB, HELLO, SANDBOX, TestApp, replicas};

async fn alert(app: &TestApp, condition: &str, more: Value) -> String {
    let mut body = json!({"name": "watch", "condition": condition, "notify": "log"});
    body.as_object_mut().expect("an alert").extend(more.as_object().cloned().unwrap_or_default());
    app.post(ADA, "/v1/alerts", body).await.expect(201)["id"].as_str().expect("an alert").to_owned()
}

async fn firings(app: &TestApp, id: &str) -> Vec<Value> {
    app.get(ADA, &format!("/v1/alerts/{id}/firings")).await.expect(200).as_array().expect("an alert").clone()
}

/// Waits until all ended runs were looked at.
async fn looked_at(app: &TestApp) {
    let now = store::Clock::now(&*app.clock);
    let far = now + std::time::Duration::from_secs(3600);
    // Whatever is held is seen too, and can be taken again at once: what fires twice would be noticed.
    until("the alerts", || async {
        app.store.claim_run_end(far, now).await.expect("an alert").is_none().then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_alert_is_made_listed_read_and_removed() {
    let app = TestApp::new().await;
    let body = json!({
        "name": "worse", "condition": "pass_rate < 0.8", "window": "last_5_runs", "eval_id": "hello",
        "webhook_url": "https://example.com/hook",
    });
    let mut made = app.post(ADA, "/v1/alerts", body).await.expect(201);
    let secret = made.as_object_mut().unwrap().remove("secret").unwrap();
    assert_eq!(secret.as_str().unwrap().len(), 64);
    assert!(made["id"].as_str().unwrap().starts_with("alert_"), "{made}");
    assert_eq!((&made["notify"], &made["window"]), (&json!("webhook"), &json!("last_5_runs")));
    assert_eq!((&made["eval_id"], &made["slack_channel"]), (&json!("hello"), &json!("")));
    let path = format!("/v1/alerts/{}", made["id"].as_str().unwrap());
    assert_eq!(app.get(ADA_READS, &path).await.expect(200), made, "the secret is shown once");
    assert_eq!(app.get(ADA, "/v1/alerts").await.expect(200), json!([made]));
    assert_eq!(app.get(BOB, "/v1/alerts").await.expect(200), json!([]));
    assert_eq!(app.get(ADMIN, "/v1/alerts").await.expect(200), json!([made]));
    assert_eq!(firings(&app, made["id"].as_str().unwrap()).await, Vec::<Value>::new());
    for key in [BOB, SANDBOX] {
        app.get(key, &path).await.refused(403);
        app.get(key, &format!("{path}/firings")).await.refused(403);
        app.delete(key, &path).await.refused(403);
    }
    app.delete(ADA_READS, &path).await.refused(403);
    app.delete(ADA, &path).await.expect(204);
    app.delete(ADA, &path).await.refused(404);
    app.get(ADA, &format!("{path}/firings")).await.refused(404);
}

#[tokio::test]
async fn an_id_may_be_given_once() {
    let app = TestApp::new().await;
    assert_eq!(alert(&app, "errors > 0", json!({"id": "mine-1"})).await, "mine-1");
    let body = json!({"id": "mine-1", "name": "x", "condition": "errors > 0", "notify": "log"});
    app.post(BOB, "/v1/alerts", body).await.refused(409);
    let body = json!({"id": "a/b", "name": "x", "condition": "errors > 0", "notify": "log"});
    app.post(BOB, "/v1/alerts", body).await.refused(400);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_its_place() {
    let app = TestApp::new().await;
    let base = json!({"name": "n", "condition": "errors > 0", "notify": "log"});
    for (change, words) in [
        (json!({"condition": "pas_rate < 0.8"}), "at character 1: `pas_rate` is no metric; did you mean `pass_rate`?"),
        (json!({"condition": "pass_rate < 0.8 and"}), "at character 20"),
        (json!({"condition": ""}), "at character 1"),
        (json!({"condition": "x".repeat(2000)}), "more than 1000 bytes"),
        (json!({"window": "soon"}), "`window`"),
        (json!({"name": ""}), "`name`"),
        (json!({"notify": "email"}), "webhook, slack or log"),
        (json!({"notify": "webhook"}), "needs `webhook_url`"),
        (json!({"notify": null}), "needs `webhook_url`"),
        (json!({"notify": "slack", "slack_channel": "#x"}), "needs `webhook_url`"),
        (json!({"webhook_url": "https://example.com"}), "`notify: log`"),
        (json!({"events": ["approval.requested"]}), "has no `condition`"),
        (json!({"condition": "", "events": ["approval.lost"]}), "approval.requested"),
    ] {
        let mut body = base.clone();
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let refused = app.post(ADA, "/v1/alerts", body).await.refused(400);
        assert!(refused.contains(words), "{change}: {refused}");
    }
    app.post(ADA_READS, "/v1/alerts", base.clone()).await.refused(403);
    app.post("", "/v1/alerts", base).await.refused(401);
    assert_eq!(app.get(ADA, "/v1/alerts").await.expect(200), json!([]));
}

#[tokio::test]
async fn webhooks_that_lead_inside_are_refused() {
    let app = TestApp::new().await;
    for url in [
        "http://127.0.0.1/",
        "http://127.1:80/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0177.0.0.1/",
        "http://localhost/",
        "http://localhost./",
        "http://LocalHost:8012/v1/alerts",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://169.254.169.254/latest/meta-data",
        "http://10.1.2.3/",
        "http://192.168.0.1/",
        "http://172.17.0.1/",
        "http://100.64.1.1/",
        "http://[fd00::1]/",
        "http://[fe80::1]/",
        "http://0.0.0.0/",
        "http://224.0.0.1/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "unix:/var/run/docker.sock",
        "http://u:p@example.com/",
        "example.com/hook",
        "http://",
        "http://[::1",
    ] {
        let body = json!({"name": "n", "condition": "errors > 0", "webhook_url": url});
        let refused = app.post(ADA, "/v1/alerts", body).await.refused(400);
        assert!(refused.contains("`webhook_url` cannot be used"), "{url}: {refused}");
    }
    let private = TestApp::with(|config| config.private_webhooks = true).await;
    let body = json!({"name": "n", "condition": "errors > 0", "webhook_url": "http://127.0.0.1:9/"});
    private.post(ADA, "/v1/alerts", body).await.expect(201);
}

#[tokio::test]
async fn an_alert_fires_once_for_a_run_whose_condition_is_true() {
    let app = TestApp::new().await;
    let low = alert(&app, "pass_rate < 90%", json!({})).await;
    let never = alert(&app, "errors > 0", json!({})).await;
    let other = alert(&app, "pass_rate < 90%", json!({"eval_id": "other"})).await;
    let own = alert(&app, "failed >= 1", json!({"eval_id": "hello"})).await;
    // Two servers on one store.
    let (one, two) = (Serving::start(&app, |_| {}).await, Serving::start(&app, |_| {}).await);
    let id = app.running(&replicas(2)).await;
    assert!(app.finish_one(RowStatus::Fail).await);
    assert_eq!(firings(&app, &low).await, Vec::<Value>::new(), "the run has not ended");
    app.finish(RowStatus::Fail).await;
    let fired = until("a firing", || async { firings(&app, &low).await.pop() }).await;
    looked_at(&app).await;
    assert_eq!((&fired["rule_id"], &fired["rule_name"]), (&json!(low), &json!("watch")));
    assert_eq!((&fired["experiment_id"], &fired["run"]), (&json!(id), &json!(1)));
    assert_eq!(fired["reason"], "pass_rate is 0 (< 90%)");
    fired["fired_at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let mut counts = Vec::new();
    for alert in [&low, &never, &other, &own] {
        counts.push(firings(&app, alert).await.len());
    }
    assert_eq!(counts, [1, 0, 0, 1]);
    app.post_empty(ADA, &format!("/v1/experiments/{id}/run")).await.expect(202);
    app.finish(RowStatus::Fail).await;
    until("another firing", || async { (firings(&app, &low).await.len() == 2).then_some(()) }).await;
    one.end().await;
    two.end().await;
}

#[tokio::test]
async fn alerts_of_others_do_not_fire() {
    let app = TestApp::new().await;
    let body = json!({"name": "n", "condition": "total_scenarios > 0", "notify": "log"});
    let theirs = app.post(BOB, "/v1/alerts", body).await.expect(201);
    let own = alert(&app, "total_scenarios > 0", json!({})).await;
    let serving = Serving::start(&app, |_| {}).await;
    app.finished(HELLO).await;
    until("a firing", || async { firings(&app, &own).await.pop() }).await;
    looked_at(&app).await;
    let path = format!("/v1/alerts/{}/firings", theirs["id"].as_str().unwrap());
    assert_eq!(app.get(BOB, &path).await.expect(200), json!([]));
    serving.end().await;
}

#[tokio::test]
async fn a_run_is_compared_with_the_one_before_it_in_its_window() {
    let app = TestApp::new().await;
    let drop = alert(&app, "drop in pass_rate > 5%", json!({})).await;
    let recent = alert(&app, "drop in pass_rate > 5%", json!({"window": "24h"})).await;
    let last = alert(&app, "drop in pass_rate > 5%", json!({"window": "1 runs"})).await;
    let serving = Serving::start(&app, |_| {}).await;
    let run = async |status: RowStatus| {
        app.clock.pass(10);
        app.running(HELLO).await;
        app.finish(status).await;
        looked_at(&app).await;
    };
    let counts = async || {
        let mut counts = Vec::new();
        for alert in [&drop, &recent, &last] {
            counts.push(firings(&app, alert).await.len());
        }
        counts
    };
    run(RowStatus::Fail).await;
    assert_eq!(counts().await, [0, 0, 0], "there is nothing to compare with");
    run(RowStatus::Pass).await;
    assert_eq!(counts().await, [0, 0, 0], "it is better than before");
    run(RowStatus::Fail).await;
    assert_eq!(counts().await, [1, 1, 1]);
    run(RowStatus::Fail).await;
    assert_eq!(counts().await, [1, 1, 1], "it is as bad as before");
    run(RowStatus::Pass).await;
    app.clock.pass(2 * 86_400);
    run(RowStatus::Fail).await;
    assert_eq!(counts().await, [2, 1, 2], "two days are more than 24 hours");
    run(RowStatus::Pass).await;
    run(RowStatus::Error).await;
    run(RowStatus::Fail).await;
    // A run of which nothing was judged has a pass rate of 0: it is a drop itself, and nothing is compared with it.
    assert_eq!(counts().await, [4, 3, 3], "one run back, nothing was judged");
    serving.end().await;
}

#[tokio::test]
async fn a_window_ignores_filtered_runs_and_reruns_of_failures() {
    let app = TestApp::new().await;
    let drop = alert(&app, "drop in pass_rate > 5%", json!({"window": "last_1_runs"})).await;
    let serving = Serving::start(&app, |_| {}).await;
    let ends = async |statuses: &[RowStatus]| {
        app.clock.pass(10);
        for status in statuses {
            app.finish_one(*status).await;
        }
        looked_at(&app).await;
        firings(&app, &drop).await.len()
    };
    let rerun = async |id: &str| {
        let path = format!("/v1/experiments/{id}/rerun");
        app.post(ADA, &path, json!({"failed_only": true})).await.expect(202);
    };
    let filtered = async || {
        let yaml = [("content-type", "application/x-yaml")];
        app.call(Method::POST, ADA, "/v1/runs?filter=*-r1", &yaml, replicas(4)).await.expect(202);
    };
    let half = [RowStatus::Pass, RowStatus::Fail, RowStatus::Pass, RowStatus::Fail];
    let first = app.running(&replicas(4)).await;
    assert_eq!(ends(&half).await, 0, "there is nothing to compare with");
    rerun(&first).await;
    assert_eq!(ends(&[RowStatus::Pass; 2]).await, 0);
    filtered().await;
    assert_eq!(ends(&[RowStatus::Pass]).await, 0);
    let second = app.running(&replicas(4)).await;
    assert_eq!(ends(&half).await, 0, "one run back, half passed: runs of a part do not count");
    rerun(&second).await;
    assert_eq!(ends(&[RowStatus::Fail; 2]).await, 0, "those that failed and fail again are no drop");
    filtered().await;
    assert_eq!(ends(&[RowStatus::Fail]).await, 0, "nor is a scenario that a filter chose");
    app.running(&replicas(4)).await;
    assert_eq!(ends(&[RowStatus::Fail; 4]).await, 1);
    assert_eq!(firings(&app, &drop).await[0]["reason"], "pass_rate is 0 and was 0.5 (drop > 5%)");
    serving.end().await;
}

#[tokio::test]
async fn a_regression_needs_more_than_an_unlucky_run() {
    let app = TestApp::new().await;
    let regressed = alert(&app, "regressed", json!({})).await;
    let serving = Serving::start(&app, |_| {}).await;
    let run = async |passes: usize| {
        app.clock.pass(10);
        app.running(&replicas(6)).await;
        for _ in 0..passes {
            app.finish_one(RowStatus::Pass).await;
        }
        app.finish(RowStatus::Fail).await;
        looked_at(&app).await;
        firings(&app, &regressed).await.len()
    };
    assert_eq!(run(6).await, 0);
    assert_eq!(run(5).await, 0, "a bar was missed, and chance can explain it");
    assert_eq!(run(6).await, 0);
    assert_eq!(run(0).await, 1);
    let reason = firings(&app, &regressed).await[0]["reason"].to_string();
    assert!(reason.contains("it regressed: hello/default: 6/6 → 0/6; chance alone"), "{reason}");
    serving.end().await;
}

#[tokio::test]
async fn a_run_that_was_cancelled_fires_nothing() {
    let app = TestApp::new().await;
    let any = alert(&app, "total_scenarios > 0", json!({})).await;
    let id = app.running(&replicas(2)).await;
    let run = store::RunId { experiment: id.parse().unwrap(), number: 1 };
    let serving = Serving::start(&app, |_| {}).await;
    let numbers = store::Numbers::of(&app.store, run).await.unwrap();
    app.store.cancel(run, "enough", store::Clock::now(&*app.clock), &numbers).await.unwrap();
    app.finished(HELLO).await;
    until("a firing of the other run", || async { firings(&app, &any).await.pop() }).await;
    looked_at(&app).await;
    assert_eq!(firings(&app, &any).await.len(), 1);
    serving.end().await;
}
