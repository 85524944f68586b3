//! One scenario, its evidence and its artifacts; and scenarios of all experiments.

use scenario::result::RowStatus;
use serde_json::{Value, json};

use crate::test_app::{ADA, ADMIN, BOB, HELLO, TestApp, replicas};

#[tokio::test]
async fn all_about_a_scenario_can_be_read() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(2)).await;
    app.finish_one(RowStatus::Fail).await;
    let path = format!("/v1/experiments/{id}/scenarios/default-r0");
    let ended = app.get(ADA, &path).await.expect(200);
    assert_eq!((&ended["status"], &ended["attempt"], &ended["run"]), (&json!("fail"), &json!(1), &json!(1)));
    assert_eq!(ended["attempts"][0]["outcome"], "judged");
    assert!(ended["attempts"][0]["evidence_bytes"].as_u64().is_some_and(|bytes| bytes > 0));
    assert_eq!(ended["result"]["agent_output"], "hello from default-r0");
    assert_eq!(ended["result"]["invariants"][0]["message"], "there is no hello.txt");
    let pending = app.get(ADA, &format!("/v1/experiments/{id}/scenarios/default-r1")).await.expect(200);
    assert_eq!((&pending["status"], &pending["attempts"]), (&json!("pending"), &json!([])));
    assert!(pending.get("result").is_none());
    app.get(ADA, &format!("/v1/experiments/{id}/scenarios/default-r1/evidence")).await.refused(404);
    app.get(ADA, &format!("/v1/experiments/{id}/scenarios/gone")).await.refused(404);
    app.get(BOB, &path).await.refused(403);
    let unrun = app.experiment(HELLO).await;
    app.get(ADA, &format!("/v1/experiments/{unrun}/scenarios/default-r0")).await.refused(409);
}

#[tokio::test]
async fn evidence_comes_byte_for_byte() {
    let app = TestApp::new().await;
    let id = app.finished(HELLO).await;
    let path = format!("/v1/experiments/{id}/scenarios/default-r0");
    let answer = app.get(ADA, &format!("{path}/evidence")).await;
    let digest = app.get(ADA, &path).await.expect(200)["attempts"][0]["evidence_digest"].clone();
    assert_eq!(digest, server::auth::hash(&answer.text()), "the digest is the SHA-256 of what is sent");
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
    assert_eq!(app.get(ADA, &format!("{path}/evidence?attempt=1")).await.body, answer.body);
    app.get(ADA, &format!("{path}/evidence?attempt=2")).await.refused(404);
    app.get(BOB, &format!("{path}/evidence")).await.refused(403);
}

#[tokio::test]
async fn artifacts_are_listed_and_downloaded_and_nothing_else_is() {
    let app = TestApp::new().await;
    let id = app.finished(HELLO).await;
    let other = app.finished(HELLO).await;
    let put = async |key: String| app.store.artifacts().put(&key, "<script>").await.expect("kept");
    put(format!("{id}/1/default-r0/1/page.html")).await;
    put(format!("{other}/1/default-r0/1/secret.txt")).await;
    let path = format!("/v1/experiments/{id}/scenarios/default-r0/artifacts");
    let listed = app.get(ADA, &path).await.expect(200);
    let names: Vec<_> =
        listed.as_array().expect("a list").iter().map(|one| one["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["1/evidence.json", "1/page.html"]);
    for one in listed.as_array().expect("a list") {
        let answer = app.get(ADA, one["url"].as_str().expect("a url")).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.body.len() as u64, one["size_bytes"].as_u64().expect("a size"));
        for (name, value) in [
            ("content-type", "application/octet-stream"),
            ("x-content-type-options", "nosniff"),
            ("content-disposition", "attachment"),
        ] {
            assert_eq!(answer.header(name), value);
        }
    }
    for trick in [
        format!("1/../../../../{other}/1/default-r0/1/secret.txt"),
        format!("1/%2e%2e/%2e%2e/%2e%2e/%2e%2e/{other}/1/default-r0/1/secret.txt"),
        format!("1/..%2f..%2f..%2f..%2f{other}%2f1%2fdefault-r0%2f1%2fsecret.txt"),
        "1//etc/passwd".to_owned(),
        "%2fetc%2fpasswd".to_owned(),
        "2/evidence.json".to_owned(),
        "x/evidence.json".to_owned(),
        "1/".to_owned(),
        "1/none%00".to_owned(),
        "touchstone.db".to_owned(),
    ] {
        let answer = app.get(ADA, &format!("{path}/{trick}")).await;
        assert_eq!(answer.status.as_u16(), 404, "{trick}: {}", answer.text());
    }
    app.get(BOB, &path).await.refused(403);
    app.get(BOB, &format!("{path}/1/page.html")).await.refused(403);
}

#[tokio::test]
async fn scenarios_of_all_experiments_are_listed_in_an_envelope() {
    let app = TestApp::new().await;
    let first = app.running(&replicas(3)).await;
    for status in [RowStatus::Pass, RowStatus::Fail, RowStatus::Error] {
        app.finish_one(status).await;
    }
    app.clock.pass(1);
    let second = app.running(HELLO).await;
    let rows = async |key: &str, query: &str| -> Vec<(String, String, String)> {
        let envelope = app.get(key, &format!("/v1/scenarios{query}")).await.expect(200);
        let items = envelope["items"].as_array().expect("items");
        assert_eq!(envelope["count"], items.len());
        assert!(envelope["next_cursor"].is_string());
        let text = |row: &Value, name: &str| row[name].as_str().expect("a text").to_owned();
        items.iter().map(|row| (text(row, "experiment_id"), text(row, "scenario_id"), text(row, "status"))).collect()
    };
    let of = |id: &str, scenario: &str, status: &str| (id.to_owned(), scenario.to_owned(), status.to_owned());
    let expected = [
        of(&second, "default-r0", "pending"),
        of(&first, "default-r0", "pass"),
        of(&first, "default-r1", "flaky"),
        of(&first, "default-r2", "error"),
    ];
    assert_eq!(rows(ADA, "").await, expected);
    assert_eq!(rows(ADMIN, "").await, expected);
    assert!(rows(BOB, "").await.is_empty());
    assert_eq!(rows(ADA, &format!("?experiment_id={first}")).await, expected[1..]);
    assert_eq!(rows(ADA, "?status=flaky").await, expected[2..3]);
    assert!(rows(ADA, "?status=fail").await.is_empty());
    assert_eq!(rows(ADA, "?scenario_id=default-r0&status=pass").await, expected[1..2]);
    assert!(rows(ADA, "?experiment_id=none").await.is_empty());
    assert!(rows(BOB, &format!("?experiment_id={first}")).await.is_empty());
    app.get(ADA, "/v1/scenarios?status=odd").await.refused(400);
    let page = app.get(ADA, "/v1/scenarios?limit=3").await.expect(200);
    let cursor = page["next_cursor"].as_str().expect("a cursor");
    assert_eq!(rows(ADA, &format!("?limit=3&cursor={cursor}")).await, expected[3..]);
}
