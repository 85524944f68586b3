//! Tests of notifications about new jobs, instead of polling. Only Postgres notifies; a file is polled.

use std::time::Duration;

use store::{AttemptOutcome, RunState};

use crate::fake::Act;
use crate::harness::{World, scenario, start, until, worker_id};

/// Longer than a test waits for anything.
const NEVER: Duration = Duration::from_secs(3600);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_waits_is_told_of_new_jobs() {
    let Some(world) = World::postgres().await else { return };
    let first = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::Wait]);
    let working = start(world.worker_with(1, |config| {
        config.slots = 2;
        config.poll = NEVER;
    }));
    until("it runs", async || world.fake.running() == 1).await;
    let second = world.submit(1).await;
    until("the second one ended", async || world.run(second).await.state == RunState::Finished).await;
    assert_eq!(world.run(first).await.state, RunState::Open, "the first one is still being done");
    world.fake.open_gate();
    working.ended().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_is_told_at_once_that_a_run_is_cancelled() {
    let Some(world) = World::postgres().await else { return };
    let run = world.submit(2).await;
    world.fake.otherwise(Act::Wait);
    let working = start(world.worker_with(1, |config| {
        config.slots = 2;
        config.lease = NEVER;
    }));
    until("both run", async || world.fake.running() == 2).await;
    world.cancel(run).await;
    working.ended().await;
    assert_eq!(world.run(run).await.state, RunState::Cancelled);
    assert!(world.attempts(run).await.iter().all(|one| one.outcome == AttemptOutcome::Cancelled));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_is_given_back_is_taken_by_another_worker_at_once() {
    let Some(world) = World::postgres().await else { return };
    let run = world.submit(2).await;
    world.fake.otherwise(Act::Wait);
    let first = start(world.worker(1));
    until("it runs", async || world.fake.running() == 1).await;
    let second = start(world.worker_with(2, |config| {
        config.slots = 2;
        config.poll = NEVER;
    }));
    until("both run", async || world.fake.running() == 2).await;
    first.control.release();
    first.ended().await;
    until("it is taken again", async || world.attempts(run).await.len() == 3).await;
    let held = world.store.held().await.unwrap();
    assert!(held.iter().all(|held| held.worker == worker_id(2)), "{held:?}");
    world.fake.open_gate();
    second.ended().await;
    assert_eq!(world.run(run).await.state, RunState::Finished);
}
