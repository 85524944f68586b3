//! Tools that are HTTP operations of a service.

use serde_json::{Value as Json, json};
use wiremock::matchers::{any, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::tools::testing::with;

const REFUND: &str = "[{name: refund, input_schema: {type: object, properties: {id: {}, dry: {}, amount: {type: number}}, required: [id]}, \
                      http: {service: shop, method: POST, path: '/refunds/{id}', body: [amount], query: [dry]}}]";

async fn shop(answer: ResponseTemplate) -> MockServer {
    let shop = MockServer::start().await;
    Mock::given(any()).respond_with(answer).mount(&shop).await;
    shop
}

async fn last(shop: &MockServer) -> Request {
    shop.received_requests().await.expect("requests").pop().expect("a request")
}

#[tokio::test]
async fn arguments_go_where_the_declaration_says() {
    let shop = shop(ResponseTemplate::new(201).set_body_json(json!({"refunded": 5}))).await;
    let headers = [("x-key", "s3cret-value"), ("accept", "text/plain")];
    let running = with(REFUND).service(shop.address().port(), &headers).secret("s3cret-value").serve();
    let arguments = json!({"id": "a/b ü?", "amount": 5, "dry": [true, "x&y"]});
    let answer = running.ask("tools/call", json!({"name": "refund", "arguments": arguments})).await;
    assert_eq!(answer["result"]["structuredContent"], json!({"refunded": 5}));
    assert_eq!(answer["result"]["isError"], false);
    let request = last(&shop).await;
    assert_eq!(request.url.path(), "/refunds/a%2Fb%20%C3%BC%3F");
    assert_eq!(request.url.query(), Some("dry=true&dry=x%26y"));
    assert_eq!(serde_json::from_slice::<Json>(&request.body).expect("JSON"), json!({"amount": 5}));
    let header =
        |name: &str| request.headers.get_all(name).iter().map(|value| value.to_str().expect("text").to_owned());
    assert_eq!(header("x-key").collect::<Vec<_>>(), ["s3cret-value"]);
    assert_eq!(header("accept").collect::<Vec<_>>(), ["text/plain"], "the declaration's own header stands alone");
    let shown = format!("{answer}{}{:?}", running.ask("tools/list", json!({})).await, running.evidence());
    assert!(!shown.contains("s3cret-value"), "{shown}");
}

#[tokio::test]
async fn arguments_that_make_no_request_call_nothing() {
    let shop = shop(ResponseTemplate::new(200)).await;
    let tools = format!(
        "[{}, {{name: file, input_schema: {{type: object, properties: {{name: {{}}}}, required: [name]}}, \
         http: {{service: shop, path: '/files/.{{name}}'}}}}]",
        &REFUND[1..REFUND.len() - 1]
    );
    let running = with(&tools).service(shop.address().port(), &[]).serve();
    for (tool, arguments) in [
        ("refund", json!({"amount": 5})),
        ("refund", json!({"id": ""})),
        ("refund", json!({"id": ".."})),
        ("refund", json!({"id": "."})),
        ("refund", json!({"id": "7", "amount": "five"})),
        ("file", json!({"name": "."})),
    ] {
        let (text, is_error) = running.call(tool, arguments.clone()).await;
        assert!(is_error && !text.is_empty(), "{arguments}: {text}");
    }
    assert_eq!(shop.received_requests().await.expect("requests").len(), 0);
    let refused: Vec<_> =
        running.calls().iter().map(|call| call.execution.as_ref().is_some_and(|one| one.refused.is_some())).collect();
    assert_eq!(refused, [true, false, false, false, true, false]);
}

#[tokio::test]
async fn a_status_of_400_and_above_is_an_error_with_what_the_service_said() {
    let shop = shop(ResponseTemplate::new(409).set_body_json(json!({"reason": "done already"}))).await;
    let running = with(REFUND).service(shop.address().port(), &[]).serve();
    let answer = running.ask("tools/call", json!({"name": "refund", "arguments": {"id": "7"}})).await;
    assert_eq!(answer["result"]["isError"], true);
    assert_eq!(answer["result"]["content"][0]["text"], "409 Conflict: {\"reason\":\"done already\"}");
    assert_eq!(answer["result"]["structuredContent"], json!({"reason": "done already"}));
}

#[tokio::test]
async fn an_answer_that_is_no_json_is_text_and_whole() {
    let page = format!("<h1>{}</h1>", "x".repeat(10_000));
    let shop = shop(ResponseTemplate::new(200).set_body_string(page.clone())).await;
    let running = with(REFUND).service(shop.address().port(), &[]).serve();
    assert_eq!(running.call("refund", json!({"id": "7"})).await, (page, false));
}

#[tokio::test]
async fn a_service_that_is_down_is_an_answer() {
    let shop = MockServer::builder().start().await;
    let port = shop.address().port();
    drop(shop);
    let running = with(REFUND).service(port, &[]).serve();
    let (text, is_error) = running.call("refund", json!({"id": "7"})).await;
    // A server of tests may be used again: then it answers that it knows no such route.
    assert!(is_error && (text.starts_with("the service `shop` did not answer: ") || text.starts_with("404")), "{text}");
}

#[tokio::test]
async fn a_service_that_takes_too_long_is_an_answer() {
    let shop = MockServer::start().await;
    let late = ResponseTemplate::new(200).set_delay(std::time::Duration::from_secs(60));
    Mock::given(path("/a")).respond_with(late).mount(&shop).await;
    let running = with("[{name: slow, timeout: 50ms, http: {service: shop, path: /a}}]")
        .service(shop.address().port(), &[])
        .serve();
    let told = running.call("slow", json!({})).await;
    assert_eq!(told, ("the tool `slow` did not answer within 0.05 s".to_owned(), true));
}
