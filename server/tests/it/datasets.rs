//! Datasets and their records.

use serde_json::json;

use crate::test_app::{ADA, ADA_READS, ADMIN, BOB, SANDBOX, TestApp};

async fn dataset(app: &TestApp) -> String {
    let made = app.post(ADA, "/v1/datasets", json!({"name": "refunds"})).await.expect(201);
    made["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn a_dataset_is_made_listed_read_and_removed() {
    let app = TestApp::new().await;
    let made =
        app.post(ADA, "/v1/datasets", json!({"name": " refunds ", "description": "d", "extra": 1})).await.expect(201);
    assert!(made["id"].as_str().unwrap().starts_with("ds_"), "{made}");
    assert_eq!((&made["name"], &made["user_id"], &made["version"]), (&json!("refunds"), &json!("ada"), &json!(0)));
    made["created_at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let path = format!("/v1/datasets/{}", made["id"].as_str().unwrap());
    assert_eq!(app.get(ADA_READS, &path).await.expect(200), made);
    assert_eq!(app.get(ADA, "/v1/datasets").await.expect(200), json!([made]));
    app.delete(ADA_READS, &path).await.refused(403);
    app.delete(ADA, &path).await.expect(204);
    app.get(ADA, &path).await.refused(404);
    app.delete(ADA, &path).await.refused(404);
}

#[tokio::test]
async fn records_are_added_in_versions_and_found_by_tags() {
    let app = TestApp::new().await;
    let records = format!("/v1/datasets/{}/records", dataset(&app).await);
    let first = json!({"records": [
        {"input": {"prompt": "a"}, "expected": {"file": "a.py"}, "tags": ["slow"]},
        {"input": {"prompt": "b"}, "expected": null, "metadata": {"span_id": "s"}},
    ]});
    assert_eq!(app.post(ADA, &records, first).await.expect(201), json!({"added": 2, "version": 1}));
    let second = json!({"records": [{"input": {"prompt": "c"}, "tags": ["slow", "new"]}]});
    assert_eq!(app.post(ADA, &records, second).await.expect(201)["version"], 2);
    assert_eq!(app.post(ADA, &records, json!({"records": []})).await.expect(201), json!({"added": 0, "version": 2}));
    let prompts = |body: serde_json::Value| -> Vec<String> {
        body.as_array().unwrap().iter().map(|one| one["input"]["prompt"].as_str().unwrap().to_owned()).collect()
    };
    let all = app.get(ADA, &records).await.expect(200);
    assert_eq!(all[1]["expected"], json!({}));
    assert_eq!(prompts(all), ["a", "b", "c"]);
    assert_eq!(prompts(app.get(ADA, &format!("{records}?version=1")).await.expect(200)), ["a", "b"]);
    assert_eq!(prompts(app.get(ADA, &format!("{records}?tags=new,missing")).await.expect(200)), ["c"]);
    assert_eq!(prompts(app.get(ADA, &format!("{records}?tags=slow")).await.expect(200)), ["a", "c"]);
    let part = app.get(ADA, &format!("{records}?limit=2")).await;
    let cursor = part.header("x-next-cursor").to_owned();
    assert_eq!(prompts(part.expect(200)), ["a", "b"]);
    assert_eq!(prompts(app.get(ADA, &format!("{records}?limit=2&cursor={cursor}")).await.expect(200)), ["c"]);
    app.get(ADA, &format!("{records}?cursor=nonsense")).await.refused(400);
    app.get(ADA, &format!("{records}?version=new")).await.refused(400);
}

#[tokio::test]
async fn a_long_list_of_records_comes_whole() {
    let app = TestApp::new().await;
    let records = format!("/v1/datasets/{}/records", dataset(&app).await);
    let many: Vec<_> = (0..1203).map(|number| json!({"input": {"number": number}})).collect();
    app.post(ADA, &records, json!({"records": many})).await.expect(201);
    let all = app.get(ADA, &records).await.expect(200);
    let numbers: Vec<_> = all.as_array().unwrap().iter().map(|one| one["input"]["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..1203).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_cannot_be_a_record_is_refused_with_its_place() {
    let app = TestApp::new().await;
    let records = format!("/v1/datasets/{}/records", dataset(&app).await);
    let refused = app.post(ADA, &records, json!({"records": [{"input": {}}, {"input": "text"}]})).await.refused(400);
    assert!(refused.contains("records[1].input"), "{refused}");
    app.post(ADA, &records, json!({"records": [{"expected": {}}]})).await.refused(400);
    app.post(ADA, &records, json!({"records": [{"input": {}, "tags": ["a,b"]}]})).await.refused(400);
    app.post(ADA, &records, json!({"records": 5})).await.refused(400);
    app.post(ADA, "/v1/datasets", json!({"name": " "})).await.refused(400);
    app.post(ADA, "/v1/datasets", json!({"name": "x".repeat(300)})).await.refused(400);
    app.post(ADA, "/v1/datasets", json!({})).await.refused(400);
    assert_eq!(app.get(ADA, &records).await.expect(200), json!([]));
}

#[tokio::test]
async fn owners_see_their_own_datasets() {
    let app = TestApp::new().await;
    let id = dataset(&app).await;
    let records = json!({"records": []});
    for path in [format!("/v1/datasets/{id}"), format!("/v1/datasets/{id}/records")] {
        app.get(BOB, &path).await.refused(403);
        app.get(SANDBOX, &path).await.refused(403);
        app.get("", &path).await.refused(401);
        app.get(ADMIN, &path).await.expect(200);
    }
    app.delete(BOB, &format!("/v1/datasets/{id}")).await.refused(403);
    app.post(BOB, &format!("/v1/datasets/{id}/records"), records).await.refused(403);
    assert_eq!(app.get(BOB, "/v1/datasets").await.expect(200), json!([]));
    app.post(ADA_READS, "/v1/datasets", json!({"name": "x"})).await.refused(403);
}
