//! Cancelling, draining and releasing, at any moment.

use std::sync::atomic::Ordering;
use std::time::Duration;

use scenario::result::RowStatus;
use store::{AttemptOutcome, RunState};
use worker::{About, Notice};

use crate::fake::Act;
use crate::harness::{World, scenario, start, until};

databases![
    a_cancelled_run_ends_with_what_had_ended,
    a_cancelled_job_is_held_until_its_sandbox_is_gone,
    a_failure_while_a_run_is_cancelled_is_not_tried_again,
    draining_finishes_what_runs_and_takes_nothing_new,
    released_jobs_are_done_by_another_worker_and_nothing_has_failed,
    a_worker_that_is_told_to_cancel_ends_its_jobs_for_good,
    an_order_that_comes_before_the_first_look_is_obeyed,
    an_order_that_comes_at_the_end_is_obeyed,
    an_order_that_goes_further_counts,
    a_job_that_is_being_released_can_still_be_cancelled,
    a_worker_that_is_told_of_new_jobs_looks_at_once,
];

async fn a_cancelled_run_ends_with_what_had_ended(world: World) {
    let run = world.submit(4).await;
    world.fake.script(&scenario(1), [Act::Wait]);
    let working = start(world.worker_with(1, |config| config.lease = Duration::from_millis(900)));
    until("the second one runs", async || world.fake.attempts_of(&scenario(1)).len() == 1).await;
    world.cancel(run).await;
    working.ended().await;
    let kept = world.run(run).await;
    assert_eq!((kept.state, kept.ended, kept.reason.as_deref()), (RunState::Cancelled, 4, Some("by hand")));
    assert!(kept.score.is_some());
    let results = world.results(run).await;
    assert_eq!(results.iter().map(|result| result.scenario.id.as_str()).collect::<Vec<_>>(), [scenario(0)]);
    assert_eq!(world.fake.stopped().len(), 1);
    assert_eq!(world.fake.seen().len(), 2, "those that waited are not run");
    assert_eq!(world.events(run).await.last().map(String::as_str), Some("given_up"));
    assert!(matches!(world.notices().last(), Some(Notice::RunEnded { .. })));
}

async fn a_cancelled_job_is_held_until_its_sandbox_is_gone(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::WaitStubbornly]);
    let lease = Duration::from_millis(600);
    let working = start(world.worker_with(1, |config| config.lease = lease));
    until("it runs", async || world.fake.running() == 1).await;
    world.cancel(run).await;
    for _ in 0..4 {
        world.clock.advance(lease * 9 / 10);
        let renewed = store::Clock::now(&*world.clock) + lease * 8 / 10;
        until("it is renewed", async || world.store.expired(renewed).await.unwrap().is_empty()).await;
    }
    world.fake.open_gate();
    working.ended().await;
    // It came to an end before it could be stopped.
    assert_eq!(world.results(run).await[0].status, RowStatus::Pass);
}

async fn a_failure_while_a_run_is_cancelled_is_not_tried_again(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::BreakWhenStopped]);
    let working = start(world.worker_with(1, |config| config.lease = Duration::from_millis(900)));
    until("it runs", async || world.fake.running() == 1).await;
    world.cancel(run).await;
    working.ended().await;
    assert_eq!(world.run(run).await.state, RunState::Cancelled);
    assert_eq!(world.attempts(run).await[0].outcome, AttemptOutcome::Cancelled);
}

async fn draining_finishes_what_runs_and_takes_nothing_new(world: World) {
    let run = world.submit(3).await;
    world.fake.script(&scenario(0), [Act::Wait]);
    let working = start(world.worker(1));
    until("it runs", async || world.fake.running() == 1).await;
    working.control.drain();
    world.fake.open_gate();
    working.ended().await;
    assert_eq!(world.results(run).await.len(), 1);
    assert_eq!(world.run(run).await.state, RunState::Open);
    world.work(world.worker(2)).await;
    assert_eq!(world.run(run).await.state, RunState::Finished);
}

