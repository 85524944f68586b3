//! The pages, as a browser without scripts gets them.

use scenario::event::Event;
use scenario::evidence::{AuditEvent, Audited, Captured, Evidence, Journal};
use scenario::result::RowStatus;
use serde_json::json;
use store::{Clock as _, Demand, NewEvent, NewWorker, Pulse, WorkerId};
use uuid::Uuid;

use crate::test_app::{ADA, ADMIN, BOB, HELLO, TestApp, replicas};
use crate::web_hostile::{end, exchange, hostile, require_harmless};
use crate::web_session::{Browser, OWN};

#[tokio::test]
async fn the_history_shows_filters_and_goes_on() {
    let app = TestApp::new().await;
    let tagged = HELLO.replace("id: hello", "id: tagged\ntags: [nightly]");
    let other = app.finished(&tagged).await;
    for _ in 0..51 {
        app.finished(HELLO).await;
        app.clock.pass(1);
    }
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get("/experiments").await.text();
    assert_eq!(page.matches("<tr>").count(), 51, "50 and the head");
    assert!(page.contains("Pass rate of hello, newest 100 %") && !page.contains(&other), "{page}");
    let next = page.split("rel=\"next\" href=\"").nth(1).expect("more").split('"').next().expect("a place");
    assert!(browser.get(&next.replace("&amp;", "&")).await.text().contains(&other), "the rest");
    assert!(page.contains("<datalist id=\"known-specs\"><option value=\"hello\"></option><option value=\"tagged\">"));
    assert!(page.contains("<datalist id=\"known-tags\"><option value=\"nightly\"></option></datalist>"), "{page}");
    let foreign = Browser::signed_in(&app, BOB).await.get("/experiments").await.text();
    assert!(!foreign.contains("nightly"), "tags of others are nobody's business: {foreign}");
    let nothing = browser.get("/experiments?tag=none").await.text();
    assert!(nothing.contains("No experiment matches these filters."), "{nothing}");
    for (query, many) in [
        ("tag=nightly", 1),
        ("spec=tagged", 1),
        ("text=TAGG", 1),
        ("status=failed", 0),
        ("status=passed&tag=nightly", 1),
        ("since=2023-11-14&until=2023-11-14&tag=nightly", 1),
        ("since=2023-11-15", 0),
        ("spec=%3Cscript%3Ealert(1)%3C/script%3E", 0),
    ] {
        let page = browser.get(&format!("/experiments?{query}")).await.text();
        assert_eq!(page.matches("<tr>").count().saturating_sub(1), many, "{query}: {page}");
        require_harmless(&page);
    }
}

#[tokio::test]
async fn an_experiment_is_named_when_that_says_more_than_its_spec() {
    let app = TestApp::new().await;
    let named = app.finished(HELLO).await;
    let plain = app.post(ADA, "/v1/runs", json!({"spec": HELLO})).await.expect(202)["experiment_id"].clone();
    let plain = plain.as_str().expect("an id");
    let page = Browser::signed_in(&app, ADA).await.get("/experiments").await.text();
    let link = |id: &str, words: &str| format!("<a href=\"/experiments/{id}\">{words}</a>");
    let with_id = format!("{} <span class=\"quiet\">{}</span>", link(&named, "mine"), &named[..13]);
    for part in [with_id, link(plain, &plain[..13])] {
        assert!(page.contains(&part), "{part} is not in {page}");
    }
}

#[tokio::test]
async fn an_experiment_shows_what_fails_where() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(3)).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}")).await.text();
    assert!(page.contains(&format!("data-live=\"/experiments/{id}/live?run=1\"")), "{page}");
    assert!(page.contains("0 of 3 scenarios have ended") && page.contains("End it early"), "{page}");
    app.finish_one(RowStatus::Pass).await;
    app.claim().await.expect("a job that is being done");
    let part = browser.get(&format!("/experiments/{id}/part?run=1&from=0")).await.text();
    assert!(part.contains("1 of 3 scenarios have ended") && !part.contains("<html"), "{part}");
    assert!(part.contains("greeted, all, replica 0: passed"), "{part}");
    assert!(part.contains("replica 1: running") && part.contains("replica 2: waiting"), "{part}");
}

