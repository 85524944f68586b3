//! The option `chaos` of a run picks cells of the matrix, and profiles in their place.

use serde_json::{Value, json};

use crate::test_app::{ADA, Answer, HELLO, TestApp};

/// A spec with a shop, a calm world and one that breaks.
fn spec() -> String {
    format!(
        "{HELLO}services: [{{name: shop, type: http_mock, ports: [80], routes: [{{path: /orders}}]}}]\n\
         chaos_matrix: [{{name: calm}}, {{name: shop-down, tool_faults: [{{tool: shop, mode: error}}]}}]\n"
    )
}

/// Runs the spec in these worlds.
async fn run(app: &TestApp, chaos: Value) -> Answer {
    app.post(ADA, "/v1/runs", json!({"spec": spec(), "chaos": chaos})).await
}

/// The ids of the scenarios that wait to be run.
async fn waiting(app: &TestApp) -> Vec<String> {
    let mut ids = Vec::new();
    while let Some(held) = app.claim().await {
        ids.push(held.scenario.id.to_string());
    }
    ids.sort();
    ids
}

#[tokio::test]
async fn cells_and_profiles_are_picked_by_their_names() {
    let app = TestApp::new().await;
    for (chaos, expected) in [
        (json!(null), vec!["calm--default-r0", "shop-down--default-r0"]),
        (json!(["shop-down"]), vec!["shop-down--default-r0"]),
        (json!(["no-chaos", "calm"]), vec!["calm--default-r0", "no-chaos--default-r0"]),
        (json!(["api_outage"]), vec!["api_outage--default-r0"]),
    ] {
        let begun = run(&app, chaos.clone()).await.expect(202);
        assert_eq!(begun["total_scenarios"], expected.len(), "{chaos}");
        assert_eq!(waiting(&app).await, expected, "{chaos}");
    }
}

#[tokio::test]
async fn an_unknown_name_is_refused_with_the_known_ones() {
    let app = TestApp::new().await;
    let refused = run(&app, json!(["shop-don"])).await.refused(400);
    for part in ["there is no chaos cell `shop-don`", "calm", "shop-down", "api_outage"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    let refused = run(&app, json!(["database_trouble"])).await.refused(400);
    assert!(refused.contains("nothing in the spec that the profile `database_trouble` could break"), "{refused}");
    run(&app, json!("shop-down")).await.refused(400);
    assert_eq!(app.get(ADA, "/v1/experiments").await.expect(200), json!([]), "nothing was begun");
}
