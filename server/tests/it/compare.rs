//! Experiments side by side, and their numbers.

use jiff::Timestamp;
use scenario::result::RowStatus;
use serde_json::{Value, json};
use store::{NewTrace, RunId};

use crate::test_app::{ADA, BOB, HELLO, TestApp, replicas};

#[tokio::test]
async fn what_got_worse_is_said() {
    let app = TestApp::new().await;
    let good = app.finished(&replicas(6)).await;
    let bad = app.running(&replicas(6)).await;
    app.finish_one(RowStatus::Pass).await;
    app.finish(RowStatus::Fail).await;
    let body = json!({"baseline_id": good, "candidate_id": bad});
    let compared = app.post(ADA, "/v1/experiments/compare", body).await.expect(200);
    assert_eq!((&compared["baseline_id"], &compared["candidate_id"]), (&json!(good), &json!(bad)));
    assert_eq!(compared["regressed"], true);
    let rate = compared["metrics"].as_array().expect("metrics").iter().find(|metric| metric["name"] == "pass_rate");
    let expected = json!({"name": "pass_rate", "baseline": 1.0, "direction": "worse"});
    let rate = rate.expect("a pass rate");
    assert_eq!(json!({"name": rate["name"], "baseline": rate["baseline"], "direction": rate["direction"]}), expected);
    let lines: Vec<_> = compared["regressions"].as_array().expect("lines").iter().filter_map(Value::as_str).collect();
    let line = "hello/default: 6/6 → 1/6; chance alone would do this in less than 1 of 100 comparisons";
    assert!(lines.contains(&line), "{lines:?}");
    assert_eq!(compared["summary"], "1 cell compared: 2 regressed, 0 insufficient evidence, 0 improved");
    assert_eq!(compared["findings"][0]["change"], "regressed");
    let other = json!({"baseline_id": bad, "candidate_id": good});
    assert_eq!(app.post(ADA, "/v1/experiments/compare", other).await.expect(200)["regressed"], false);
}

#[tokio::test]
async fn a_missed_bar_and_a_slower_agent_are_no_regression() {
    let app = TestApp::new().await;
    let good = app.finished(&replicas(2)).await;
    let bad = app.running(&replicas(2)).await;
    app.finish_one(RowStatus::Pass).await;
    app.finish_one(RowStatus::Fail).await;
    let body = json!({"baseline_id": good, "candidate_id": bad});
    let compared = app.post(ADA, "/v1/experiments/compare", body).await.expect(200);
    assert_eq!((&compared["regressed"], &compared["regressions"]), (&json!(false), &json!([])));
    let finding = &compared["findings"][0];
    assert_eq!(
        (&finding["change"], &finding["before"]),
        (&json!("insufficient_evidence"), &json!({"passed": 2, "judged": 2}))
    );
    assert!(finding["replicas_to_tell"].as_u64().is_some_and(|needed| needed > 2), "{finding}");
    assert!(finding["why"].as_str().is_some_and(|why| why.contains("which fails the run")), "{finding}");
}

#[tokio::test]
async fn a_comparison_has_the_suite_and_the_measures_and_can_gate_on_them() {
    let app = TestApp::new().await;
    let good = app.finished(&replicas(6)).await;
    let bad = app.running(&replicas(6)).await;
    app.finish(RowStatus::Fail).await;
    let compare = async |more: Value| {
        let mut body = json!({"baseline_id": good, "candidate_id": bad});
        body.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
        app.post(ADA, "/v1/experiments/compare", body).await
    };
    let told = compare(json!({"margin": 0.1})).await.expect(200);
    let suite = &told["suite"];
    assert_eq!((&suite["verdict"], &suite["enough_specs"]), (&json!("inconclusive"), &json!(false)));
    assert_eq!((&suite["difference"], &suite["margin"]), (&json!(-1.0), &json!(0.1)));
    let gated = compare(json!({"gate": ["composite"]})).await.expect(200);
    let composite = gated["measures"].as_array().expect("measures").iter().find(|one| one["measure"] == "composite");
    assert!(composite.is_some_and(|one| one["gates"] == true && one["words"].is_string()), "{gated}");
    let refused = compare(json!({"gate": ["luck"]})).await.refused(400);
    assert!(refused.contains("`composite`, `cost`, `time`"), "{refused}");
    compare(json!({"margin": 2})).await.refused(400);
}

