//! We fail: a job is tried again, as often as it may be.

use std::fs;
use std::sync::atomic::Ordering;
use std::time::Duration;

use scenario::result::RowStatus;
use scenario::verdict::ErrorKind;
use store::{AttemptOutcome, RunState};

use crate::fake::Act;
use crate::harness::{World, scenario, start, until};

databases![
    a_failure_of_ours_is_a_new_attempt_after_some_time,
    a_job_that_fails_too_often_ends_as_an_error_of_ours,
    what_another_attempt_would_not_change_is_not_tried_again,
    a_provider_that_fails_is_a_new_attempt_and_then_an_error_with_its_evidence,
    a_provider_that_refuses_us_is_not_tried_again,
    an_agent_that_passes_without_its_provider_has_passed,
    a_panic_is_a_failure_of_ours,
    a_panic_outside_the_sandbox_is_one_too,
    a_sandbox_that_ends_itself_is_no_job_that_nobody_wants,
    what_was_observed_outlives_a_disk_that_is_full_for_a_moment,
    what_cannot_be_kept_is_run_again_and_not_forgotten,
];

async fn a_failure_of_ours_is_a_new_attempt_after_some_time(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::Break, Act::Break, Act::Pass]);
    let mut worker = world.worker_with(1, |config| config.backoff = Duration::from_secs(1));
    for (failures, wait) in [(1, 1000), (2, 2000)] {
        assert_eq!(worker.tick().await.unwrap().started, 1);
        until("the attempt has failed", async || world.retried() == failures).await;
        world.clock.advance(Duration::from_millis(wait - 1));
        assert_eq!(worker.tick().await.unwrap().started, 0, "it is too early");
        world.clock.advance(Duration::from_millis(1));
    }
    worker.run_until_empty().await.unwrap();
    worker.finish().await;

    let outcomes: Vec<_> = world.attempts(run).await.iter().map(|one| (one.number, one.outcome)).collect();
    let expected =
        [(1, AttemptOutcome::Infrastructure), (2, AttemptOutcome::Infrastructure), (3, AttemptOutcome::Judged)];
    assert_eq!(outcomes, expected);
    assert!(
        world.attempts(run).await[0].message.as_deref().is_some_and(|message| message.contains("the disk is broken"))
    );
    assert_eq!(world.results(run).await[0].status, RowStatus::Pass);
    assert_eq!(world.events(run).await.iter().filter(|kind| *kind == "retrying").count(), 2);
}

async fn a_job_that_fails_too_often_ends_as_an_error_of_ours(world: World) {
    let run = world.submit(1).await;
    world.fake.otherwise(Act::Break);
    world.work(world.worker(1)).await;
    assert_eq!(world.fake.attempts_of(&scenario(0)), [1, 2, 3]);
    let result = &world.results(run).await[0];
    assert_eq!(result.status, RowStatus::Error);
    let error = result.error.as_ref().expect("it says why");
    assert_eq!(error.kind, ErrorKind::Infrastructure);
    assert!(error.message.contains("the disk is broken"));
    assert!(world.attempts(run).await.iter().all(|attempt| attempt.outcome == AttemptOutcome::Infrastructure));
    assert_eq!(world.run(run).await.state, RunState::Finished);
}

async fn what_another_attempt_would_not_change_is_not_tried_again(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::BreakForGood, Act::Pass]);
    world.work(world.worker(1)).await;
    assert_eq!(world.fake.attempts_of(&scenario(0)), [1]);
    assert_eq!(world.results(run).await[0].status, RowStatus::Error);
}

