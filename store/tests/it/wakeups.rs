//! Being told that there is something to look at. A file tells nothing, so most of this is about Postgres only.

use std::time::Duration;

use scenario::event::Event;
use store::{Demand, Failure, Lane, NewEvent, NewRun, NewSandbox, SandboxClaim, Wakeup, Wakeups};
use tokio::time::timeout;
use uuid::Uuid;

use crate::harness::{World, at, complete, evidence, request, summary};

/// Timeout of waiting for an expected notification.
const PATIENCE: Duration = Duration::from_secs(30);

async fn next(wakeups: &mut Wakeups) -> Wakeup {
    timeout(PATIENCE, wakeups.next()).await.expect("told in time").expect("told")
}

/// Collects all notifications up to a last one that it sends itself.
async fn told(world: &World, wakeups: &mut Wakeups) -> Vec<Wakeup> {
    let last = Lane::Own(Uuid::from_u128(0xffff_ffff));
    world.submit(&NewRun { lane: last, ..world.run(1) }, at(0)).await;
    let mut told = Vec::new();
    loop {
        match next(wakeups).await {
            Wakeup::Jobs(lane) if lane == last => return told,
            wakeup => told.push(wakeup),
        }
    }
}

#[tokio::test]
async fn a_file_tells_nothing() {
    let world = World::sqlite().await;
    assert!(world.store.listen().await.expect("an answer").is_none());
}

#[tokio::test]
async fn other_processes_are_told_what_there_is_to_look_at() {
    let Some(world) = World::postgres().await else { return };
    let other = world.other().await;
    let mut wakeups = other.listen().await.expect("listening").expect("Postgres tells");
    let run = world.submitted(3).await;
    let (jobs, experiment) = (Wakeup::Jobs(Lane::Shared), Wakeup::Experiment(run.experiment));
    assert_eq!(told(&world, &mut wakeups).await, [jobs], "once for all jobs");

    let held = world.claim(0).await.expect("a job");
    assert_eq!(told(&world, &mut wakeups).await, [], "a claim is nobody else's business");
    world.store.release(&held.lease, "", at(1)).await.expect("released");
    let held = world.claim(1).await.expect("a job");
    world.store.retry(&held.lease, Failure::Lost, "", at(2), at(1)).await.expect("a retry");
    world.store.retry(&held.lease, Failure::Lost, "", at(2), at(1)).await.expect("a stale one");
    assert_eq!(told(&world, &mut wakeups).await, [jobs, jobs]);

    let held = world.claim(2).await.expect("a job");
    complete(&world.store, &held, &evidence(1), 3).await;
    let scenario = held.scenario.id.to_string();
    let event = NewEvent { run, scenario, attempt: 1, at: at(3), happened: Event::read("phase", 1.into()) };
    world.store.note(&[event.clone(), event]).await.expect("noted");
    assert_eq!(told(&world, &mut wakeups).await, [experiment, experiment]);

    let own = Lane::Own(Uuid::from_u128(7));
    world.store.adopt(run, Lane::Shared, own).await.expect("adopted");
    world.store.claim(&request(own, 4)).await.expect("a claim").expect("a job");
    world.store.cancel(run, "enough", at(5), &summary).await.expect("cancelled");
    let expected = [Wakeup::Jobs(own), experiment, Wakeup::Cancelled(run.experiment)];
    assert_eq!(told(&world, &mut wakeups).await, expected);
}

#[tokio::test]
async fn what_is_not_kept_is_not_told() {
    let Some(world) = World::postgres().await else { return };
    let mut wakeups = world.store.listen().await.expect("listening").expect("Postgres tells");
    let mut twice = world.run(2);
    twice.jobs[1].scenario = twice.jobs[0].scenario.clone();
    world.store.submit(&world.experiment().await, &twice, at(0)).await.expect_err("two jobs of one scenario");
    assert_eq!(told(&world, &mut wakeups).await, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_was_cut_is_made_again_and_wakes() {
    let Some(world) = World::postgres().await else { return };
    let mut wakeups = world.store.listen().await.expect("listening").expect("Postgres tells");
    for _ in 0..2 {
        let cut = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                   WHERE datname = current_database() AND query LIKE 'LISTEN%'";
        assert_eq!(world.number(cut).await, 1);
        assert_eq!(next(&mut wakeups).await, Wakeup::All, "something may have been missed");
        world.submitted(1).await;
        assert_eq!(next(&mut wakeups).await, Wakeup::Jobs(Lane::Shared));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_listens_is_told_when_the_store_is_closed() {
    let Some(world) = World::postgres().await else { return };
    let mut wakeups = world.store.listen().await.expect("listening").expect("Postgres tells");
    let listening = tokio::spawn(async move { wakeups.next().await });
    tokio::task::yield_now().await;
    timeout(PATIENCE, world.store.close()).await.expect("closed in time");
    timeout(PATIENCE, listening)
        .await
        .expect("told in time")
        .expect("no panic")
        .expect_err("nothing can come any more");
}

#[tokio::test]
async fn workers_are_told_about_sandboxes() {
    let Some(world) = World::postgres().await else { return };
    let mut wakeups = world.other().await.listen().await.expect("listening").expect("Postgres tells");
    let spec = world.spec().await;
    let new = NewSandbox {
        id: "sb-1".to_owned(),
        owner: String::new(),
        spec_id: spec.spec_id,
        digest: spec.digest,
        metadata: serde_json::json!({}),
        secrets: None,
        timeout: Duration::from_secs(60),
        demand: Demand::default(),
    };
    world.store.ask_for_sandbox(&new, at(1)).await.expect("asked");
    assert_eq!(told(&world, &mut wakeups).await, [Wakeup::Sandboxes]);
    let worker = request(Lane::Shared, 0).worker;
    let claim = SandboxClaim { worker, token: String::new(), now: at(2), until: at(9), room: None };
    let held = world.store.claim_sandbox(&claim).await.expect("a claim").expect("a sandbox");
    assert_eq!(told(&world, &mut wakeups).await, [], "a claim is nobody else's business");
    world.store.release_sandbox(&held.lease, at(3)).await.expect("given back");
    world.store.unwant_sandbox("sb-1", at(3)).await.expect("unwanted");
    assert_eq!(told(&world, &mut wakeups).await, [Wakeup::Sandboxes; 2]);
}
