//! Workers, queue, and metrics for Prometheus.

use store::{Clock as _, Demand, NewWorker, Pulse, WorkerId};
use uuid::Uuid;

use crate::test_app::{ADA, ADA_READS, BOB, HELLO, SANDBOX, TestApp, replicas};

async fn worker(app: &TestApp, number: u128, running: u32, reason: Option<&str>) {
    let new = NewWorker {
        id: WorkerId { data_dir: Uuid::from_u128(9), owner: Uuid::from_u128(number) },
        host: format!("host{number}"),
        control: String::new(),
        slots: 2,
        budget: Demand { cpu_milli: 2000, memory: 1 << 30 },
        version: "1".to_owned(),
    };
    let pulse = Pulse { running, free_disk: 1 << 30, reason: reason.map(ToOwned::to_owned), problems: Vec::new() };
    app.store.register_worker(&new, &pulse, app.clock.now()).await.expect("registered");
}

async fn explanation(app: &TestApp) -> String {
    let capacity = app.get(ADA_READS, "/v1/capacity").await.expect(200);
    capacity["explanation"].as_str().expect("a sentence").to_owned()
}

#[tokio::test]
async fn why_things_wait_is_said_in_words() {
    let app = TestApp::new().await;
    assert_eq!(explanation(&app).await, "nothing waits");
    app.running(&replicas(3)).await;
    assert_eq!(
        explanation(&app).await,
        "3 scenarios wait: no worker is there; start one with `touchstone worker`, or read the log of one that should be there"
    );
    worker(&app, 1, 0, None).await;
    assert!(explanation(&app).await.contains("takes the next one soon"));
    worker(&app, 1, 2, None).await;
    assert_eq!(
        explanation(&app).await,
        "3 scenarios wait: all 2 slots are taken; more workers, or a higher `--max-concurrent`, run more at once"
    );
    worker(&app, 1, 2, Some("no room: 2 of 2 slots are busy")).await;
    assert_eq!(
        explanation(&app).await,
        "3 scenarios wait: no worker takes anything (host1: no room: 2 of 2 slots are busy); more workers, or a higher `--max-concurrent`, run more at once"
    );
    worker(&app, 1, 0, Some("its disk is full")).await;
    assert_eq!(
        explanation(&app).await,
        "3 scenarios wait: no worker takes anything (host1: its disk is full); the logs of the workers say more"
    );
    worker(&app, 2, 1, None).await;
    assert!(
        explanation(&app)
            .await
            .contains("1 of 4 slots are taken, and some workers take nothing (host1: its disk is full)")
    );
    app.clock.pass(3600);
    assert!(explanation(&app).await.contains("no worker is there"), "those that were not heard of do not count");
}

#[tokio::test]
async fn capacity_shows_workers_and_ones_own_queue() {
    let app = TestApp::new().await;
    app.running(&replicas(2)).await;
    app.claim().await.expect("a job");
    worker(&app, 1, 1, None).await;
    app.clock.pass(5);
    let capacity = app.get(ADA, "/v1/capacity").await.expect(200);
    assert_eq!((&capacity["slots"], &capacity["running"], &capacity["queued"]), (&2.into(), &1.into(), &1.into()));
    assert_eq!(capacity["oldest_wait_ms"], 5000);
    assert_eq!((&capacity["workers"][0]["host"], &capacity["workers"][0]["running"]), (&"host1".into(), &1.into()));
    assert_eq!((&capacity["specs"][0]["spec_id"], &capacity["specs"][0]["queued"]), (&"hello".into(), &1.into()));
    assert_eq!(capacity["workers"][0]["free_disk_bytes"], 1_u64 << 30);
    let others = app.get(BOB, "/v1/capacity").await.expect(200);
    assert_eq!((&others["specs"], &others["queued"]), (&serde_json::json!([]), &1.into()));
    app.get(SANDBOX, "/v1/capacity").await.refused(403);
}

#[tokio::test]
async fn prometheus_is_told_what_happens() {
    let app = TestApp::new().await;
    app.running(&replicas(2)).await;
    worker(&app, 1, 1, None).await;
    app.get(ADA, "/v1/experiments/none").await.refused(404);
    app.get(ADA, "/anything").await.refused(404);
    app.get("", "/metrics").await.refused(401);
    app.get(SANDBOX, "/metrics").await.refused(403);
    let answer = app.get(ADA_READS, "/metrics").await;
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").starts_with("application/openmetrics-text"));
    let text = answer.text();
    for line in [
        r#"touchstone_http_requests_total{method="POST",route="/v1/specs",status="201"} 1"#,
        r#"touchstone_http_requests_total{method="GET",route="/v1/experiments/{id}",status="404"} 1"#,
        r#"touchstone_http_request_duration_seconds_count{method="POST",route="/v1/specs"} 1"#,
        "touchstone_queue_waiting 2",
        "touchstone_queue_running 0",
        "touchstone_workers 1",
        "touchstone_worker_slots 2",
        "touchstone_worker_slots_taken 1",
        "touchstone_streams 0",
        "# EOF",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is missing in:\n{text}");
    }
    assert!(!text.contains("anything"), "paths that clients make up are no labels");
    let open = TestApp::open().await;
    let answer = open.call(http::Method::GET, "", "/metrics", &[("host", "localhost")], "").await;
    assert_eq!(answer.status, 200);
    open.call(http::Method::POST, "", "/v1/specs", &[("host", "localhost")], HELLO).await.expect(201);
}