async fn released_jobs_are_done_by_another_worker_and_nothing_has_failed(world: World) {
    let run = world.submit(2).await;
    world.fake.script(&scenario(0), [Act::Wait]);
    world.fake.script(&scenario(1), [Act::BreakWhenStopped]);
    let attempts = |config: &mut worker::Config| {
        config.slots = 2;
        config.attempts = 1;
    };
    let working = start(world.worker_with(1, attempts));
    until("both run", async || world.fake.running() == 2).await;
    working.control.release();
    working.ended().await;
    let outcomes: Vec<_> = world.attempts(run).await.iter().map(|one| one.outcome).collect();
    assert_eq!(outcomes, [AttemptOutcome::Released, AttemptOutcome::Released]);
    world.work(world.worker_with(2, attempts)).await;
    assert!(world.results(run).await.iter().all(|result| result.status == RowStatus::Pass));
    assert_eq!(world.fake.attempts_of(&scenario(0)), [1, 2]);
}

async fn a_worker_that_is_told_to_cancel_ends_its_jobs_for_good(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::BreakWhenStopped]);
    let working = start(world.worker(1));
    until("it runs", async || world.fake.running() == 1).await;
    working.control.cancel();
    working.ended().await;
    assert_eq!(world.run(run).await.state, RunState::Cancelled);
    assert!(world.results(run).await.is_empty());
}

async fn an_order_that_comes_before_the_first_look_is_obeyed(world: World) {
    let run = world.submit(1).await;
    let worker = world.worker(1);
    worker.control().drain();
    world.work(worker).await;
    assert!(world.attempts(run).await.is_empty());
}

async fn an_order_that_comes_at_the_end_is_obeyed(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::Wait]);
    let mut worker = world.worker(1);
    worker.tick().await.unwrap();
    until("it runs", async || world.fake.running() == 1).await;
    let control = worker.control();
    let finishing = tokio::spawn(worker.finish());
    tokio::task::yield_now().await;
    control.release();
    tokio::time::timeout(Duration::from_secs(30), finishing).await.expect("it ends").unwrap();
    assert_eq!(world.attempts(run).await[0].outcome, AttemptOutcome::Released);
}

async fn an_order_that_goes_further_counts(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::BreakWhenStopped]);
    let mut worker = world.worker(1);
    let control = worker.control();
    worker.tick().await.unwrap();
    until("it runs", async || world.fake.running() == 1).await;
    control.cancel();
    control.release();
    worker.run_until_empty().await.unwrap();
    worker.finish().await;
    assert_eq!(world.run(run).await.state, RunState::Cancelled);
}

async fn a_job_that_is_being_released_can_still_be_cancelled(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::StopSlowly]);
    let mut worker = world.worker(1);
    worker.tick().await.unwrap();
    worker.control().release();
    until("it runs", async || world.fake.running() == 1).await;
    worker.tick().await.unwrap();
    until("it is stopping", async || world.fake.stopping.load(Ordering::SeqCst) == 1).await;
    worker.control().cancel();
    worker.tick().await.unwrap();
    world.fake.open_gate();
    worker.finish().await;
    assert_eq!(world.run(run).await.state, RunState::Cancelled);
    assert_eq!(world.attempts(run).await[0].outcome, AttemptOutcome::Cancelled);
}

async fn a_worker_that_is_told_of_new_jobs_looks_at_once(world: World) {
    let mut worker = world.worker_with(1, |config| config.poll = Duration::from_secs(3600));
    worker.tick().await.unwrap();
    let control = worker.control();
    let run = world.submit(1).await;
    // Also when it is told before it waits.
    control.wake();
    tokio::time::timeout(Duration::from_secs(30), worker.wait()).await.expect("it is woken");
    assert_eq!(worker.tick().await.unwrap().started, 1);
    worker.finish().await;
    let about = About { run, scenario: scenario(0), attempt: 1 };
    assert!(world.notices().contains(&Notice::Claimed { job: about }));
}
