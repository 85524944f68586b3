//! The page of calls that wait for a person.

use axum::body::Body;
use http_body_util::BodyExt as _;
use store::ApprovalStatus;

use crate::test_app::{ADA, ADA_READS, BOB, HELLO, TestApp};
use crate::web_session::{Browser, OWN};

async fn told(stream: &mut Body) -> String {
    let piece = stream.frame().await.expect("an event").expect("a piece").into_data().expect("data");
    String::from_utf8(piece.to_vec()).expect("text")
}

#[tokio::test]
async fn the_page_shows_the_call_its_context_the_rule_and_how_much_time_is_left() {
    let app = TestApp::new().await;
    let held = app.held().await.new;
    app.clock.pass(40);
    let page = Browser::signed_in(&app, ADA).await.get("/approvals").await.text();
    for part in [
        "<code>refund</code>",
        "<code>amount</code> is above 100 &lt;i&gt;",
        "<dt>Amount</dt>",
        "<dt>To &lt;b&gt;</dt>",
        "&lt;script&gt;x",
        "data-deadline=\"2023-11-14T22:18:20Z\">4 min 20 s</time> left",
        "then it is refused",
        "<code>large_refund</code>",
        "name=\"args_hash\" value=\"sha256:a\"",
        "value=\"approve\">Approve</button>",
        "Approvals<span id=\"held\"> (1<span class=\"visually-hidden\"> to decide</span>)</span>",
        "data-live=\"/approvals/live\"",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    assert!(page.contains(&format!("/experiments/{}/scenarios/default-r0?run=1", held.run.experiment)));
    assert!(!page.contains("<script>x") && !page.contains("<i>"), "{page}");
}

#[tokio::test]
async fn a_form_decides_and_the_call_is_listed_as_decided() {
    let app = TestApp::new().await;
    let id = app.held().await.new.id;
    let browser = Browser::signed_in(&app, ADA).await;
    let token = browser.token("/approvals").await;
    let fields = [("token", token.as_str()), ("args_hash", "sha256:a"), ("note", "ok <b>"), ("decision", "deny")];
    let answer = browser.post(&format!("/approvals/{id}/decision"), &fields, &[OWN]).await;
    assert_eq!((answer.status.as_u16(), answer.header("location")), (303, "/approvals"));
    let decided = app.store.approval(&id).await.expect("read").expect("an approval");
    assert_eq!((decided.status, decided.decision.expect("a decision").by.as_str()), (ApprovalStatus::Denied, "ada"));
    let page = browser.get("/approvals").await.text();
    assert!(page.contains("No call waits for a person.") && page.contains("<td>denied</td>"), "{page}");
    assert!(page.contains("ok &lt;b&gt;") && page.contains("<span id=\"held\"></span>"), "{page}");
    let again = browser.post(&format!("/approvals/{id}/decision"), &fields, &[OWN]).await;
    assert_eq!(again.status, 409);
    assert!(again.text().contains("denied already, by ada"), "{}", again.text());
}

#[tokio::test]
async fn a_decision_needs_a_form_of_this_session_the_hash_and_a_key_that_may_write() {
    let app = TestApp::new().await;
    let id = app.held().await.new.id;
    let (browser, place) = (Browser::signed_in(&app, ADA).await, format!("/approvals/{id}/decision"));
    let token = browser.token("/approvals").await;
    let good = [("token", token.as_str()), ("args_hash", "sha256:a"), ("decision", "approve")];
    assert_eq!(browser.post(&place, &good, &[]).await.status, 403, "nobody says where it comes from");
    let elsewhere = [("sec-fetch-site", "cross-site")];
    assert_eq!(browser.post(&place, &good, &elsewhere).await.status, 403);
    let forged = [("token", "x"), ("args_hash", "sha256:a"), ("decision", "approve")];
    assert_eq!(browser.post(&place, &forged, &[OWN]).await.status, 403);
    let other = [("token", token.as_str()), ("args_hash", "sha256:b"), ("decision", "approve")];
    assert_eq!(browser.post(&place, &other, &[OWN]).await.status, 412);
    for key in [ADA_READS, BOB] {
        let browser = Browser::signed_in(&app, key).await;
        let token = browser.token("/approvals").await;
        let fields = [("token", token.as_str()), ("args_hash", "sha256:a"), ("decision", "approve")];
        assert_eq!(browser.post(&place, &fields, &[OWN]).await.status, 403, "{key}");
    }
    let reads = Browser::signed_in(&app, ADA_READS).await.get("/approvals").await.text();
    assert!(reads.contains("<code>refund</code>") && !reads.contains("Approve</button>"), "{reads}");
    assert!(Browser::signed_in(&app, BOB).await.get("/approvals").await.text().contains("No call waits"));
    let left = app.store.approval(&id).await.expect("read").expect("an approval");
    assert_eq!(left.status, ApprovalStatus::Pending);
}

#[tokio::test]
async fn the_page_is_told_of_news_and_asks_for_the_part_that_changes() {
    let app = TestApp::new().await;
    let experiment = app.running(HELLO).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let mut stream = browser.stream("/approvals/live").await;
    assert_eq!(told(&mut stream).await, "event: changed\ndata: 0\n\n");
    app.hold(&experiment, 0).await;
    assert_eq!(told(&mut stream).await, "event: changed\ndata: 1\n\n");
    let part = browser.get("/approvals/part").await.text();
    assert!(part.starts_with("<span id=\"held\"> (1") && part.contains("<div id=\"live\">"), "{part}");
    assert!(!part.contains("<html"), "{part}");
    app.clock.pass(300);
    assert_eq!(told(&mut stream).await, "event: changed\ndata: 0\n\n");
    assert!(browser.get("/approvals").await.text().contains("<td>expired</td>"));
}

#[tokio::test]
async fn the_pages_of_its_experiment_and_scenario_say_that_a_call_waits() {
    let app = TestApp::new().await;
    let id = app.held().await.new.run.experiment.to_string();
    let browser = Browser::signed_in(&app, ADA).await;
    let places = [format!("/experiments/{id}"), format!("/experiments/{id}/scenarios/default-r0")];
    let hint = "A call waits for a person: <a href=\"/approvals\">decide</a>";
    for place in &places {
        assert!(browser.get(place).await.text().contains(hint), "{place}");
    }
    app.clock.pass(300);
    for place in &places {
        assert!(!browser.get(place).await.text().contains(hint), "{place}");
    }
}
