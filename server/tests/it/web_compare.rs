//! Two experiments side by side in a browser: the verdict is that of `touchstone compare`.

use scenario::regression::RunComparison;
use scenario::result::RowStatus::{self, Fail, Pass};
use serde_json::{Value, json};
use store::RunId;

use crate::test_app::{ADA, ADMIN, BOB, HELLO, TestApp, replicas};
use crate::web_hostile::require_harmless;
use crate::web_session::Browser;

/// An experiment of eight scenarios of which half must pass, which end like this.
async fn ended(app: &TestApp, statuses: [RowStatus; 8]) -> String {
    let id = app.running(&format!("{}scoring: {{min_pass_rate: 0.5}}\n", replicas(8))).await;
    for status in statuses {
        app.finish_one(status).await;
    }
    id
}

/// Compares two experiments as the command line does.
async fn comparison(app: &TestApp, before: &str, now: &str) -> RunComparison {
    let mut reports = Vec::new();
    for id in [before, now] {
        let experiment = id.parse().expect("an id");
        let run = app.store.run(RunId { experiment, number: 1 }).await.expect("a run");
        let experiment = app.store.experiment(experiment).await.expect("an experiment");
        reports.push(store::report(&app.store, &experiment, &run).await.expect("a report"));
    }
    RunComparison::of(before, &reports[..1], &reports[1..])
}

#[tokio::test]
async fn a_page_and_the_api_say_the_sentence_of_the_command_line() {
    let app = TestApp::new().await;
    let five = ended(&app, [Pass, Fail, Pass, Fail, Pass, Fail, Pass, Pass]).await;
    let six = ended(&app, [Fail, Pass, Pass, Fail, Pass, Pass, Pass, Pass]).await;
    let none = ended(&app, [Fail; 8]).await;
    let browser = Browser::signed_in(&app, ADA).await;
    for (before, now, class, row) in [
        (&five, &six, "good", ""),
        (&six, &five, "unsure", "insufficient evidence"),
        (&six, &none, "bad", "regressed"),
        (&none, &six, "good", "improved"),
    ] {
        let page = browser.get(&format!("/compare?a={before}&b={now}")).await.text();
        let comparison = comparison(&app, before, now).await;
        let sentence = comparison.summary();
        let body = json!({"baseline_id": before, "candidate_id": now});
        let answer = app.post(ADA, "/v1/experiments/compare", body).await.expect(200);
        assert_eq!((&answer["summary"], &answer["regressed"]), (&json!(sentence), &json!(comparison.regressed())));
        let changes = |findings: &Value| {
            findings.as_array().expect("findings").iter().map(|one| one["change"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(changes(&answer["findings"]), changes(&json!(comparison.findings)));
        let notice = format!("<p class=\"notice {class}\" role=\"status\"><strong>{sentence}</strong>");
        assert!(page.contains(&notice), "{notice} is not in {page}");
        assert!(page.contains(row), "{row} is not in {page}");
        for line in comparison.told_sums() {
            assert!(page.contains(&line), "{line} is not in {page}");
        }
        // Each row leads to the scenarios of its cell on both sides.
        if !row.is_empty() {
            for id in [before, now] {
                let place = format!("/experiments/{id}/scenarios/default-r7?run=1");
                assert!(page.contains(&place), "{place} is not in {page}");
            }
        }
    }
    let page = browser.get(&format!("/compare?a={five}&b={six}")).await.text();
    for part in ["62.5 %", "75 %", "+12.5 points", "Scenarios that stand differently", "greeted"] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    let scenario = format!("<a href=\"/experiments/{six}/scenarios/default-r0?run=1\">default-r0</a>");
    assert!(page.contains(&scenario), "{scenario} is not in {page}");
}

#[tokio::test]
async fn experiments_of_two_specs_have_no_verdict() {
    let app = TestApp::new().await;
    let hello = app.finished(HELLO).await;
    let other = app.finished(&HELLO.replace("id: hello", "id: other")).await;
    let changed = app.finished(&HELLO.replace("weight: 1", "weight: 0.5")).await;
    let browser = Browser::signed_in(&app, ADA).await;
    let page = browser.get(&format!("/compare?a={hello}&b={other}")).await.text();
    assert!(page.contains("No verdict: these are experiments of two specs") && page.contains("Pass rate"), "{page}");
    assert!(!page.contains("notice good") && !page.contains("notice bad"), "{page}");
    let page = browser.get(&format!("/compare?a={hello}&b={changed}")).await.text();
    assert!(page.contains("1 cell compared: 0 regressed") && page.contains("different versions of the spec"), "{page}");
    let page = browser.get(&format!("/compare?a={hello}&b={hello}")).await.text();
    assert!(page.contains("Both are the same run"), "{page}");
}

#[tokio::test]
async fn what_was_entered_stays_when_there_is_no_such_experiment() {
    let app = TestApp::new().await;
    let ended = app.finished(HELLO).await;
    let open = app.running(HELLO).await;
    let browser = Browser::signed_in(&app, ADA).await;
    for (before, now, status, marked) in [
        ("nothing", ended.as_str(), 404, "a-problem"),
        (ended.as_str(), "%3Cscript%3Ealert(1)%3C/script%3E", 404, "b-problem"),
        (ended.as_str(), open.as_str(), 409, "b-problem"),
        ("nothing", "nowhere", 404, "a-problem"),
    ] {
        let answer = browser.get(&format!("/compare?a={before}&b={now}")).await;
        let page = answer.text();
        assert_eq!(answer.status, status, "{page}");
        assert!(page.contains(&format!("aria-describedby=\"{marked}\"")) && page.contains("aria-invalid"), "{page}");
        for value in [before, now].into_iter().filter(|value| !value.contains('%')) {
            assert!(page.contains(&format!("value=\"{value}\"")), "{value} is lost: {page}");
        }
        require_harmless(&page);
    }
    let page = browser.get(&format!("/compare?b={ended}")).await.text();
    assert!(page.contains("what was before") && page.contains(&format!("<option value=\"{ended}\">")), "{page}");
    assert!(!Browser::signed_in(&app, BOB).await.get("/compare").await.text().contains(&ended), "those of others");
    assert!(Browser::signed_in(&app, ADMIN).await.get("/compare").await.text().contains(&ended), "who sees all");
}
