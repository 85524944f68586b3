//! The agent's task, and links from one scenario to others.

use scenario::evidence::Evidence;
use scenario::result::RowStatus::{Fail, Pass};
use serde_json::json;

use crate::test_app::{ADA, HELLO, TestApp, replicas};
use crate::web_hostile::{HOSTILE, end, require_harmless};
use crate::web_session::Browser;

/// A spec whose prompt and command have templates.
fn templated() -> String {
    let hostile = json!(HOSTILE);
    HELLO
        .replace("Say hello}", "'Say {{ params.word }} as number {{ replica }}'}\nsecrets: [TOKEN]")
        .replace("{type: noop}", "{type: cli, command: 'greet --as {{ params.word }} --token {{ secrets.TOKEN }}'}")
        + &format!("parallelism: {{matrix: {{word: [{hostile}]}}}}\n")
}

#[tokio::test]
async fn a_page_shows_what_the_agent_was_asked_and_how_it_was_run_but_no_secret() {
    let app = TestApp::new().await;
    let body = json!({"spec": templated(), "secrets": {"TOKEN": "swordfish-1"}});
    let id = app.post(ADA, "/v1/runs", body).await.expect(202)["experiment_id"].clone();
    let id = id.as_str().expect("an id");
    let browser = Browser::signed_in(&app, ADA).await;
    let listed = browser.get(&format!("/experiments/{id}")).await.text();
    let place = listed.split('"').find(|part| part.contains("/scenarios/")).expect("a scenario").replace("&amp;", "&");
    let before = browser.get(&place).await.text();
    assert!(before.contains("--token {{ secrets.TOKEN }}"), "{before}");
    end(&app, Fail, &Evidence { marker_key: Some("k1".to_owned()), ..Evidence::default() }).await;
    let page = browser.get(&place).await.text();
    require_harmless(&page);
    for words in [
        "Say &lt;script&gt;alert(1)&lt;/script&gt;",
        "as number 0",
        "<dt>Agent</dt><dd><code>cli</code></dd>",
        "greet --as &lt;script&gt;",
        "--token <mark class=\"redacted\">redacted: TOKEN</mark>",
    ] {
        assert!(page.contains(words), "{words} is not in {page}");
    }
    assert!(!page.contains("swordfish"), "{page}");
}

#[tokio::test]
async fn an_agent_that_acts_instead_of_the_specs_own_is_named() {
    let app = TestApp::new().await;
    let body = json!({"spec": HELLO, "agent": "oracle"});
    let id = app.post(ADA, "/v1/runs", body).await.expect(202)["experiment_id"].clone();
    let browser = Browser::signed_in(&app, ADA).await;
    let place = format!("/experiments/{}/scenarios/default-r0", id.as_str().expect("an id"));
    let page = browser.get(&place).await.text();
    assert!(page.contains("<dd><code>oracle, instead of the spec's own</code></dd>"), "{page}");
}

#[tokio::test]
async fn a_scenario_leads_to_its_replicas_and_to_others_that_did_not_pass() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(5)).await;
    for status in [Fail, Pass, Pass, Fail, Pass] {
        app.finish_one(status).await;
    }
    let browser = Browser::signed_in(&app, ADA).await;
    let place = |replica: u32| format!("/experiments/{id}/scenarios/default-r{replica}");
    let page = browser.get(&place(2)).await.text();
    let link = |replica: u32| format!("<a href=\"{}?run=1\">default-r{replica}</a>", place(replica));
    let (before, after) = (format!("before it </span>{}", link(0)), format!("after it </span>{}", link(3)));
    for part in [&before, &after, "aria-label=\"replica 3: flaky\"", "aria-label=\"replica 4: passed\""] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    let last = browser.get(&place(4)).await.text();
    assert!(last.contains(&format!("before it </span>{}", link(3))) && !last.contains("after it "), "{last}");
    let alone = app.finished(HELLO).await;
    let page = browser.get(&format!("/experiments/{alone}/scenarios/default-r0")).await.text();
    assert!(!page.contains("Replicas ") && !page.contains("before it "), "{page}");
}