#[tokio::test]
async fn every_number_of_an_experiment_leads_to_what_it_was_made_from() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(2)).await;
    app.finish_one(RowStatus::Pass).await;
    app.finish_one(RowStatus::Fail).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}")).await.text();
    for part in [
        "<a href=\"#grid\">50 %</a>",
        "95 %: 9.5 % to 90.5 %",
        "greeted, all, replica 1: failed",
        "there is no hello.txt",
        "default-r1?run=1#invariant-0",
        "0 failed, <a href",
        "&amp;status=flaky#scenarios\">1 flaky</a>, 0 errors",
        "?run=1&amp;format=junit",
        "?run=1&amp;format=markdown",
        "/export?run=1",
        "Run 1 that did not pass again",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    assert!(!page.contains("data-live"), "it has ended");
    let place = |words: &str| page.find(words).expect("a place");
    assert!(place("Run all again") < place("id=\"grid\""), "what can be done is reached before a thousand signs");
    let all = browser.get(&format!("/v1/experiments/{id}/export?run=1")).await;
    assert_eq!(all.header("content-disposition"), format!("attachment; filename=\"{id}-all.json\""));
    let token = browser.token(&format!("/experiments/{id}")).await;
    let fields = [("token", token.as_str()), ("which", "failed")];
    let again = browser.post(&format!("/experiments/{id}/rerun"), &fields, &[OWN]).await;
    let place = again.header("location").to_owned();
    assert!(browser.get(&place).await.text().contains("0 of 1 scenario has ended"), "{place}");
}

#[tokio::test]
async fn a_story_says_in_words_what_happened() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let dns = |name: &str, kind: &str, answer: Option<&str>| {
        let (name, kind, answer) = (name.to_owned(), kind.to_owned(), answer.map(ToOwned::to_owned));
        Audited { at_ms: Some(1), event: AuditEvent::Dns { name, kind, answer } }
    };
    let (service, table, op) = ("db".to_owned(), "orders".to_owned(), "INSERT".to_owned());
    let write = Audited { at_ms: Some(2), event: AuditEvent::DbWrite { service, table, op, rows: 1 } };
    let lookups = [dns("db", "A", Some("127.10.0.1")), dns("db", "AAAA", Some("127.10.0.1")), dns("none", "A", None)];
    let audit = Some(lookups.into_iter().chain([write]).collect());
    let held = end(&app, RowStatus::Fail, &Evidence { audit, ..Evidence::default() }).await;
    for (kind, body) in [
        ("agent_ended", json!({"exit": "exit code 0", "ms": 584})),
        ("judged", json!({"status": "fail", "composite": 0.0})),
    ] {
        let (run, scenario, at) = (held.run, held.scenario.id.to_string(), app.clock.now());
        let event = NewEvent { run, scenario, attempt: 1, at, happened: Event::read(kind, body) };
        app.store.note(&[event]).await.expect("noted");
    }
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}/scenarios/{}?lookups=show", held.scenario.id)).await.text();
    for words in [
        "asked for A of db: 127.10.0.1",
        "asked for AAAA of db: it has none",
        "asked for A of none: there is no such name",
        "db: INSERT orders, 1 row<",
        "agent ended <span class=\"quiet\">exit code 0 after 584 ms</span>",
        "composite 0.00",
    ] {
        assert!(page.contains(words), "{words} is not in {page}");
    }
}

#[tokio::test]
async fn a_long_story_is_told_in_parts_and_a_long_output_is_cut() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let exchanges = (0..10_000).map(|number| exchange(&format!("/{number}"), number)).collect();
    let mut evidence = hostile();
    evidence.journals = [("mail".to_owned(), Journal { exchanges, overflow: None })].into();
    evidence.agent.stdout = Captured::from("x".repeat(5_000_000).as_str());
    let held = end(&app, RowStatus::Fail, &evidence).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let place = format!("/experiments/{id}/scenarios/{}", held.scenario.id);
    let first = browser.get(&place).await.text();
    assert_eq!(first.matches("<details id=\"moment-").count(), 200);
    assert!(first.len() < 2_000_000, "{}", first.len());
    assert!(first.contains("5.0 MB") && first.contains("4.9 MB are left out here"));
    let last = browser.get(&format!("{place}?kind=http&from=9900")).await.text();
    assert_eq!(last.matches("<details id=\"moment-").count(), 100);
    assert!(last.contains("/9999") && !last.contains("Next →"));
}

