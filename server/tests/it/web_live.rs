//! Pages of what is being run: they are told when there is something new, and ask for the part that changes.

use axum::body::Body;
use http_body_util::BodyExt as _;
use scenario::event::Event;
use scenario::result::RowStatus;
use serde_json::{Value, json};
use store::{Clock as _, Completion, Held, NewEvent, Numbers, RunId};

use crate::test_app::{ADA, ADMIN, BOB, HELLO, TestApp, replicas, result};
use crate::web_session::Browser;

/// Notes that something happened in a scenario that is being run.
async fn note(app: &TestApp, held: &Held, kind: &str, body: Value) {
    let event = NewEvent {
        run: held.run,
        scenario: held.scenario.id.to_string(),
        attempt: held.lease.epoch,
        at: app.clock.now(),
        happened: Event::read(kind, body),
    };
    app.store.note(&[event]).await.expect("noted");
}

/// Reads the next event of a stream; `None` at its end.
async fn told(stream: &mut Body) -> Option<String> {
    let piece = stream.frame().await?.expect("a piece").into_data().expect("data");
    Some(String::from_utf8(piece.to_vec()).expect("text"))
}

#[tokio::test]
async fn a_page_is_told_when_there_is_something_new() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let mut stream = browser.stream(&format!("/experiments/{id}/live?run=1")).await;
    assert_eq!(told(&mut stream).await.as_deref(), Some("event: changed\ndata: 0\n\n"), "it may be older");
    let held = app.claim().await.expect("a job");
    note(&app, &held, "agent_started", json!({})).await;
    assert_eq!(told(&mut stream).await.as_deref(), Some("event: changed\ndata: 0\n\n"));
    app.complete(&held, RowStatus::Pass).await;
    assert_eq!(told(&mut stream).await.as_deref(), Some("event: done\ndata: 1\n\n"));
    assert_eq!(told(&mut stream).await, None);
}

#[tokio::test]
async fn the_page_of_a_scenario_shows_how_far_it_is_and_then_what_came_of_it() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(2)).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let place = format!("/experiments/{id}/scenarios/default-r0");
    let page = browser.get(&place).await.text();
    let (live, part) = (format!("{place}/live?run=1"), format!("{place}/part?run=1"));
    assert!(page.contains("</span>waiting</span>") && page.contains("Nothing has happened yet."), "{page}");
    for attribute in [format!("data-live=\"{live}&amp;"), format!("data-part=\"{part}&amp;")] {
        assert!(page.contains(&attribute), "{attribute} is not in {page}");
    }
    let held = app.claim().await.expect("a job");
    note(&app, &held, "phase_started", json!({"phase": "prepare"})).await;
    let begun = browser.get(&part).await.text();
    assert!(!begun.contains("<html") && begun.contains("</span>running</span>"), "{begun}");
    assert!(begun.contains("<strong>prepare</strong> <span class=\"quiet\">has begun</span>"), "{begun}");
    note(&app, &held, "phase_ended", json!({"phase": "prepare", "ms": 12})).await;
    note(&app, &held, "agent_started", json!({})).await;
    let acting = browser.get(&part).await.text();
    assert!(acting.contains("12 ms") && acting.contains("agent started") && !acting.contains("has begun"), "{acting}");
    app.complete(&held, RowStatus::Fail).await;
    let ended = browser.get(&place).await.text();
    assert!(ended.contains("Why it did not pass") && !ended.contains("data-live"), "{ended}");
}

#[tokio::test]
async fn the_page_of_a_scenario_hears_of_its_own_news_until_it_ends() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(2)).await;
    let (first, second) = (app.claim().await.expect("a job"), app.claim().await.expect("a job"));
    let browser = Browser::signed_in(&app, ADA).await;
    let place = format!("/experiments/{id}/scenarios/{}/live?run=1", second.scenario.id);
    let mut stream = browser.stream(&place).await;
    assert_eq!(told(&mut stream).await.as_deref(), Some("event: changed\ndata: 0\n\n"));
    let others = async {
        note(&app, &first, "agent_started", json!({})).await;
        app.complete(&first, RowStatus::Pass).await;
        // Meanwhile the stream looks several times.
        for _ in 0..20 {
            app.until_waiting(1).await;
        }
    };
    tokio::select! {
        news = told(&mut stream) => panic!("it was told of another one: {news:?}"),
        () = others => {}
    }
    note(&app, &second, "agent_started", json!({})).await;
    assert_eq!(told(&mut stream).await.as_deref(), Some("event: changed\ndata: 0\n\n"));
    app.complete(&second, RowStatus::Pass).await;
    assert_eq!(told(&mut stream).await.as_deref(), Some("event: done\ndata: 1\n\n"));
    assert_eq!(told(&mut stream).await, None);
    drop(stream);
    app.until_waiting(0).await;
    assert_eq!(Browser::signed_in(&app, BOB).await.get(&place).await.status, 403);
}

