//! Ending runs early, and taking over those that were left.

use store::{AttemptOutcome, Failure, Kept, Lane, NewRun, RunId, RunState};
use uuid::Uuid;

use crate::harness::{World, at, complete, evidence, request, summary};

databases![
    a_run_that_waits_ends_at_once,
    holders_end_a_run_that_is_being_worked_on,
    a_run_of_which_all_was_done_is_finished_though_it_was_cancelled,
    what_has_ended_or_never_was_cannot_be_cancelled,
    other_runs_are_left_alone,
    a_run_that_was_left_is_adopted_once,
    a_run_that_has_ended_is_not_adopted,
];

async fn cancel(world: &World, run: RunId, now: i64) -> Kept {
    world.store.cancel(run, "enough", at(now), &summary).await.expect("cancelled")
}

async fn state(world: &World, run: RunId) -> (RunState, u64, bool, Option<String>) {
    let run = world.store.run(run).await.expect("the run");
    assert_eq!(run.score.is_some(), run.ended_at.is_some());
    (run.state, run.ended, run.score.is_some(), run.reason)
}

async fn a_run_that_waits_ends_at_once(world: World) {
    let run = world.submitted(3).await;
    assert_eq!(cancel(&world, run, 1).await, Kept::RunEnded);
    assert_eq!(state(&world, run).await, (RunState::Cancelled, 3, true, Some("enough".to_owned())));
    assert_eq!(world.claim(2).await, None);
    assert_eq!(cancel(&world, run, 3).await, Kept::Stale, "it has ended");
    assert_eq!(world.store.run(run).await.expect("the run").ended_at, Some(at(1)));
}

async fn holders_end_a_run_that_is_being_worked_on(world: World) {
    let run = world.submitted(4).await;
    world.finish_one(0).await;
    let (first, second) = (world.claim(0).await.expect("a job"), world.claim(0).await.expect("a job"));
    assert_eq!(cancel(&world, run, 1).await, Kept::Kept);
    assert_eq!(state(&world, run).await, (RunState::Open, 2, false, Some("enough".to_owned())));
    assert_eq!(cancel(&world, run, 1).await, Kept::Kept, "asking twice changes nothing");
    assert_eq!(world.claim(2).await, None);
    let store = &world.store;
    for lease in [&first.lease, &second.lease] {
        assert_eq!(store.release(lease, "", at(2)).await.expect("a release"), Kept::Stale);
        assert_eq!(store.retry(lease, Failure::Lost, "", at(2), at(2)).await.expect("a retry"), Kept::Stale);
    }
    assert_eq!(store.expired(at(99)).await.expect("expired").len(), 2, "still found when its holder is gone");
    assert_eq!(store.give_up(&first.lease, run, "stopped", at(3), &summary).await.expect("given up"), Kept::Kept);
    assert_eq!(complete(store, &second, &evidence(1), 4).await, Kept::RunEnded, "what was done anyway is kept");
    assert_eq!(state(&world, run).await, (RunState::Cancelled, 4, true, Some("enough".to_owned())));
    let scenarios = store.scenarios(run).await.expect("scenarios");
    let with_result: Vec<_> = scenarios.iter().map(|stored| stored.result.is_some()).collect();
    assert_eq!(with_result, [true, false, true, false]);
    let outcomes: Vec<_> = store.attempts(run).await.expect("attempts").iter().map(|one| one.outcome).collect();
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == AttemptOutcome::Cancelled).count(), 1);
}

async fn a_run_of_which_all_was_done_is_finished_though_it_was_cancelled(world: World) {
    let run = world.submitted(1).await;
    let held = world.claim(0).await.expect("a job");
    assert_eq!(cancel(&world, run, 1).await, Kept::Kept);
    assert_eq!(complete(&world.store, &held, &evidence(1), 2).await, Kept::RunEnded);
    assert_eq!(state(&world, run).await, (RunState::Finished, 1, true, Some("enough".to_owned())));
}

async fn what_has_ended_or_never_was_cannot_be_cancelled(world: World) {
    let run = world.submitted(1).await;
    assert_eq!(world.finish_one(0).await, Kept::RunEnded);
    assert_eq!(cancel(&world, run, 1).await, Kept::Stale);
    assert_eq!(state(&world, run).await, (RunState::Finished, 1, true, None));
    assert_eq!(cancel(&world, RunId { number: 9, ..run }, 1).await, Kept::Stale);
}

async fn other_runs_are_left_alone(world: World) {
    let (run, other) = (world.submitted(1).await, world.submitted(1).await);
    let digest = world.spec().await.digest;
    let again = world.store.submit_again(run.experiment, &digest, &world.run(1), at(0)).await.expect("again");
    cancel(&world, run, 1).await;
    assert_eq!(state(&world, other).await.0, RunState::Open);
    assert_eq!(state(&world, again).await.0, RunState::Open);
}

async fn a_run_that_was_left_is_adopted_once(world: World) {
    let (dead, alive) = (Lane::Own(Uuid::from_u128(1)), Lane::Own(Uuid::from_u128(2)));
    let run = world.submit(&NewRun { lane: dead, ..world.run(2) }, at(0)).await;
    let held = world.store.claim(&request(dead, 0)).await.expect("a claim").expect("a job");
    let adopt = async |from, to| world.store.adopt(run, from, to).await.expect("adopted");
    assert!(!adopt(Lane::Shared, alive).await, "it is not there");
    assert!(adopt(dead, alive).await);
    assert!(!adopt(dead, Lane::Shared).await, "somebody was faster");
    assert_eq!(world.store.run(run).await.expect("the run").lane, alive);
    assert_eq!(world.store.claim(&request(dead, 1)).await.expect("a claim"), None);
    assert!(world.store.claim(&request(alive, 1)).await.expect("a claim").is_some());
    world.store.retry(&held.lease, Failure::Lost, "gone", at(2), at(2)).await.expect("reaped");
    assert!(world.store.claim(&request(alive, 2)).await.expect("a claim").is_some(), "what it held moved too");
}

async fn a_run_that_has_ended_is_not_adopted(world: World) {
    let run = world.submitted(1).await;
    world.finish_one(0).await;
    assert!(!world.store.adopt(run, Lane::Shared, Lane::Own(Uuid::from_u128(1))).await.expect("an answer"));
}
