//! Tests of workers that die in the middle: another one does their jobs, once.

use std::time::Duration;

use scenario::result::RowStatus;
use scenario::verdict::ErrorKind;
use store::{AttemptOutcome, RunId, RunState};
use worker::Notice;

use crate::fake::Act;
use crate::harness::{World, scenario, start, until, worker_id};

databases![
    a_job_whose_lease_is_not_renewed_is_done_by_another_worker,
    a_job_whose_worker_is_known_to_be_gone_is_done_at_once,
    a_worker_of_another_data_directory_is_not_known_to_be_gone,
    a_job_that_kills_every_worker_ends_as_an_error,
    a_cancelled_job_of_a_worker_that_is_gone_is_not_done_again,
];

/// A run whose only job was being done by worker 1, which was killed.
async fn killed_in_the_middle(world: &World) -> RunId {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::Wait]);
    let first = start(world.worker(1));
    until("it runs", async || world.fake.running() == 1).await;
    first.kill().await;
    until("it is gone", async || world.fake.running() == 0).await;
    run
}

async fn assert_done_by_the_second_attempt(world: &World, run: RunId) {
    let outcomes: Vec<_> = world.attempts(run).await.iter().map(|one| (one.number, one.outcome)).collect();
    assert_eq!(outcomes, [(1, AttemptOutcome::Lost), (2, AttemptOutcome::Judged)]);
    let kept = world.run(run).await;
    assert_eq!((kept.state, kept.ended), (RunState::Finished, 1));
    assert_eq!(world.results(run).await[0].status, RowStatus::Pass);
    let ended = world.notices().iter().filter(|notice| matches!(notice, Notice::Ended { .. })).count();
    assert_eq!(ended, 1);
}

async fn a_job_whose_lease_is_not_renewed_is_done_by_another_worker(world: World) {
    let run = killed_in_the_middle(&world).await;
    let second = start(world.worker(2));
    until("it waits for the first one", async || second_has_looked(&world)).await;
    assert!(!second.has_ended(), "the job is still held");
    assert_eq!(world.fake.attempts_of(&scenario(0)), [1]);
    world.clock.advance(Duration::from_secs(31));
    second.ended().await;
    assert_done_by_the_second_attempt(&world, run).await;
    assert!(world.events(run).await.contains(&"lost".to_owned()));
}

/// A worker sweeps when it looks for the first time.
fn second_has_looked(world: &World) -> bool {
    world.fake.sweeps.load(std::sync::atomic::Ordering::SeqCst) == 2
}

async fn a_job_whose_worker_is_known_to_be_gone_is_done_at_once(world: World) {
    let run = killed_in_the_middle(&world).await;
    world.peers.gone(worker_id(1).owner);
    world.work(world.worker(2)).await;
    assert_done_by_the_second_attempt(&world, run).await;
}

async fn a_worker_of_another_data_directory_is_not_known_to_be_gone(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::Wait]);
    let first = start(world.worker_with(1, |config| config.worker.data_dir = uuid::Uuid::from_u128(99)));
    until("it runs", async || world.fake.running() == 1).await;
    world.peers.gone(worker_id(1).owner);
    let mut second = world.worker(2);
    second.tick().await.unwrap();
    assert_eq!(world.attempts(run).await.len(), 1);
    assert_eq!(world.store.held().await.unwrap().len(), 1);
    world.fake.open_gate();
    first.ended().await;
    second.finish().await;
}

async fn a_job_that_kills_every_worker_ends_as_an_error(world: World) {
    let run = world.submit(1).await;
    world.fake.otherwise(Act::Wait);
    for number in 1..=3 {
        let working = start(world.worker(number));
        until("it runs", async || world.fake.attempts_of(&scenario(0)).len() as u128 == number).await;
        working.kill().await;
        world.peers.gone(worker_id(number).owner);
    }
    world.work(world.worker(4)).await;
    assert_eq!(world.fake.attempts_of(&scenario(0)), [1, 2, 3]);
    let error = world.results(run).await[0].error.clone().expect("it is an error");
    assert_eq!(error.kind, ErrorKind::Infrastructure);
    assert!(error.message.contains("3 times"), "{}", error.message);
    assert_eq!(world.run(run).await.state, RunState::Finished);
    let notices = world.notices();
    assert!(matches!(&notices[notices.len() - 2..], [Notice::Ended { .. }, Notice::RunEnded { .. }]));
}

async fn a_cancelled_job_of_a_worker_that_is_gone_is_not_done_again(world: World) {
    let run = killed_in_the_middle(&world).await;
    world.cancel(run).await;
    assert_eq!(world.run(run).await.state, RunState::Open);
    world.peers.gone(worker_id(1).owner);
    world.work(world.worker(2)).await;
    assert_eq!(world.run(run).await.state, RunState::Cancelled);
    assert_eq!(world.fake.attempts_of(&scenario(0)), [1]);
    assert!(world.results(run).await.is_empty());
}
