//! Tests of workers as services: they register themselves, work until they are asked to end, and outlive their store's
//! silence.

use std::sync::atomic::Ordering;
use std::time::Duration;

use scenario::result::RowStatus;
use store::{RunState, Worker as WorkerRow};
use worker::Notice;

use crate::fake::Act;
use crate::harness::{World, scenario, serve, until, worker_id};

databases![
    a_service_tells_that_it_is_there_and_why_it_takes_nothing,
    a_service_goes_on_when_its_queue_is_empty_and_ends_when_it_is_asked_to,
    jobs_that_go_on_for_too_long_while_draining_are_given_back,
    released_jobs_are_done_by_another_worker,
    the_next_job_that_does_not_fit_is_named,
    a_sweep_comes_at_the_start_and_on_a_schedule,
    jobs_wait_for_an_engine_that_is_away_and_none_of_them_fails,
    a_job_that_breaks_although_the_engine_is_there_ends,
    what_is_needed_and_cannot_be_asked_for_is_asked_for_again,
];

async fn row(world: &World, number: u128) -> WorkerRow {
    world.store.worker(worker_id(number)).await.unwrap().expect("a worker")
}

async fn until_reason(world: &World, number: u128, reason: Option<&str>) {
    until(&format!("{reason:?}"), async || {
        let row = world.store.worker(worker_id(number)).await.unwrap();
        // A worker registers before its first look when that takes long; it knows nothing of the disk then.
        let has_looked = |row: &WorkerRow| reason.is_some() || row.pulse.free_disk > 0;
        row.is_some_and(|row| has_looked(&row) && row.pulse.reason.as_deref() == reason)
    })
    .await;
}

async fn a_service_tells_that_it_is_there_and_why_it_takes_nothing(world: World) {
    world.fake.otherwise(Act::Wait);
    let serving = serve(world.service_with(1, |config| config.budget.memory = 8 << 30));
    until_reason(&world, 1, None).await;
    let told = row(&world, 1).await;
    assert_eq!((told.new.host.as_str(), told.new.control.as_str()), ("here", "http://127.0.0.1:1"));
    assert_eq!((told.new.slots, told.new.version.as_str(), told.new.budget.memory), (2, "1.2.3", 8 << 30));
    until("it tells of its disk", async || row(&world, 1).await.pulse.free_disk > 0).await;
    world.submit(2).await;
    until_reason(&world, 1, Some("no room: 2 of 2 slots are busy")).await;
    assert_eq!(row(&world, 1).await.pulse.running, 2);
    let before = row(&world, 1).await.seen_at;
    world.clock.advance(Duration::from_secs(1));
    until("it is heard of again", async || row(&world, 1).await.seen_at > before).await;
    serving.control.drain();
    until_reason(&world, 1, Some("draining")).await;
    // Somebody tidied up too early.
    world.store.worker_left(worker_id(1)).await.unwrap();
    until_reason(&world, 1, Some("draining")).await;
    world.fake.open_gate();
    serving.ended().await;
    assert_eq!(world.store.worker(worker_id(1)).await.unwrap(), None, "it went in good order");
}

async fn a_service_goes_on_when_its_queue_is_empty_and_ends_when_it_is_asked_to(world: World) {
    let first = world.submit(2).await;
    let serving = serve(world.service_with(1, |_| ()));
    until("the run ends", async || world.run(first).await.state == RunState::Finished).await;
    let second = world.submit(2).await;
    until("the next run ends too", async || world.run(second).await.state == RunState::Finished).await;
    assert!(!serving.has_ended());
    serving.control.drain();
    serving.ended().await;
}

async fn jobs_that_go_on_for_too_long_while_draining_are_given_back(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::Wait, Act::Pass]);
    let serving = serve(world.service_with(1, |config| {
        let service = config.service.as_mut().expect("a service");
        service.drain = Some(Duration::from_millis(50));
    }));
    until("it runs", async || world.fake.running() == 1).await;
    serving.control.drain();
    serving.ended().await;
    assert!(world.has_problem("are given back"));
    assert_eq!(world.run(run).await.ended, 0);
    world.work(world.worker(2)).await;
    assert_eq!(world.run(run).await.state, RunState::Finished);
}

async fn released_jobs_are_done_by_another_worker(world: World) {
    let run = world.submit(1).await;
    world.fake.script(&scenario(0), [Act::Wait, Act::Pass]);
    let serving = serve(world.service_with(1, |_| ()));
    until("it runs", async || world.fake.running() == 1).await;
    serving.control.drain();
    serving.control.release();
    serving.ended().await;
    world.work(world.worker(2)).await;
    assert_eq!(world.fake.attempts_of(&scenario(0)), [1, 2]);
    assert_eq!(world.run(run).await.state, RunState::Finished);
}