#[tokio::test]
async fn only_what_has_ended_and_is_ones_own_can_be_compared() {
    let app = TestApp::new().await;
    let ended = app.finished(HELLO).await;
    let running = app.running(HELLO).await;
    let compare = async |key: &str, baseline: &str, candidate: &str| {
        app.post(key, "/v1/experiments/compare", json!({"baseline_id": baseline, "candidate_id": candidate})).await
    };
    compare(ADA, &ended, &running).await.refused(409);
    compare(ADA, &ended, "gone").await.refused(404);
    compare(BOB, &ended, &ended).await.refused(403);
    let refused = app.post(ADA, "/v1/experiments/compare", json!({"baseline_id": ended})).await.refused(400);
    assert!(refused.contains("candidate_id"), "{refused}");
}

#[tokio::test]
async fn numbers_come_in_both_shapes() {
    let app = TestApp::new().await;
    let id = app.experiment(&replicas(2)).await;
    let path = format!("/v1/metrics/experiments/{id}");
    let before = app.get(ADA, &path).await.expect(200);
    assert_eq!((&before["summary"]["total_runs"], &before["summary"]["mean_wall_ms"]), (&json!(0), &json!(0)));
    for status in [RowStatus::Pass, RowStatus::Fail] {
        app.post_empty(ADA, &format!("/v1/experiments/{id}/run")).await.expect(202);
        app.finish(status).await;
    }
    let number = 2;
    let run = RunId { experiment: id.parse().expect("an id"), number };
    app.store.add_traces(&[call(run, "search", 10, "ok"), call(run, "search", 30, "error")]).await.expect("traces");
    let metrics = app.get(ADA, &path).await.expect(200);
    assert_eq!(metrics["experiment_id"], id);
    assert_eq!(metrics["summary"]["total_runs"], 2);
    assert_eq!(metrics["summary"]["pass_rate"], 0.0);
    assert_eq!(metrics["summary"]["mean_wall_ms"], 1200);
    assert!(metrics["summary"]["total_tool_calls"].is_u64());
    assert_eq!(metrics["tool_breakdown"], json!({"search": {"count": 2, "mean_ms": 20, "error_rate": 0.5}}));
    let rates: Vec<_> =
        metrics["pass_rate_trend"].as_array().expect("a trend").iter().map(|point| &point["pass_rate"]).collect();
    assert_eq!(rates, [1.0, 0.0], "oldest first");
    assert_eq!(metrics["cost_trend"].as_array().expect("a trend").len(), 2);
    let run_id = metrics["cost_trend"][0]["run_id"].as_str().expect("an id");
    assert!(run_id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{run_id}");
    let by_name = metrics["metrics"].as_object().expect("numbers by name");
    assert!(by_name.len() > 8 && by_name.values().all(Value::is_f64), "{by_name:?}");
    app.get(BOB, &path).await.refused(403);
}

fn call(run: RunId, tool: &str, ms: u64, status: &str) -> NewTrace {
    NewTrace {
        owner: "ada".to_owned(),
        run: Some(run),
        scenario: None,
        sandbox: None,
        agent: String::new(),
        self_reported: false,
        at: Timestamp::from_second(1_700_000_000).expect("a time"),
        event_type: "tool_call".to_owned(),
        tool: tool.to_owned(),
        phase: "end".to_owned(),
        status: status.to_owned(),
        span_id: String::new(),
        parent_span_id: String::new(),
        root_span_id: String::new(),
        duration_ms: Some(ms),
        body: json!({"tool": tool, "input": "x"}),
    }
}
