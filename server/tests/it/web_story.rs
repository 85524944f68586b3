//! The story of a scenario: which moments are shown, and in which words.

use scenario::event::Event;
use scenario::evidence::{AuditEvent, Audited, Blob, Body, Evidence, Exchange, Journal, Overflow, OverflowCount};
use scenario::result::RowStatus;
use serde_json::{Value, json};
use store::{Clock as _, Demand, Held, NewEvent, NewWorker, Pulse, WorkerId};
use uuid::Uuid;

use crate::test_app::{ADA, HELLO, TestApp};
use crate::web_hostile::{end, exchange, hostile, require_harmless};
use crate::web_session::Browser;

/// Writes down what a worker told of a scenario, a second apart.
async fn tell(app: &TestApp, held: &Held, told: &[(&str, Value)]) {
    for (kind, body) in told {
        let (run, scenario, at) = (held.run, held.scenario.id.to_string(), app.clock.now());
        let event = NewEvent { run, scenario, attempt: 1, at, happened: Event::read(*kind, body.clone()) };
        app.store.note(&[event]).await.expect("noted");
        app.clock.pass(1);
    }
}

/// An ended scenario in which so many names were looked up that are there, and one that is not; where its page is.
async fn looked_up(app: &TestApp, many: usize) -> String {
    let id = app.running(HELLO).await;
    let dns = |name: String, answer: Option<&str>| {
        let (kind, answer) = ("A".to_owned(), answer.map(ToOwned::to_owned));
        Audited { at_ms: Some(1), event: AuditEvent::Dns { name, kind, answer } }
    };
    let found = (0..many).map(|number| dns(format!("db{number}."), Some("127.10.0.1")));
    let audit = Some(found.chain([dns("none".to_owned(), None)]).collect());
    let held = end(app, RowStatus::Fail, &Evidence { audit, ..Evidence::default() }).await;
    format!("/experiments/{id}/scenarios/{}", held.scenario.id)
}

#[tokio::test]
async fn lookups_of_names_that_are_there_are_left_out_until_they_are_asked_for() {
    let app = TestApp::new().await;
    let place = looked_up(&app, 24).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&place).await.text();
    assert!(page.contains("24 lookups of names that were found are not shown"), "{page}");
    assert!(page.contains("of none: there is no such name") && !page.contains("of db3."), "{page}");
    for query in ["?lookups=show", "?kind=network"] {
        let page = browser.get(&format!("{place}{query}")).await.text();
        assert!(page.contains("of db3.: 127.10.0.1") && !page.contains("are not shown"), "{query}: {page}");
    }
}

#[tokio::test]
async fn a_part_that_is_not_there_is_the_last_one_and_a_kind_that_is_not_there_is_said_to_be_none() {
    let app = TestApp::new().await;
    let place = looked_up(&app, 300).await;
    let browser = Browser::signed_in(&app, ADA).await;
    for from in ["200", "301", "99999"] {
        let page = browser.get(&format!("{place}?lookups=show&from={from}")).await.text();
        assert!(page.contains("201 to 301 of 301") && page.contains("of none: "), "{from}: {page}");
    }
    let page = browser.get(&format!("{place}?kind=bogus")).await.text();
    assert!(page.contains("No moment of this kind") && !page.contains("<ol class=\"story\""), "{page}");
}

#[tokio::test]
async fn a_setup_that_failed_ends_its_phase_and_no_agent_is_said_to_have_started() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let held = app.claim().await.expect("a job");
    let worker = WorkerId { data_dir: Uuid::from_u128(1), owner: Uuid::from_u128(2) };
    let (budget, version) = (Demand::default(), String::new());
    let new = NewWorker { id: worker, host: "build-7".to_owned(), control: String::new(), slots: 1, budget, version };
    app.store.register_worker(&new, &Pulse::default(), app.clock.now()).await.expect("there");
    let gone = WorkerId { data_dir: Uuid::from_u128(8), owner: Uuid::from_u128(9) };
    let told = [
        ("claimed", json!({"worker": worker.to_string()})),
        ("lost", json!({"worker": gone.to_string()})),
        ("phase_started", json!({"phase": "prepare"})),
    ];
    tell(&app, &held, &told).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let place = format!("/experiments/{id}/scenarios/{}", held.scenario.id);
    let page = browser.get(&place).await.text();
    assert!(page.contains("<strong>prepare</strong> <span class=\"quiet\">has begun</span>"), "{page}");
    assert!(page.contains("claimed <span class=\"quiet\">by worker build-7</span>"), "{page}");
    assert!(page.contains(&format!("by worker {gone}")), "one that is not known any more: {page}");
    let told = [
        ("phase_started", json!({"phase": "destroy"})),
        ("phase_ended", json!({"phase": "destroy", "ms": 3})),
        ("judged", json!({"status": "error"})),
    ];
    tell(&app, &held, &told).await;
    let page = browser.get(&place).await.text();
    assert!(page.contains("<strong>prepare</strong> <span class=\"bad\">was broken off</span>"), "{page}");
    assert!(page.contains("<rect class=\"failed\"") && page.contains("+2.00 s, took 1.00 s"), "{page}");
    assert!(page.contains("no agent started") && !page.contains("time since the agent started"), "{page}");
}

