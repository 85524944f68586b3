//! Tests of leases: renewed while a job is being done, and lost.

use std::time::Duration;

use scenario::result::RowStatus;
use store::{AttemptOutcome, Clock as _, RunState};
use worker::Notice;

use crate::fake::Act;
use crate::harness::{World, scenario, start, until, worker_id};

databases![
    a_long_job_is_held_for_many_times_its_lease,
    a_lost_lease_stops_its_sandbox,
    what_a_worker_found_that_was_thought_dead_does_not_count,
    a_job_that_its_own_worker_takes_again_counts_twice_as_long_as_it_is_there_twice,
    a_job_that_its_own_worker_took_again_can_still_be_released,
    what_was_kept_stays_when_it_is_kept_again,
    a_clock_that_is_set_back_stops_no_search_for_the_gone,
];

/// Long enough for a busy machine, and short enough to wait for.
const LEASE: Duration = Duration::from_millis(900);

async fn a_long_job_is_held_for_many_times_its_lease(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::Wait]);
    let first = start(world.worker_with(1, |config| config.lease = LEASE));
    until("it runs", async || world.fake.running() == 1).await;
    let mut second = world.worker_with(2, |config| config.lease = LEASE);
    for _ in 0..6 {
        world.clock.advance(LEASE * 9 / 10);
        let renewed = world.clock.now() + LEASE * 8 / 10;
        until("it is renewed", async || world.store.expired(renewed).await.unwrap().is_empty()).await;
        assert_eq!(second.tick().await.unwrap().started, 0);
    }
    world.fake.open_gate();
    first.ended().await;
    second.finish().await;
    assert_eq!(world.attempts(run).await.len(), 1);
    assert_eq!(world.results(run).await[0].status, RowStatus::Pass);
}

async fn a_lost_lease_stops_its_sandbox(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::Wait, Act::Wait]);
    let first = start(world.worker_with(1, |config| config.lease = LEASE));
    until("it runs", async || world.fake.running() == 1).await;
    // Worker 2 is wrong about it, but it cannot know.
    world.peers.gone(worker_id(1).owner);
    let second = start(world.worker(2));
    until("the first one is stopped", async || world.fake.stopped().iter().any(|one| one.attempt == 1)).await;
    until("only the second one is left", async || world.fake.running() == 1).await;
    world.fake.open_gate();
    first.ended().await;
    second.ended().await;
    let outcomes: Vec<_> = world.attempts(run).await.iter().map(|one| one.outcome).collect();
    assert_eq!(outcomes, [AttemptOutcome::Lost, AttemptOutcome::Judged]);
    let given_up = |notice: &Notice| matches!(notice, Notice::GivenUp { job, .. } if job.attempt == 1);
    assert!(world.notices().iter().any(given_up));
}

async fn what_a_worker_found_that_was_thought_dead_does_not_count(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::WaitStubbornly, Act::Fail]);
    let first = start(world.worker(1));
    until("it runs", async || world.fake.running() == 1).await;
    world.clock.advance(Duration::from_secs(31));
    world.work(world.worker(2)).await;
    let ended = world.run(run).await;
    assert_eq!(ended.state, RunState::Finished);
    world.fake.open_gate();
    first.ended().await;
    let stored = world.store.scenarios(run).await.unwrap();
    assert_eq!(stored[0].result.as_ref().map(|result| result.status), Some(RowStatus::Fail));
    assert_eq!(stored[0].source.map(|(_, attempt)| attempt), Some(2));
    assert_eq!(world.run(run).await, ended);
    let outcomes: Vec<_> = world.attempts(run).await.iter().map(|one| one.outcome).collect();
    assert_eq!(outcomes, [AttemptOutcome::Lost, AttemptOutcome::Judged]);
}

async fn a_job_that_its_own_worker_takes_again_counts_twice_as_long_as_it_is_there_twice(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::WaitStubbornly, Act::WaitStubbornly]);
    let mut worker = world.worker_with(1, |config| config.slots = 2);
    worker.tick().await.unwrap();
    until("it runs", async || world.fake.running() == 1).await;
    // Somebody else finds it, and gives it back.
    world.clock.advance(Duration::from_secs(31));
    let mut second = world.worker(2);
    second.control().drain();
    second.tick().await.unwrap();
    assert_eq!(worker.tick().await.unwrap().running, 2);
    world.fake.open_gate();
    worker.run_until_empty().await.unwrap();
    worker.finish().await;
    second.finish().await;
    let outcomes: Vec<_> = world.attempts(run).await.iter().map(|one| one.outcome).collect();
    assert_eq!(outcomes, [AttemptOutcome::Lost, AttemptOutcome::Judged]);
}

async fn a_job_that_its_own_worker_took_again_can_still_be_released(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::Wait, Act::Wait]);
    let mut worker = world.worker_with(1, |config| {
        config.slots = 2;
        config.lease = LEASE;
    });
    worker.tick().await.unwrap();
    until("it runs", async || world.fake.running() == 1).await;
    let mut second = world.worker(2);
    second.control().drain();
    world.peers.gone(worker_id(1).owner);
    second.tick().await.unwrap();
    worker.tick().await.unwrap();
    until("the first attempt is stopped", async || world.fake.stopped().len() == 1).await;
    until("the second attempt runs", async || world.fake.attempts_of(&scenario(0)).len() == 2).await;
    worker.wait().await;
    worker.control().release();
    worker.run_until_empty().await.unwrap();
    worker.finish().await;
    second.finish().await;
    let outcomes: Vec<_> = world.attempts(run).await.iter().map(|one| one.outcome).collect();
    assert_eq!(outcomes, [AttemptOutcome::Lost, AttemptOutcome::Released]);
}

async fn what_was_kept_stays_when_it_is_kept_again(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::WaitStubbornly]);
    let working = start(world.worker(1));
    until("it runs", async || world.fake.running() == 1).await;
    let lease = world.store.held().await.unwrap().remove(0).lease;
    world.fake.open_gate();
    working.ended().await;
    let evidence = world.store.evidence(lease.job, 1).await.unwrap().unwrap();
    let result = world.results(run).await.remove(0);
    let numbers = store::Numbers::of(&world.store, run).await.unwrap();
    let completion =
        store::Completion { evidence: Some(&evidence), result: &result, traces: &[], at: world.clock.now() };
    let kept = world.store.complete(&lease, run, completion, &numbers).await.unwrap();
    assert_eq!(kept, store::Kept::Stale);
    assert_eq!(world.store.evidence(lease.job, 1).await.unwrap().unwrap(), evidence);
}

async fn a_clock_that_is_set_back_stops_no_search_for_the_gone(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::Wait]);
    let mut second = world.worker(2);
    second.control().drain();
    second.tick().await.unwrap();
    let first = start(world.worker(1));
    until("it runs", async || world.fake.running() == 1).await;
    first.kill().await;
    world.peers.gone(worker_id(1).owner);
    world.clock.set_back(Duration::from_secs(3600));
    second.tick().await.unwrap();
    assert_eq!(world.attempts(run).await[0].outcome, AttemptOutcome::Lost);
    second.finish().await;
}
