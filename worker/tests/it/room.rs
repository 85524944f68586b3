//! Limits of work at once: slots, budgets, lanes, limits of a run, and the disk.

use std::sync::atomic::Ordering;
use std::time::Duration;

use store::{Demand, Lane, RunState};
use uuid::Uuid;

use crate::fake::Act;
use crate::harness::{Submission, World, start, until};

/// Starts the jobs that fit, and returns the number of those that run.
async fn started(world: &World, worker: &mut worker::Worker) -> usize {
    let running = worker.tick().await.unwrap().running;
    until("all of them run", async || world.fake.running() == running).await;
    running
}

async fn finish(world: &World, mut worker: worker::Worker) {
    world.fake.open_gate();
    worker.run_until_empty().await.unwrap();
    worker.finish().await;
}

#[tokio::test]
async fn there_are_never_more_jobs_than_slots() {
    let world = World::sqlite().await;
    world.fake.otherwise(Act::Wait);
    world.submit(7).await;
    let mut worker = world.worker_with(1, |config| config.slots = 3);
    assert_eq!(started(&world, &mut worker).await, 3);
    assert_eq!(worker.tick().await.unwrap().started, 0);
    finish(&world, worker).await;
    assert_eq!(world.fake.peak(), 3);
    assert_eq!(world.fake.seen().len(), 7);
}

#[tokio::test]
async fn jobs_share_the_processors_and_the_memory() {
    for demand in [Demand { cpu_milli: 1000, memory: 0 }, Demand { cpu_milli: 0, memory: 1000 }] {
        let world = World::sqlite().await;
        world.fake.otherwise(Act::Wait);
        world.submit_with(Submission { replicas: 5, demand, ..Submission::default() }).await;
        let mut worker = world.worker_with(1, |config| {
            config.slots = 10;
            config.budget = Demand { cpu_milli: 2500, memory: 2500 };
        });
        assert_eq!(started(&world, &mut worker).await, 2);
        finish(&world, worker).await;
        assert_eq!(world.fake.peak(), 2);
    }
}

#[tokio::test]
async fn a_job_that_is_larger_than_the_machine_runs_alone_and_nobody_overtakes_it() {
    let world = World::sqlite().await;
    world.fake.otherwise(Act::Wait);
    let demand = |memory| Demand { cpu_milli: 0, memory };
    let submission = |spec_id, memory| Submission { spec_id, demand: demand(memory), ..Submission::default() };
    let small = world.submit_with(submission("first", 10)).await;
    world.clock.advance(Duration::from_millis(1));
    let large = world.submit_with(submission("large", 1000)).await;
    world.clock.advance(Duration::from_millis(1));
    let last = world.submit_with(submission("last", 10)).await;
    let mut worker = world.worker_with(1, |config| {
        config.slots = 10;
        config.budget = Demand { cpu_milli: 100, memory: 100 };
    });
    assert_eq!(started(&world, &mut worker).await, 1, "the last one waits behind the large one");
    finish(&world, worker).await;
    let order: Vec<_> = world.fake.seen().into_iter().map(|seen| seen.identity.experiment).collect();
    assert_eq!(order, [small, large, last].map(|run| run.experiment.to_string()));
    assert_eq!(world.fake.peak(), 1);
}

#[tokio::test]
async fn a_run_may_say_how_many_of_its_jobs_are_done_at_once() {
    let world = World::sqlite().await;
    world.fake.otherwise(Act::Wait);
    let limited = Submission { replicas: 5, at_once: Some(2), ..Submission::default() };
    world.submit_with(limited).await;
    world.submit_with(Submission { spec_id: "other", replicas: 2, ..Submission::default() }).await;
    let mut worker = world.worker_with(1, |config| config.slots = 8);
    assert_eq!(started(&world, &mut worker).await, 4, "two of the first run, and both of the second");
    finish(&world, worker).await;
    assert_eq!(world.fake.seen().len(), 7);
}

#[tokio::test]
async fn a_worker_takes_no_jobs_of_another_lane() {
    let world = World::sqlite().await;
    let own = Lane::Own(Uuid::from_u128(7));
    let theirs = world.submit_with(Submission { lane: own, ..Submission::default() }).await;
    let shared = world.submit_with(Submission { spec_id: "shared", ..Submission::default() }).await;
    world.work(world.worker(1)).await;
    assert_eq!(world.run(shared).await.state, RunState::Finished);
    assert!(world.attempts(theirs).await.is_empty());
    world.work(world.worker_with(2, |config| config.lane = own)).await;
    assert_eq!(world.run(theirs).await.state, RunState::Finished);
}

#[tokio::test]
async fn a_worker_gives_no_jobs_of_another_lane_back() {
    let world = World::sqlite().await;
    let own = Lane::Own(Uuid::from_u128(7));
    let run = world.submit_with(Submission { lane: own, ..Submission::default() }).await;
    world.fake.otherwise(Act::Wait);
    let working = start(world.worker_with(2, |config| config.lane = own));
    until("it runs", async || world.fake.running() == 1).await;
    world.clock.advance(Duration::from_secs(31));
    world.work(world.worker(1)).await;
    assert_eq!(world.store.held().await.unwrap().len(), 1);
    world.fake.open_gate();
    working.ended().await;
    assert_eq!(world.attempts(run).await.len(), 1);
}

#[tokio::test]
async fn nothing_is_started_without_room_on_the_disk() {
    let world = World::sqlite().await;
    let run = world.submit(1).await;
    world.fake.free.store(1 << 20, Ordering::SeqCst);
    let mut worker = world.worker(1);
    worker.run_until_empty().await.unwrap();
    assert!(world.has_problem("only 1 MiB of disk are free, and 1024 MiB are needed"));
    assert!(world.attempts(run).await.is_empty());
    world.fake.free.store(u64::MAX, Ordering::SeqCst);
    assert!(worker.tick().await.unwrap().blocked, "the disk is not looked at all the time");
    world.clock.advance(Duration::from_secs(10));
    worker.run_until_empty().await.unwrap();
    worker.finish().await;
    assert_eq!(world.run(run).await.state, RunState::Finished);
}

#[tokio::test]
async fn a_full_disk_is_told_once_and_a_clock_that_is_set_back_does_not_keep_it_full() {
    let world = World::sqlite().await;
    let run = world.submit(1).await;
    world.fake.free.store(0, Ordering::SeqCst);
    let mut worker = world.worker(1);
    for _ in 0..3 {
        worker.tick().await.unwrap();
        world.clock.advance(Duration::from_secs(10));
    }
    assert_eq!(world.notices().len(), 1);
    world.fake.free.store(u64::MAX, Ordering::SeqCst);
    // Before it last looked, and after the job was submitted.
    world.clock.set_back(Duration::from_secs(15));
    assert_eq!(worker.tick().await.unwrap().started, 1);
    worker.finish().await;
    assert_eq!(world.run(run).await.state, RunState::Finished);
}
