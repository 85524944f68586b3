//! Scenarios of an experiment, chosen by how they stand, in parts.

use scenario::result::RowStatus;
use store::{Clock as _, Completion, Numbers, RunId};

use crate::test_app::{ADA, TestApp, replicas, result};
use crate::web_session::Browser;

/// An experiment of 240 scenarios, of which 230 have ended: every tenth failed.
async fn large(app: &TestApp) -> String {
    let id = app.running(&replicas(240)).await;
    let run = RunId { experiment: id.parse().expect("an id"), number: 1 };
    let numbers = Numbers::of(&app.store, run).await.expect("numbers");
    for number in 0..230 {
        let held = app.claim().await.expect("a job");
        let status = if number % 10 == 3 { RowStatus::Fail } else { RowStatus::Pass };
        let result = result(&held, status);
        let completion = Completion { evidence: None, result: &result, traces: &[], at: app.clock.now() };
        app.store.complete(&held.lease, run, completion, &|all| numbers.score(all)).await.expect("kept");
    }
    id
}

/// Counts the scenarios that a page lists.
fn rows(page: &str) -> usize {
    let table = page.split("id=\"scenarios\"").nth(1).expect("a table");
    table.matches("<th class=\"scenario\"").count()
}

#[tokio::test]
async fn scenarios_are_chosen_by_how_they_stand_and_counted() {
    let app = TestApp::new().await;
    let id = large(&app).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let place = format!("/experiments/{id}");
    let page = browser.get(&place).await.text();
    let chip = |status: &str, words: &str| format!("?run=1&amp;status={status}#scenarios\">{words}</a>");
    for chip in [chip("failed", "failed 23"), chip("passed", "passed 207"), chip("unended", "not ended 10")] {
        assert!(page.contains(&chip), "{chip} is not in {page}");
    }
    assert!(!page.contains("status=flaky"), "what has none is not offered: {page}");
    assert!(!page.contains("status=missed"), "there is one way only in which scenarios did not pass: {page}");
    assert_eq!(rows(&browser.get(&format!("{place}?status=missed")).await.text()), 23);
    assert_eq!(rows(&page), 200);
    let failed = browser.get(&format!("{place}?status=failed")).await.text();
    assert_eq!(rows(&failed), 23);
    assert!(failed.contains("default-r223?run=1") && !failed.contains("default-r4?run=1"), "{failed}");
    assert!(failed.contains(&format!("data-part=\"{place}/part?run=1&amp;status=failed\"")), "{failed}");
    assert_eq!(rows(&browser.get(&format!("{place}/part?status=failed")).await.text()), 23);
    let unended = browser.get(&format!("{place}?status=unended")).await.text();
    assert!(rows(&unended) == 10 && unended.contains("default-r239?run=1"), "{unended}");
    assert_eq!(browser.get(&format!("{place}?status=%3Cb%3E")).await.status, 400);
}

#[tokio::test]
async fn parts_of_a_choice_follow_each_other_to_its_end() {
    let app = TestApp::new().await;
    let id = large(&app).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let place = format!("/experiments/{id}");
    let first = browser.get(&format!("{place}?status=passed")).await.text();
    assert!(first.contains("Scenarios 1 to 200 of 207"), "{first}");
    assert!(first.contains(&format!("rel=\"next\" href=\"{place}?run=1&amp;status=passed&amp;from=200#")), "{first}");
    for (query, words, many) in [
        ("?status=passed&from=200", "Scenarios 201 to 207 of 207", 7),
        ("?from=9999", "Scenarios 201 to 240 of 240", 40),
        ("?status=passed&from=9999", "Scenarios 201 to 207 of 207", 7),
    ] {
        let page = browser.get(&format!("{place}{query}")).await.text();
        assert!(page.contains(words) && !page.contains("Next →") && page.contains("← Before"), "{query}: {page}");
        assert_eq!(rows(&page), many, "{query}");
    }
}

#[tokio::test]
async fn what_did_not_pass_is_offered_again_only_when_there_is_something() {
    let app = TestApp::new().await;
    let id = app.finished(&replicas(2)).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/experiments/{id}")).await.text();
    assert!(page.contains("Run all again") && !page.contains("that did not pass again"), "{page}");
}