async fn the_next_job_that_does_not_fit_is_named(world: World) {
    use crate::harness::Submission;
    use store::Demand;
    world.fake.otherwise(Act::Wait);
    let demand = Demand { cpu_milli: 1000, memory: 3 << 30 };
    world.submit_with(Submission { replicas: 2, demand, ..Submission::default() }).await;
    let serving = serve(world.service_with(1, |config| config.budget.memory = 4 << 30));
    until_reason(&world, 1, Some("memory budget: 3.0 of 4.0 GiB promised, next job needs 3.0")).await;
    world.fake.free.store(312 << 20, Ordering::SeqCst);
    world.clock.advance(Duration::from_secs(11));
    until_reason(&world, 1, Some("only 312 MiB of disk are free, 1024 needed")).await;
    assert_eq!(row(&world, 1).await.pulse.free_disk, 312 << 20);
    world.fake.open_gate();
    serving.control.drain();
    serving.ended().await;
}

async fn jobs_wait_for_an_engine_that_is_away_and_none_of_them_fails(world: World) {
    world.fake.otherwise(Act::Break);
    world.fake.is_away.store(true, Ordering::SeqCst);
    let run = world.submit(4).await;
    let serving = serve(world.service_with(1, |config| config.attempts = 1));
    until_reason(&world, 1, Some("the engine that makes sandboxes does not answer")).await;
    until("all were given back", async || world.fake.running() == 0).await;
    assert_eq!(world.run(run).await.ended, 0);
    let (seen, sweeps) = (world.fake.seen().len(), world.fake.sweeps.load(Ordering::SeqCst));
    assert!(seen <= 2, "nothing more is tried: {seen}");
    world.fake.otherwise(Act::Pass);
    world.fake.is_away.store(false, Ordering::SeqCst);
    until("the run ends", async || world.run(run).await.state == RunState::Finished).await;
    assert!(world.results(run).await.iter().all(|result| result.status == RowStatus::Pass));
    assert!(
        world.has_problem("asking the engine that makes sandboxes failed, and is tried again")
            && world.has_problem("works again")
    );
    until("it swept once more", async || world.fake.sweeps.load(Ordering::SeqCst) > sweeps).await;
    serving.control.drain();
    serving.ended().await;
}

async fn a_job_that_breaks_although_the_engine_is_there_ends(world: World) {
    world.fake.otherwise(Act::Break);
    let run = world.submit(1).await;
    let serving = serve(world.service_with(1, |_| ()));
    until("the run ends", async || world.run(run).await.state == RunState::Finished).await;
    assert_eq!(world.results(run).await[0].status, RowStatus::Error);
    serving.control.drain();
    serving.ended().await;
}

async fn a_sweep_comes_at_the_start_and_on_a_schedule(world: World) {
    let serving = serve(world.service_with(1, |config| config.sweep = Duration::from_secs(300)));
    let sweeps = || world.fake.sweeps.load(Ordering::SeqCst);
    until("it swept at the start", async || sweeps() == 1).await;
    world.clock.advance(Duration::from_secs(299));
    let ran = world.submit(1).await;
    until("it looked since", async || world.run(ran).await.state == RunState::Finished).await;
    assert_eq!(sweeps(), 1, "it is not time yet");
    world.clock.advance(Duration::from_secs(1));
    until("it swept on schedule", async || sweeps() == 2).await;
    serving.control.drain();
    serving.ended().await;
    assert_eq!(sweeps(), 2);
}

async fn what_is_needed_and_cannot_be_asked_for_is_asked_for_again(world: World) {
    let run = world.submit(1).await;
    world.secrets.unavailable.store(1, Ordering::SeqCst);
    world.work(world.worker(1)).await;
    assert_eq!(world.retried(), 1);
    assert_eq!(world.run(run).await.state, RunState::Finished);
    assert!(world.notices().iter().any(|notice| matches!(notice, Notice::Ended { .. })));
    assert_eq!(world.fake.attempts_of(&scenario(0)), [2]);
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_asked_again_and_told_of_once() {
    let world = World::sqlite().await;
    let serving = serve(world.service_with(1, |_| ()));
    until_reason(&world, 1, None).await;
    world.store.close().await;
    until("it is told", async || world.has_problem("looking for something to do failed")).await;
    serving.control.drain();
    serving.ended().await;
    let told = |notice: &&Notice| matches!(notice, Notice::Problem(text) if text.contains("looking for something to do failed"));
    assert_eq!(world.notices().iter().filter(told).count(), 1);
}