#[tokio::test]
async fn the_page_of_a_scenario_that_will_not_be_run_is_told_so() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let place = format!("/experiments/{id}/scenarios/default-r0");
    let mut stream = browser.stream(&format!("{place}/live?run=1")).await;
    assert_eq!(told(&mut stream).await.as_deref(), Some("event: changed\ndata: 0\n\n"));
    app.post_empty(ADA, &format!("/v1/experiments/{id}/cancel")).await;
    assert_eq!(told(&mut stream).await.as_deref(), Some("event: done\ndata: 0\n\n"));
    let page = browser.get(&place).await.text();
    assert!(page.contains("</span>not run</span>") && !page.contains("data-live"), "{page}");
}

/// Counts how often all results of a run were assembled.
async fn reports(app: &TestApp) -> u64 {
    let metrics = app.get(ADMIN, "/metrics").await.text();
    let line = metrics.lines().find_map(|line| line.strip_prefix("touchstone_reports_total "));
    line.expect("a number").parse().expect("a number")
}

#[tokio::test]
async fn refreshing_a_page_puts_results_together_once_for_each_scenario_that_ends() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(3)).await;
    let browsers = [Browser::signed_in(&app, ADA).await, Browser::signed_in(&app, ADMIN).await];
    let part = format!("/experiments/{id}/part?run=1&from=0");
    for ended in 0..3 {
        let held = app.claim().await.expect("a job");
        for _ in 0..5 {
            note(&app, &held, "note", json!({"text": "goes on"})).await;
            for browser in &browsers {
                let shown = browser.get(&part).await.text();
                assert!(shown.contains(&format!("{ended} of 3 scenarios have ended")), "{shown}");
                assert!(shown.contains(&format!("replica {ended}: running")), "{shown}");
            }
        }
        assert_eq!(reports(&app).await, ended + 1, "what did not change is remembered");
        app.complete(&held, RowStatus::Fail).await;
    }
    let page = browsers[0].get(&format!("/experiments/{id}")).await.text();
    assert!(page.contains("replica 2: failed") && page.contains("<a href=\"#grid\">0 %</a>"), "{page}");
    assert_eq!(reports(&app).await, 3, "the numbers of a run that ended are kept with it");
}

#[tokio::test]
async fn the_page_of_a_large_run_is_told_once_more_when_its_numbers_can_be_new() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(230)).await;
    let run = RunId { experiment: id.parse().expect("an id"), number: 1 };
    let numbers = Numbers::of(&app.store, run).await.expect("numbers");
    for _ in 0..220 {
        let held = app.claim().await.expect("a job");
        let result = result(&held, RowStatus::Pass);
        let completion = Completion { evidence: None, result: &result, traces: &[], at: app.clock.now() };
        app.store.complete(&held.lease, run, completion, &|all| numbers.score(all)).await.expect("kept");
    }
    let browser = Browser::signed_in(&app, ADA).await;
    let (part, live) = (format!("/experiments/{id}/part?run=1&from=0"), format!("/experiments/{id}/live?run=1"));
    let mut stream = browser.stream(&live).await;
    assert_eq!(told(&mut stream).await.as_deref(), Some("event: changed\ndata: 220\n\n"));
    let before = (browser.get(&part).await, reports(&app).await);
    app.finish_one(RowStatus::Fail).await;
    assert_eq!(told(&mut stream).await.as_deref(), Some("event: changed\ndata: 221\n\n"));
    assert_eq!(told(&mut stream).await.as_deref(), Some("event: changed\ndata: 221\n\n"), "once more");
    let after = (browser.get(&part).await.text(), reports(&app).await);
    assert!(before.0.text().contains("100 %") && after.0.contains("99.5 %"), "{}", after.0);
    assert_eq!(after.1, before.1 + 1);
}
