//! Score rules, asking for scores, and reading them.

use serde_json::json;
use store::{NewScore, RunId};

use crate::test_app::{ADA, ADA_READS, BOB, HELLO, SANDBOX, TestApp, replicas};

async fn rule(app: &TestApp) -> String {
    let body = json!({"name": "sorry", "type": "contains", "config": {"text": "sorry"}});
    app.post(ADA, "/v1/score-rules", body).await.expect(201)["id"].as_str().expect("a rule").to_owned()
}

#[tokio::test]
async fn a_rule_is_made_listed_read_and_removed() {
    let app = TestApp::new().await;
    let body = json!({"name": "quality", "type": "llm_as_judge", "config": {"criteria": "Is it right?", "model": "paragon-fast"}});
    let made = app.post(ADA, "/v1/score-rules", body).await.expect(201);
    assert!(made["id"].as_str().unwrap().starts_with("rule_"), "{made}");
    assert_eq!((&made["type"], &made["user_id"]), (&json!("llm_as_judge"), &json!("ada")));
    assert_eq!(made["config"]["criteria"], "Is it right?");
    let path = format!("/v1/score-rules/{}", made["id"].as_str().unwrap());
    assert_eq!(app.get(ADA_READS, &path).await.expect(200), made);
    assert_eq!(app.get(ADA, "/v1/score-rules").await.expect(200), json!([made]));
    assert_eq!(app.get(BOB, "/v1/score-rules").await.expect(200), json!([]));
    app.get(BOB, &path).await.refused(403);
    app.delete(BOB, &path).await.refused(403);
    app.delete(SANDBOX, &path).await.refused(403);
    app.delete(ADA, &path).await.expect(204);
    app.delete(ADA, &path).await.refused(404);
}

#[tokio::test]
async fn a_rule_that_could_not_work_is_refused() {
    let app = TestApp::new().await;
    for (kind, config, words) in [
        ("magic", json!({}), "one of llm_as_judge, regex"),
        ("regex", json!({"pattern": "("}), "config.pattern"),
        ("regex", json!({"pattern": "(a{1000}){1000}"}), "config.pattern"),
        ("regex", json!({}), "config.pattern"),
        ("contains", json!({"text": " "}), "config.text"),
        ("llm_as_judge", json!({"criteria": 5}), "config.criteria"),
        ("contains", json!([]), "config"),
        ("custom", json!({"x": "y".repeat(70_000)}), "65536 bytes"),
    ] {
        let refused =
            app.post(ADA, "/v1/score-rules", json!({"name": "n", "type": kind, "config": config})).await.refused(400);
        assert!(refused.contains(words), "{refused}");
    }
    app.post(ADA_READS, "/v1/score-rules", json!({"name": "n", "type": "custom"})).await.refused(403);
}

#[tokio::test]
async fn a_run_that_has_ended_is_queued_for_scoring() {
    let app = TestApp::new().await;
    let rule = rule(&app).await;
    let id = app.experiment(HELLO).await;
    let path = format!("/v1/experiments/{id}/score");
    let body = json!({"rule_ids": [rule, rule]});
    app.post(ADA, &path, body.clone()).await.refused(409);
    app.post_empty(ADA, &format!("/v1/experiments/{id}/run")).await.expect(202);
    app.post(ADA, &path, body.clone()).await.refused(409);
    app.finish(scenario::result::RowStatus::Pass).await;
    let queued = app.post(ADA, &path, body.clone()).await.expect(202);
    assert_eq!((&queued["status"], &queued["run"]), (&json!("queued"), &json!(1)));
    let now = store::Clock::now(&*app.clock);
    let request = app.store.claim_score_request(now, now).await.unwrap().unwrap();
    assert_eq!((request.run.experiment.to_string(), request.rules), (id.clone(), vec![rule]));
    for wrong in [json!({"rule_ids": []}), json!({}), json!({"rule_ids": vec!["x"; 51]})] {
        let status = app.post(ADA, &path, wrong.clone()).await.status;
        assert!(status.as_u16() == 400 || status.as_u16() == 404, "{wrong}: {status}");
    }
    app.post(ADA, &path, json!({"rule_ids": ["rule_missing"]})).await.refused(404);
    app.post(BOB, &path, body.clone()).await.refused(403);
    app.post(ADA_READS, &path, body.clone()).await.refused(403);
    app.post(ADA, "/v1/experiments/exp-123/score", body).await.refused(404);
}

#[tokio::test]
async fn scores_are_shown_as_clients_read_them() {
    let app = TestApp::new().await;
    let rule = rule(&app).await;
    let id = app.finished(&replicas(3)).await;
    let run = RunId { experiment: id.parse().unwrap(), number: 1 };
    let scenarios = app.store.scenarios(run).await.unwrap();
    let score = |number: usize| NewScore {
        rule: rule.clone(),
        run,
        scenario: scenarios[number].scenario.id.to_string(),
        trace: None,
        score: 0.5,
        passed: number == 0,
        message: "why".to_owned(),
    };
    let now = store::Clock::now(&*app.clock);
    app.store.keep_scores(&[score(0), score(1), score(2)], now).await.unwrap();
    let all = app.get(ADA, &format!("/v1/experiments/{id}/scores")).await.expect(200);
    assert_eq!(all.as_array().unwrap().len(), 3);
    let first = &all[0];
    assert_eq!((&first["rule_id"], &first["trace_id"], &first["experiment_id"]), (&json!(rule), &json!(0), &json!(id)));
    assert_eq!((&first["score"], &first["passed"], &first["message"]), (&json!(0.5), &json!(true), &json!("why")));
    let part = app.get(ADA, &format!("/v1/scores?experiment_id={id}&rule_id={rule}&limit=2")).await.expect(200);
    assert_eq!((part["count"].as_u64(), part["items"].as_array().map(Vec::len)), (Some(2), Some(2)));
    let cursor = part["next_cursor"].as_str().unwrap();
    let rest = app.get(ADA, &format!("/v1/scores?limit=2&cursor={cursor}")).await.expect(200);
    assert_eq!((&rest["count"], &rest["next_cursor"]), (&json!(1), &json!("")));
    assert_eq!(app.get(BOB, "/v1/scores").await.expect(200)["count"], 0);
    assert_eq!(app.get(ADA, "/v1/scores?experiment_id=exp-123").await.expect(200)["count"], 0);
    assert_eq!(app.get(ADA, "/v1/scores?rule_id=other").await.expect(200)["count"], 0);
    app.get(BOB, &format!("/v1/experiments/{id}/scores")).await.refused(403);
    app.post_empty(ADA, &format!("/v1/experiments/{id}/run")).await.expect(202);
    let newer = app.get(ADA, &format!("/v1/experiments/{id}/scores")).await.expect(200);
    assert_eq!(newer, json!([]), "what was said about an older run is not shown for a newer one");
}