#[tokio::test]
async fn a_spec_shows_its_source_versions_and_trends() {
    let app = TestApp::new().await;
    app.finished(HELLO).await;
    let evil = HELLO.replace("Says hello", "'<script>alert(1)</script>'");
    app.running(&evil).await;
    app.finish(RowStatus::Fail).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get("/specs/hello").await.text();
    require_harmless(&page);
    for part in [
        "<span class=\"tag\">v2</span>",
        "id=\"L4\"",
        "<span class=\"key\">version</span>",
        "Pass rate <strong>0 %</strong>",
        "aria-label=\"2023-11-14 22:13: 100 %\"",
        "Flakiest invariants",
        "Valid, without remarks",
        "/specs/hello?version=1&amp;owner=ada",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    assert!(browser.get("/specs/hello?version=1&owner=ada").await.text().contains("Says hello"));
    assert_eq!(browser.get("/specs/hello?version=9").await.status, 404);
    assert!(browser.get("/specs").await.text().contains("/specs/hello?owner=ada"));
    let admin = Browser::signed_in(&app, ADMIN).await;
    assert!(admin.get("/specs/hello").await.text().contains("v2"), "who sees all finds it");
}

#[tokio::test]
async fn workers_and_what_waits_are_shown() {
    let app = TestApp::new().await;
    app.running(&replicas(2)).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get("/workers").await.text();
    assert!(page.contains("Now 2 scenarios wait: no worker is there") && page.contains("hello"), "{page}");
    for (running, reason, lead, takes) in [
        (4, "no room: 4 of 4 slots are busy", "All 4 slots are busy; 2 wait.", "<td>when a slot is free</td>"),
        (1, "draining", "no worker takes anything (host: draining)", "<td>no: draining</td>"),
    ] {
        let new = NewWorker {
            id: WorkerId { data_dir: Uuid::from_u128(9), owner: Uuid::from_u128(1) },
            host: "host".to_owned(),
            control: String::new(),
            slots: 4,
            budget: Demand::default(),
            version: "1".to_owned(),
        };
        let pulse = Pulse { running, free_disk: 1 << 30, reason: Some(reason.to_owned()), problems: Vec::new() };
        app.store.register_worker(&new, &pulse, app.clock.now()).await.expect("registered");
        let page = browser.get("/workers").await.text();
        assert!(page.contains(lead) && page.contains(takes), "{lead}: {page}");
    }
}

#[tokio::test]
async fn capabilities_are_a_grid_over_the_newest_runs() {
    let app = TestApp::new().await;
    let browser = Browser::signed_in(&app, ADA).await;
    assert!(browser.get("/coverage").await.text().contains("No spec names a capability"));
    let tagged = |id: &str, tags: &str| HELLO.replace("id: hello", &format!("id: {id}\ncapabilities: [{tags}]"));
    app.finished(&tagged("paid", "refund.once, search")).await;
    app.running(&tagged("waits", "refund.refused, search")).await;
    let page = browser.get("/coverage").await.text();
    require_harmless(&page);
    for part in
        ["2/3 capabilities (66.7 %)", "<h2>refund <span class=\"quiet\">1 of 2</span></h2>", "<h2>Others ", "failing: "]
    {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    assert!(browser.get("/specs").await.text().contains("href=\"/coverage\""));
    let foreign = Browser::signed_in(&app, BOB).await.get("/coverage").await.text();
    assert!(foreign.contains("No spec names a capability"), "specs of others are nobody's business: {foreign}");
}

#[tokio::test]
async fn evidence_that_is_gone_leaves_the_verdicts() {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let mut evidence = hostile();
    evidence.agent.stdout = Captured::from("x".repeat(100_000).as_str());
    let held = end(&app, RowStatus::Fail, &evidence).await;
    let key = format!("{id}/1/{}/1/evidence.json", held.scenario.id);
    app.store.artifacts().delete(&key).await.expect("removed");
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}/scenarios/{}", held.scenario.id)).await;
    assert_eq!(page.status, 200);
    assert!(page.text().contains("cannot be read: it is gone") && page.text().contains("greeted"), "{}", page.text());
    let scenario = format!("/v1/experiments/{id}/scenarios/{}", held.scenario.id);
    for place in [format!("{scenario}/evidence"), format!("{scenario}/artifacts/1/evidence.json")] {
        let answer = app.get(ADA, &place).await;
        assert_eq!(answer.status, 410, "{}", answer.text());
        assert!(answer.text().contains("is gone: it was removed"), "{}", answer.text());
    }
    // The verdicts stay, and the loss is named.
    let results = app.get(ADA, &format!("/v1/experiments/{id}")).await.expect(200);
    let whole = app.get(ADA, &scenario).await.expect(200);
    assert_eq!(results["caveats"][0]["kind"], "lost_evidence");
    for caveat in [&results["scenarios"][0]["caveats"][0], &whole["result"]["caveats"][0]] {
        let (kind, scenario, why) = (&caveat["kind"], &caveat["scenario"], &caveat["why"]);
        assert_eq!((kind, scenario), (&json!("lost_evidence"), &json!(held.scenario.id)));
        assert_eq!(why, "it is gone from where it was kept", "and not where that is");
    }
}

#[tokio::test]
async fn files_beside_pages_never_change() {
    let app = TestApp::new().await;
    let page = app.get("", "/sign-in").await.text();
    for name in ["style.css", "page.js", "icon.svg"] {
        let place = page.split('"').find(|part| part.starts_with(&format!("/assets/{name}?v="))).expect("a place");
        let file = app.get("", place).await;
        assert_eq!(file.status, 200);
        assert!(file.header("cache-control").contains("immutable"));
    }
}
