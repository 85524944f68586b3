//! Pages of an experiment that is ended early.

use scenario::result::RowStatus;

use crate::test_app::{ADA, TestApp, replicas};
use crate::web_session::{Browser, OWN};

#[tokio::test]
async fn an_experiment_that_is_being_ended_says_what_will_not_be_run() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(5)).await;
    app.finish_one(RowStatus::Pass).await;
    let held = app.claim().await.expect("a job that is being done");
    let browser = Browser::signed_in(&app, ADA).await;
    let place = format!("/experiments/{id}");
    assert!(browser.get(&place).await.text().contains("End it early"));
    let token = browser.token(&place).await;
    assert_eq!(browser.post(&format!("{place}/cancel"), &[("token", &token)], &[OWN]).await.status, 303);
    for place in [&place, &format!("{place}/part?run=1&from=0")] {
        let page = browser.get(place).await.text();
        for words in [
            "</span>ending</span>",
            "It is being ended early",
            "1 scenario will be stopped soon, 3 will not be run",
            "replica 1: running",
            "replica 2: not run",
            "<span class=\"sign\" aria-hidden=\"true\">–</span>not run</span>",
        ] {
            assert!(page.contains(words), "{words} is not in {page}");
        }
        for words in ["End it early", "waiting", "have ended"] {
            assert!(!page.contains(words), "{words} is in {page}");
        }
    }
    let still = browser.get(&format!("{place}/scenarios/{}", held.scenario.id)).await.text();
    assert!(still.contains("</span>running</span>") && still.contains("data-live"), "{still}");
    let other = browser.get(&format!("{place}/scenarios/default-r4")).await.text();
    assert!(other.contains("</span>not run</span>") && !other.contains("data-live"), "{other}");
    app.complete(&held, RowStatus::Pass).await;
    let page = browser.get(&place).await.text();
    for words in ["</span>cancelled</span>", "It was ended early", "<strong>3 not run</strong>", "Run all again"] {
        assert!(page.contains(words), "{words} is not in {page}");
    }
}

#[tokio::test]
async fn a_scenario_that_was_not_run_says_so_and_nothing_else() {
    let app = TestApp::new().await;
    let id = app.running(&replicas(2)).await;
    app.post_empty(ADA, &format!("/v1/experiments/{id}/cancel")).await.expect(202);
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}/scenarios/default-r0")).await.text();
    assert!(page.contains("It was not run: the experiment was ended early."), "{page}");
    assert!(!page.contains("Nothing has happened yet") && !page.contains("What it used"), "{page}");
}
