//! Messages of alerts: signed, tried again, and sent only where they may be.

use std::sync::atomic::{AtomicU32, Ordering};

use hmac::{Hmac, KeyInit as _, Mac as _};
use scenario::result::RowStatus;
use serde_json::{Value, json};
use sha2::Sha256;
use store::{Clock as _, Delivery, DeliveryState};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::serving::{Serving, until};
use crate::test_app::{ADA, HELLO, TestApp};

async fn app() -> TestApp {
    TestApp::with(|config| config.private_webhooks = true).await
}

async fn serve(app: &TestApp) -> Serving {
    Serving::start(app, |config| config.private_webhooks = true).await
}

/// An alert that always fires; its id and secret.
async fn alert(app: &TestApp, url: &str, more: Value) -> (String, String) {
    let mut body = json!({"name": "watch <it>", "condition": "failed > 0", "webhook_url": url});
    body.as_object_mut().expect("a message").extend(more.as_object().expect("a message").clone());
    let made = app.post(ADA, "/v1/alerts", body).await.expect(201);
    let text = |field: &str| made[field].as_str().expect("a message").to_owned();
    (text("id"), text("secret"))
}

async fn fail(app: &TestApp) -> String {
    let id = app.running(HELLO).await;
    app.finish(RowStatus::Fail).await;
    id
}

fn header(request: &Request, name: &str) -> String {
    request.headers.get(name).map_or(String::new(), |value| value.to_str().expect("a message").to_owned())
}

/// The message of the only request so far, once it stands like this.
async fn delivery(app: &TestApp, server: &MockServer, wanted: impl Fn(&Delivery) -> bool) -> Delivery {
    until("the delivery", || async {
        let requests = server.received_requests().await.expect("a message");
        let id = header(requests.first()?, "x-touchstone-delivery");
        app.store.delivery(&id).await.expect("a message").filter(|delivery| wanted(delivery))
    })
    .await
}

#[tokio::test]
async fn a_message_is_signed_and_says_what_happened() {
    let receiver = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/hook"))
        .respond_with(ResponseTemplate::new(204))
        .expect(1)
        .mount(&receiver)
        .await;
    let app = app().await;
    let (alert, secret) = alert(&app, &format!("{}/hook", receiver.uri()), json!({})).await;
    let serving = serve(&app).await;
    let experiment = fail(&app).await;
    delivery(&app, &receiver, |delivery| delivery.state == DeliveryState::Arrived).await;
    let requests = receiver.received_requests().await.unwrap();
    let (request, body) = (&requests[0], String::from_utf8(requests[0].body.clone()).unwrap());
    let signature = header(request, "x-touchstone-signature");
    let (time, mac) = signature.strip_prefix("t=").unwrap().split_once(",v1=").unwrap();
    assert_eq!(time, app.clock.now().as_second().to_string());
    let mut own = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    own.update(format!("{time}.{body}").as_bytes());
    let expected: String = own.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(mac, expected);
    assert_eq!(header(request, "content-type"), "application/json");
    let said: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&said["rule_id"], &said["experiment_id"]), (&json!(alert), &json!(experiment)));
    assert_eq!((&said["event"], &said["spec_id"], &said["run"]), (&json!("alert.fired"), &json!("hello"), &json!(1)));
    assert_eq!((&said["reason"], &said["failed"]), (&json!("failed is 1 (> 0)"), &json!(1)));
    assert_eq!(said["metrics"]["pass_rate"], 0.0);
    serving.end().await;
}

#[tokio::test]
async fn slack_gets_a_text_without_its_own_markup() {
    let receiver = MockServer::start().await;
    Mock::given(method("POST")).respond_with(ResponseTemplate::new(200)).mount(&receiver).await;
    let app = app().await;
    alert(&app, &receiver.uri(), json!({"notify": "slack", "slack_channel": "#evals"})).await;
    let serving = serve(&app).await;
    fail(&app).await;
    delivery(&app, &receiver, |delivery| delivery.state == DeliveryState::Arrived).await;
    let said: Value = serde_json::from_slice(&receiver.received_requests().await.unwrap()[0].body).unwrap();
    assert_eq!(said["channel"], "#evals");
    let text = said["text"].as_str().unwrap();
    assert!(text.contains("*watch &lt;it&gt;*: failed is 1 (&gt; 0)"), "{text}");
    serving.end().await;
}