#[tokio::test]
async fn an_axis_begins_where_the_agent_did() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let held = app.claim().await.expect("a job");
    let told = [
        ("phase_started", json!({"phase": "prepare"})),
        ("phase_ended", json!({"phase": "prepare", "ms": 1000})),
        ("agent_started", json!({})),
        ("agent_ended", json!({"exit": "exit code 0", "ms": 1000})),
        ("judged", json!({"status": "pass"})),
    ];
    tell(&app, &held, &told).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}/scenarios/{}", held.scenario.id)).await.text();
    assert!(page.contains("From −2.00 s to +2.00 s, time since the agent started"), "{page}");
    assert!(page.contains("<text class=\"zero\" x=\"50.0%\" y=\"75%\">0</text>"), "{page}");
    assert!(page.contains("<line class=\"zero\" x1=\"500\" x2=\"500\""), "{page}");
}

#[tokio::test]
async fn moments_are_found_by_a_text_in_their_line_or_their_evidence() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let mut evidence = hostile();
    let orders = |number: u64| {
        let body = Body::Kept(Blob(format!("{{\"sku\": \"Lamp-{number}\"}}").into_bytes()));
        Exchange { body, ..exchange(&format!("/orders/{number}"), number) }
    };
    let exchanges = (0..500).map(orders).collect();
    evidence.journals = [("shop".to_owned(), Journal { exchanges, overflow: None })].into();
    let held = end(&app, RowStatus::Fail, &evidence).await;
    let told = [("note", json!({"text": "An odd thing"})), ("judged", json!({"status": "fail"}))];
    tell(&app, &held, &told).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let place = format!("/experiments/{id}/scenarios/{}", held.scenario.id);
    for (query, words, many) in [
        ("text=lamp-499", "1 moment with this text", 1),
        ("text=ORDERS%2F49", "11 moments with this text", 11),
        ("text=get+shop/orders/7&kind=http", "", 0),
        ("text=post+shop/orders/77&kind=http", "1 moment with this text", 1),
        ("text=odd+thing", "1 moment with this text", 1),
        ("text=odd+thing&kind=http", "No moment has this text", 0),
        ("text=%3Cscript%3Ealert", "moments with this text", 200),
        ("text=orders", "500 moments with this text", 200),
    ] {
        let page = browser.get(&format!("{place}?{query}")).await.text();
        assert!(page.contains(words), "{query}: {words} is not in {page}");
        assert_eq!(page.matches("<details id=\"moment-").count(), many, "{query}: {page}");
        require_harmless(&page);
    }
    let page = browser.get(&format!("{place}?text=orders&from=400&kind=http")).await.text();
    assert!(page.contains("401 to 500 of 500") && page.contains("value=\"orders\""), "{page}");
    assert!(page.contains("&amp;kind=http&amp;text=orders&amp;from=200#story"), "{page}");
}

#[tokio::test]
async fn a_request_to_a_mock_shows_all_that_was_written_down_of_it_and_of_its_answer() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let called = |path: &str, at_ms: u64, body: Option<&str>| {
        let (service, host, method) = (Some("shop".to_owned()), "shop".to_owned(), "POST".to_owned());
        let (path, response_body) = (path.to_owned(), body.map(ToOwned::to_owned));
        let event = AuditEvent::HttpCall { service, host, method, path, status: Some(500), response_body };
        Audited { at_ms: Some(at_ms), event }
    };
    let audit = vec![
        called("/a", 5, Some("first answer")),
        called("/b", 5, Some("between")),
        called("/a", 5, Some("{\"second\": \"<script>alert(1)</script>\"}")),
        called("/c", 6, None),
    ];
    let exchanges = vec![exchange("/a", 5), exchange("/b", 5), exchange("/a", 5), exchange("/c", 6), exchange("/d", 7)];
    let counts = vec![OverflowCount { method: "GET".to_owned(), path: None, count: 12 }];
    let journals = [("shop".to_owned(), Journal { exchanges, overflow: Some(Overflow { counts }) })].into();
    let outside = AuditEvent::HttpCall {
        service: None,
        host: "outside".to_owned(),
        method: "GET".to_owned(),
        path: "/x".to_owned(),
        status: None,
        response_body: None,
    };
    let audit = Some(audit.into_iter().chain([Audited { at_ms: Some(9), event: outside }]).collect());
    let held = end(&app, RowStatus::Fail, &Evidence { audit, journals, ..Evidence::default() }).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let place = format!("/experiments/{id}/scenarios/{}?kind=http", held.scenario.id);
    let page = browser.get(&place).await.text();
    require_harmless(&page);
    let moments: Vec<_> = page.split("<details id=\"moment-").skip(1).collect();
    for (moment, answer) in moments.iter().zip([
        "first answer",
        "between",
        "&quot;second&quot;: &quot;&lt;script&gt;",
        "<p class=\"part\">Response body</p><p class=\"quiet\">Empty.</p>",
        "Not written down; with <code>audit: {http_calls: true}</code> in the spec, it would be.",
        "none: it was refused",
    ]) {
        assert!(moment.contains(answer), "{answer} is not in {moment}");
    }
    for part in ["Request headers", "Request body", "Response status</p><p>500</p>"] {
        assert!(moments[0].contains(part), "{part} is not in {}", moments[0]);
    }
    let found = browser.get(&format!("{place}&text=FIRST+answer")).await.text();
    assert!(
        found.contains("moments with this text") && found.contains("shop/a") && !found.contains("shop/b"),
        "{found}"
    );
    assert!(page.contains("12 more requests to <code>shop</code> came after the last one that is kept"), "{page}");
}
