//! Holding a job, giving it back and losing it.

use store::{AttemptOutcome, Beat, Failure, Kept, Lease};

use crate::harness::{World, at, complete, evidence, summary};

databases![
    a_heartbeat_keeps_a_lease_from_expiring,
    a_heartbeat_says_that_a_run_is_cancelled_or_a_lease_lost,
    a_retry_waits_and_counts_while_a_release_does_neither,
    a_lease_that_was_lost_changes_nothing,
    what_is_held_is_being_run,
];

async fn a_heartbeat_keeps_a_lease_from_expiring(world: World) {
    world.submitted(1).await;
    let held = world.claim(0).await.expect("a job");
    let expired = async |now| world.store.expired(at(now)).await.expect("expired");
    assert_eq!(expired(10).await, [], "its last moment is one of its own");
    assert_eq!(expired(11).await, std::slice::from_ref(&held));
    assert_eq!(world.store.heartbeat(&held.lease, at(30)).await.expect("a beat"), Beat::Held);
    assert_eq!(expired(30).await, []);
}

async fn a_heartbeat_says_that_a_run_is_cancelled_or_a_lease_lost(world: World) {
    let run = world.submitted(2).await;
    let (first, second) = (world.claim(0).await.expect("a job"), world.claim(0).await.expect("a job"));
    let beat = async |lease: &Lease| world.store.heartbeat(lease, at(50)).await.expect("a beat");
    let forged = Lease { token: "guessed".to_owned(), ..first.lease.clone() };
    assert_eq!(beat(&forged).await, Beat::Lost);
    assert_eq!(world.store.release(&second.lease, "", at(1)).await.expect("released"), Kept::Kept);
    assert_eq!(beat(&second.lease).await, Beat::Lost);
    world.store.cancel(run, "enough", at(2), &summary).await.expect("cancelled");
    assert_eq!(beat(&first.lease).await, Beat::Cancelled);
    assert_eq!(complete(&world.store, &first, &evidence(1), 3).await, Kept::RunEnded);
    assert_eq!(beat(&first.lease).await, Beat::Lost, "a job that is done is held by nobody");
}

async fn a_retry_waits_and_counts_while_a_release_does_neither(world: World) {
    let run = world.submitted(1).await;
    let first = world.claim(0).await.expect("a job");
    let retried = world.store.retry(&first.lease, Failure::Infrastructure, "no image", at(20), at(1)).await;
    assert_eq!(retried.expect("a retry"), Kept::Kept);
    assert_eq!(world.claim(19).await, None);
    let second = world.claim(20).await.expect("a job");
    assert_eq!((second.lease.epoch, second.failures), (2, 1));
    assert_eq!(world.store.release(&second.lease, "going down", at(21)).await.expect("released"), Kept::Kept);
    let third = world.claim(21).await.expect("at once");
    assert_eq!((third.lease.epoch, third.failures), (3, 1));
    world.store.retry(&third.lease, Failure::Lost, "gone", at(22), at(22)).await.expect("a retry");
    let fourth = world.claim(22).await.expect("a job");
    assert_eq!((fourth.lease.epoch, fourth.failures), (4, 2));
    complete(&world.store, &fourth, &evidence(1), 23).await;
    let attempts = world.store.attempts(run).await.expect("attempts");
    let told: Vec<_> =
        attempts.iter().map(|one| (one.number, one.outcome, one.message.as_deref(), one.ended_at)).collect();
    assert_eq!(
        told,
        [
            (1, AttemptOutcome::Infrastructure, Some("no image"), Some(at(1))),
            (2, AttemptOutcome::Released, Some("going down"), Some(at(21))),
            (3, AttemptOutcome::Lost, Some("gone"), Some(at(22))),
            (4, AttemptOutcome::Judged, None, Some(at(23))),
        ]
    );
}

async fn a_lease_that_was_lost_changes_nothing(world: World) {
    let run = world.submitted(1).await;
    let old = world.claim(0).await.expect("a job");
    world.store.retry(&old.lease, Failure::Lost, "", at(1), at(1)).await.expect("reaped");
    let new = world.claim(2).await.expect("a job");
    let store = &world.store;
    assert_eq!(store.retry(&old.lease, Failure::Lost, "", at(3), at(3)).await.expect("a retry"), Kept::Stale);
    assert_eq!(store.release(&old.lease, "", at(3)).await.expect("a release"), Kept::Stale);
    assert_eq!(store.give_up(&old.lease, run, "", at(3), &summary).await.expect("given up"), Kept::Stale);
    assert_eq!(complete(store, &old, &evidence(1), 3).await, Kept::Stale);
    assert_eq!(store.held().await.expect("held"), std::slice::from_ref(&new));
    assert_eq!(store.scenarios(run).await.expect("scenarios")[0].result, None);
    assert_eq!(complete(store, &new, &evidence(1), 4).await, Kept::RunEnded);
}

async fn what_is_held_is_being_run(world: World) {
    let run = world.submitted(3).await;
    let other = world.submitted(1).await;
    let first = world.claim(0).await.expect("a job");
    let second = world.claim(0).await.expect("a job");
    assert_eq!(world.store.release(&first.lease, "", at(1)).await.expect("released"), Kept::Kept);
    let ids: Vec<_> =
        world.store.scenarios(run).await.expect("scenarios").iter().map(|one| one.scenario.id.to_string()).collect();
    let running = async |run, of: &[String]| {
        let of = of.iter().map(String::as_str);
        world.store.running_of(run, of).await.expect("scenarios").into_iter().collect::<Vec<_>>()
    };
    let (held, others): (Vec<_>, Vec<_>) = ids.iter().cloned().partition(|id| *id == second.scenario.id.to_string());
    assert_eq!(running(run, &ids).await, held);
    assert_eq!(running(run, &others).await, Vec::<String>::new());
    assert_eq!(running(run, &[]).await, Vec::<String>::new());
    assert_eq!(running(other, &ids).await, Vec::<String>::new());
}