async fn a_provider_that_fails_is_a_new_attempt_and_then_an_error_with_its_evidence(world: World) {
    let run = world.submit(2).await;
    world.fake.script(&scenario(0), [Act::Outage, Act::Pass]);
    world.fake.script(&scenario(1), [Act::Outage, Act::Outage, Act::Outage]);
    world.work(world.worker(1)).await;
    let results = world.results(run).await;
    assert_eq!((results[0].status, results[1].status), (RowStatus::Pass, RowStatus::Error));
    let error = results[1].error.as_ref().expect("it says why");
    assert_eq!(error.kind, ErrorKind::Provider);
    assert!(error.message.contains("503"), "{error}");
    let attempts = world.attempts(run).await;
    let failed = attempts.iter().filter(|attempt| attempt.outcome == AttemptOutcome::Provider).count();
    let judged: Vec<_> = attempts.iter().filter(|attempt| attempt.outcome == AttemptOutcome::Judged).collect();
    assert_eq!((failed, judged.len()), (3, 2));
    for attempt in judged {
        assert!(world.store.evidence(attempt.job, attempt.number).await.unwrap().is_some());
    }
}

async fn a_provider_that_refuses_us_is_not_tried_again(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::Misconfigured, Act::Pass]);
    world.work(world.worker(1)).await;
    assert_eq!(world.fake.attempts_of(&scenario(0)), [1]);
    let results = world.results(run).await;
    assert_eq!(results[0].error.as_ref().map(|error| error.kind), Some(ErrorKind::ProviderConfig));
}

async fn an_agent_that_passes_without_its_provider_has_passed(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::PassInOutage]);
    world.work(world.worker(1)).await;
    assert_eq!(world.fake.attempts_of(&scenario(0)), [1]);
    assert_eq!(world.results(run).await[0].status, RowStatus::Pass);
}

async fn a_panic_is_a_failure_of_ours(world: World) {
    let run = world.submit(2).await;
    world.fake.script(&scenario(0), [Act::Panic, Act::Pass]);
    world.work(world.worker(1)).await;
    assert_eq!(world.fake.attempts_of(&scenario(0)), [1, 2]);
    assert!(world.results(run).await.iter().all(|result| result.status == RowStatus::Pass));
    let message = world.attempts(run).await[0].message.clone().unwrap();
    assert!(message.contains("the sandbox panics as it was told to"), "{message}");
}

async fn a_panic_outside_the_sandbox_is_one_too(world: World) {
    let run = world.submit(1).await;
    world.secrets.panics.store(1, Ordering::SeqCst);
    world.work(world.worker(1)).await;
    assert_eq!(world.fake.attempts_of(&scenario(0)), [2]);
    assert_eq!(world.results(run).await[0].status, RowStatus::Pass);
}

async fn a_sandbox_that_ends_itself_is_no_job_that_nobody_wants(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::CancelItself, Act::Pass]);
    world.work(world.worker(1)).await;
    assert_eq!(world.run(run).await.state, RunState::Finished);
    assert_eq!(world.results(run).await[0].status, RowStatus::Pass);
}

async fn what_was_observed_outlives_a_disk_that_is_full_for_a_moment(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::WaitStubbornly]);
    let working = start(world.worker(1));
    until("it runs", async || world.fake.running() == 1).await;
    let evidence = world.break_place();
    world.fake.open_gate();
    until("it is judged", async || world.events(run).await.iter().any(|kind| kind == "judged")).await;
    fs::remove_file(&evidence).unwrap();
    working.ended().await;
    assert_eq!(world.fake.attempts_of(&scenario(0)), [1]);
    let [attempt] = &world.attempts(run).await[..] else { panic!("there is one attempt") };
    assert_eq!(attempt.outcome, AttemptOutcome::Judged);
    assert!(world.store.evidence(attempt.job, 1).await.unwrap().is_some());
}

async fn what_cannot_be_kept_is_run_again_and_not_forgotten(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::WaitStubbornly, Act::Pass]);
    let working = start(world.worker(1));
    until("it runs", async || world.fake.running() == 1).await;
    let evidence = world.break_place();
    world.fake.open_gate();
    until("it is told", async || world.has_problem("could not be kept")).await;
    assert!(!working.has_ended(), "the job is still there");
    fs::remove_file(&evidence).unwrap();
    world.clock.advance(Duration::from_secs(31));
    working.ended().await;
    let outcomes: Vec<_> = world.attempts(run).await.iter().map(|one| one.outcome).collect();
    assert_eq!(outcomes, [AttemptOutcome::Lost, AttemptOutcome::Judged]);
    assert_eq!(world.results(run).await[0].status, RowStatus::Pass);
}
