//! Verdicts on a scenario's page.

use scenario::evidence::{Answer, Captured, CommandAnswer, Evidence, Exit};
use scenario::forbidden::ForbiddenResult;
use scenario::result::{InvariantResult, RowStatus, ScenarioResult};
use scenario::verdict::Verdict;
use store::{Clock as _, Completion, Numbers};

use crate::test_app::{ADA, HELLO, TestApp, result};
use crate::web_session::Browser;

/// The page of a scenario that was judged so.
async fn page(status: RowStatus, change: impl FnOnce(&mut ScenarioResult)) -> String {
    let app = TestApp::new().await;
    let id = app.running(HELLO).await;
    let held = app.claim().await.expect("a job");
    let mut judged = result(&held, status);
    change(&mut judged);
    let command = CommandAnswer {
        exit: Some(Exit::Code(7)),
        stdout: Captured::default(),
        stderr: Captured::default(),
        image_changes: Vec::new(),
    };
    let answers = judged.invariants.iter().map(|one| (one.name.clone(), vec![Answer::Command(command.clone())]));
    let evidence = Evidence { answers: answers.collect(), ..Evidence::default() };
    let completion = Completion { evidence: Some(&evidence), result: &judged, traces: &[], at: app.clock.now() };
    let numbers = Numbers::of(&app.store, held.run).await.expect("numbers");
    app.store.complete(&held.lease, held.run, completion, &|all| numbers.score(all)).await.expect("kept");
    Browser::signed_in(&app, ADA).await.get(&format!("/experiments/{id}/scenarios/default-r0")).await.text()
}

fn rule(name: &str, violated: bool) -> ForbiddenResult {
    let details = if violated { "wrote to `orders`" } else { "" };
    ForbiddenResult { rule: name.to_owned(), violated, details: details.to_owned() }
}

/// Where these words stand, one after the other.
#[track_caller]
fn require_order(page: &str, words: &[&str]) {
    let places: Vec<_> =
        words.iter().map(|words| page.find(words).unwrap_or_else(|| panic!("{words}: {page}"))).collect();
    assert!(places.is_sorted(), "{words:?} stand at {places:?}: {page}");
}

#[tokio::test]
async fn missed_invariants_come_first_with_their_evidence_opened() {
    let page = page(RowStatus::Fail, |judged| {
        let missed = judged.invariants[0].clone();
        let kept = InvariantResult { name: "kept".to_owned(), verdict: Verdict::passed(), ..missed.clone() };
        judged.invariants = vec![kept, missed];
    })
    .await;
    require_order(&page, &["id=\"invariants\"", "id=\"invariant-1\"", "id=\"invariant-0\""]);
    assert_eq!(page.matches("<details open><summary>Evidence").count(), 1, "{page}");
    assert_eq!(page.matches("<details><summary>Evidence").count(), 1, "{page}");
    assert!(page.contains("href=\"#invariant-1\""), "a reason leads to it: {page}");
}

#[tokio::test]
async fn a_broken_rule_is_said_once_and_notes_are_no_reasons() {
    let page = page(RowStatus::Fail, |judged| {
        judged.forbidden = vec![rule("db_writes_outside", true), rule("http_except", false)];
        judged.notes = vec!["the clock was the machine's".to_owned()];
    })
    .await;
    assert_eq!(page.matches("wrote to <code>orders</code>").count(), 1, "{page}");
    require_order(
        &page,
        &["id=\"why\"", "db_writes_outside", "http_except", "id=\"invariants\"", "id=\"use\"", "the clock was"],
    );
}

#[tokio::test]
async fn a_page_of_a_scenario_that_passed_begins_with_what_was_judged() {
    let page = page(RowStatus::Pass, |_| {}).await;
    require_order(&page, &["id=\"invariants\"", "No limit fired, and no rule is stated."]);
    assert!(!page.contains("<details open>"), "{page}");
}

#[tokio::test]
async fn an_agent_that_never_ran_has_no_numbers() {
    let page = page(RowStatus::Error, |judged| judged.wall_ms = 191).await;
    assert!(page.contains("<dt>Agent acted</dt><dd>–</dd>"), "{page}");
    assert!(page.contains("<span>Composite –</span>"), "{page}");
    assert!(page.contains("<dt>Scenario took</dt><dd>191 ms</dd>"), "{page}");
}