#[tokio::test]
async fn a_message_that_does_not_arrive_is_tried_again_later_and_sent_once_by_many_servers() {
    let receiver = MockServer::start().await;
    for number in 1..=2 {
        let broken = ResponseTemplate::new(500).set_body_string(format!("try {number}.\u{1b}[31m"));
        Mock::given(method("POST")).respond_with(broken).up_to_n_times(1).mount(&receiver).await;
    }
    Mock::given(method("POST")).respond_with(ResponseTemplate::new(200)).mount(&receiver).await;
    let app = app().await;
    alert(&app, &receiver.uri(), json!({})).await;
    let (one, two) = (serve(&app).await, serve(&app).await);
    fail(&app).await;
    let first = delivery(&app, &receiver, |delivery| delivery.last_error.is_some()).await;
    assert_eq!((first.attempts, first.state), (1, DeliveryState::Waiting));
    let error = first.last_error.unwrap();
    assert!(error.contains("500") && error.contains("try 1.") && !error.contains('\u{1b}'), "{error:?}");
    app.clock.pass(9);
    assert_eq!(receiver.received_requests().await.unwrap().len(), 1, "it is not time yet");
    app.clock.pass(1);
    let has_failed = |delivery: &Delivery| delivery.last_error.as_ref().is_some_and(|error| error.contains("try 2."));
    assert_eq!(delivery(&app, &receiver, has_failed).await.attempts, 2);
    app.clock.pass(20);
    let arrived = delivery(&app, &receiver, |delivery| delivery.state == DeliveryState::Arrived).await;
    assert_eq!(arrived.attempts, 3);
    let requests = receiver.received_requests().await.unwrap();
    assert_eq!(requests.len(), 3);
    let ids: Vec<_> = requests.iter().map(|request| header(request, "x-touchstone-delivery")).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "a receiver can tell that it is the same message");
    one.end().await;
    two.end().await;
}

#[tokio::test]
async fn a_message_is_given_up_after_many_tries_and_when_nobody_wants_it() {
    let receiver = MockServer::start().await;
    let tries = AtomicU32::new(0);
    let busy = move |_: &Request| {
        let number = tries.fetch_add(1, Ordering::SeqCst) + 1;
        ResponseTemplate::new(503).set_body_string(format!("try {number}."))
    };
    Mock::given(path("/broken")).respond_with(busy).mount(&receiver).await;
    let app = app().await;
    let (broken, _) = alert(&app, &format!("{}/broken", receiver.uri()), json!({})).await;
    let serving = serve(&app).await;
    fail(&app).await;
    for number in 1..=10 {
        let failed = format!("try {number}.");
        let has_failed =
            |delivery: &Delivery| delivery.last_error.as_ref().is_some_and(|error| error.contains(&failed));
        let delivery = delivery(&app, &receiver, has_failed).await;
        let expected = if number < 10 { DeliveryState::Waiting } else { DeliveryState::GivenUp };
        assert_eq!((delivery.attempts, delivery.state), (number, expected));
        app.clock.pass(3600);
    }
    assert_eq!(receiver.received_requests().await.unwrap().len(), 10);
    app.delete(ADA, &format!("/v1/alerts/{broken}")).await.expect(204);
    receiver.reset().await;
    Mock::given(path("/gone")).respond_with(ResponseTemplate::new(410)).mount(&receiver).await;
    alert(&app, &format!("{}/gone", receiver.uri()), json!({})).await;
    fail(&app).await;
    let gone = delivery(&app, &receiver, |delivery| delivery.state == DeliveryState::GivenUp).await;
    assert_eq!(gone.attempts, 1);
    serving.end().await;
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let (receiver, inside) = (MockServer::start().await, MockServer::start().await);
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(307).insert_header("location", format!("{}/inside", inside.uri())))
        .mount(&receiver)
        .await;
    let app = app().await;
    alert(&app, &receiver.uri(), json!({})).await;
    let serving = serve(&app).await;
    fail(&app).await;
    let tried = delivery(&app, &receiver, |delivery| delivery.last_error.is_some()).await;
    assert!(tried.last_error.unwrap().contains("redirects are not followed"));
    assert!(inside.received_requests().await.unwrap().is_empty());
    serving.end().await;
}

