//! The description of the API.

use http::Method;
use serde_json::Value;

use crate::test_app::{ADMIN, TestApp};

/// All operations: the method and the path.
pub(crate) fn operations() -> Vec<(Method, String, Value)> {
    let document = document();
    let paths = document["paths"].as_object().expect("paths").clone();
    let mut found = Vec::new();
    for (path, item) in paths {
        for (method, operation) in item.as_object().expect("an item") {
            if let Ok(method) = method.to_uppercase().parse::<Method>().map_err(|_| ()) {
                found.push((method, path.clone(), operation.clone()));
            }
        }
    }
    found
}

pub(crate) fn document() -> Value {
    serde_json::to_value(server::document()).expect("a document")
}

/// A path with something in place of its parameters.
pub(crate) fn filled(path: &str) -> String {
    let parts = path.split('/').map(|part| match part.starts_with('{') {
        true => "0190a000-0000-7000-8000-000000000000",
        false => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

#[test]
fn the_document_is_whole() {
    let document = document();
    assert!(document["openapi"].as_str().is_some_and(|version| version.starts_with("3.1")));
    let mut dangling = Vec::new();
    check_references(&document, &document, &mut dangling);
    assert!(dangling.is_empty(), "{dangling:?}");
    let (mut ids, mut twice) = (std::collections::HashSet::new(), Vec::new());
    for (method, path, operation) in operations() {
        let named = format!("{method} {path}");
        assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{named} has no summary");
        assert!(operation["tags"].as_array().is_some_and(|tags| tags.len() == 1), "{named} has no tag");
        let responses = operation["responses"].as_object().expect("responses");
        assert!(responses.keys().any(|status| status.starts_with('2')), "{named} never goes well");
        for part in path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
            let has = operation["parameters"]
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one["in"] == "path" && one["name"] == part));
            assert!(has, "{named} does not describe `{part}`");
        }
        let is_open = matches!(path.as_str(), "/health" | "/healthz" | "/readyz");
        assert_eq!(operation.get("security").is_some(), !is_open, "{named}");
        let id = operation["operationId"].as_str().expect("an id").to_owned();
        if !ids.insert(id.clone()) {
            twice.push(id);
        }
    }
    assert!(twice.is_empty(), "ids of two operations: {twice:?}");
}

fn check_references(value: &Value, document: &Value, dangling: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get("$ref")
                && target.strip_prefix('#').is_none_or(|pointer| document.pointer(pointer).is_none())
            {
                dangling.push(target.clone());
            }
            fields.values().for_each(|field| check_references(field, document, dangling));
        }
        Value::Array(items) => items.iter().for_each(|item| check_references(item, document, dangling)),
        _ => {}
    }
}

#[tokio::test]
async fn every_operation_has_a_route_and_no_route_has_more() {
    let app = TestApp::new().await;
    let all = [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::PATCH];
    let operations = operations();
    assert!(operations.len() > 60, "{} operations", operations.len());
    let paths: std::collections::BTreeSet<&String> = operations.iter().map(|(_, path, _)| path).collect();
    for path in paths {
        for method in &all {
            let documented = operations.iter().any(|(other, of, _)| other == method && of == path);
            // An event stream would wait; a key that is wrong is enough to see that there is a route.
            let answer = app.call(method.clone(), "ts_live_nobody", &filled(path), &[], "").await;
            let is_open = matches!(path.as_str(), "/health" | "/healthz" | "/readyz");
            if documented {
                let expected = if is_open { 200 } else { 401 };
                assert_eq!(answer.status.as_u16(), expected, "{method} {path}: {}", answer.text());
            } else {
                let answer = app.call(method.clone(), ADMIN, &filled(path), &[], "").await;
                assert_eq!(answer.status.as_u16(), 405, "{method} {path} is not described: {}", answer.text());
            }
        }
    }
}

#[tokio::test]
async fn the_document_and_a_page_to_browse_it_are_served() {
    let app = TestApp::new().await;
    let served = app.get("", "/openapi.json").await;
    assert_eq!(served.header("content-type"), "application/json");
    assert_eq!(served.expect(200), document());
    let page = app.get("", "/docs/").await;
    assert_eq!(page.status, 200);
    assert!(page.text().contains("swagger"), "{}", page.text());
}