#[tokio::test]
async fn what_may_not_be_reached_any_more_is_given_up_unsent() {
    let receiver = MockServer::start().await;
    Mock::given(method("POST")).respond_with(ResponseTemplate::new(500)).mount(&receiver).await;
    let app = app().await;
    // A name that leads to this machine, and an address of it.
    let port = receiver.address().port();
    for host in ["localhost", "127.0.0.1"] {
        alert(&app, &format!("http://{host}:{port}/hook"), json!({})).await;
    }
    let first = serve(&app).await;
    fail(&app).await;
    let ids: Vec<String> = until("both messages", || async {
        let requests = receiver.received_requests().await.unwrap();
        let ids: std::collections::BTreeSet<_> =
            requests.iter().map(|request| header(request, "x-touchstone-delivery")).collect();
        (ids.len() == 2).then(|| ids.into_iter().collect())
    })
    .await;
    for id in &ids {
        until("the failure", || async { app.store.delivery(id).await.unwrap().unwrap().last_error }).await;
    }
    first.end().await;
    receiver.reset().await;
    let strict = Serving::start(&app, |_| {}).await;
    for id in &ids {
        let given_up = until("the end", || async {
            app.clock.pass(60);
            app.store.delivery(id).await.unwrap().filter(|delivery| delivery.state == DeliveryState::GivenUp)
        })
        .await;
        assert!(given_up.last_error.unwrap().contains("webhooks may not lead"));
    }
    assert!(receiver.received_requests().await.unwrap().is_empty());
    strict.end().await;
}

#[tokio::test]
async fn a_server_ends_while_a_receiver_takes_its_time() {
    let receiver = MockServer::start().await;
    let slow = ResponseTemplate::new(200).set_delay(std::time::Duration::from_secs(10));
    Mock::given(method("POST")).respond_with(slow).mount(&receiver).await;
    let app = app().await;
    alert(&app, &receiver.uri(), json!({})).await;
    let serving = serve(&app).await;
    fail(&app).await;
    until("a try", || async { receiver.received_requests().await.unwrap().pop() }).await;
    let before = tokio::time::Instant::now();
    serving.end().await;
    assert!(before.elapsed() < std::time::Duration::from_secs(5));
}

#[tokio::test]
async fn a_held_call_and_its_decision_are_told_to_those_who_asked_for_it() {
    let receiver = MockServer::start().await;
    Mock::given(method("POST")).respond_with(ResponseTemplate::new(204)).mount(&receiver).await;
    let app = app().await;
    let events = json!({"condition": "", "events": ["approval.requested", "approval.decided"]});
    alert(&app, &receiver.uri(), events).await;
    alert(&app, &receiver.uri(), json!({"condition": "", "events": ["approval.decided"], "eval_id": "other"})).await;
    alert(&app, &receiver.uri(), json!({})).await;
    let serving = serve(&app).await;
    let held = app.held().await.new;
    let arrived = async |many: usize| {
        until("the messages", || async {
            let requests = receiver.received_requests().await.expect("requests");
            (requests.len() >= many).then_some(requests)
        })
        .await
    };
    let said: Value = serde_json::from_slice(&arrived(1).await[0].body).unwrap();
    assert_eq!((&said["event"], &said["approval"]["id"]), (&json!("approval.requested"), &json!(held.id)));
    assert_eq!((&said["approval"]["tool"], &said["approval"]["status"]), (&json!("refund"), &json!("pending")));
    let decision = json!({"decision": "deny", "args_hash": "sha256:a"});
    app.post(ADA, &format!("/v1/approvals/{}/decision", held.id), decision).await.expect(200);
    let requests = arrived(2).await;
    let said: Value = serde_json::from_slice(&requests[1].body).unwrap();
    assert_eq!((&said["event"], &said["approval"]["status"]), (&json!("approval.decided"), &json!("denied")));
    assert_eq!((requests.len(), &said["approval"]["by"]), (2, &json!("ada")));
    assert!(header(&requests[1], "x-touchstone-signature").starts_with("t="));
    serving.end().await;
}
