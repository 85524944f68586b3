//! Requests that are answered once.

use serde_json::json;
use store::{Begun, NewExperiment, Once, Reply, StoreError, Submitted};

use crate::harness::{World, at};

databases![
    a_request_is_done_once_and_its_reply_kept,
    a_request_that_was_left_or_given_up_is_done_again,
    a_submission_is_kept_once,
    of_many_submissions_at_once_one_is_kept,
    a_refused_submission_can_be_sent_again,
];

const ONCE: Once<'static> = Once { owner: "ann", key: "k1", fingerprint: "f1" };

async fn begin(world: &World, once: Once<'_>, now: i64) -> Begun {
    world.store.begin_idempotent(once, at(now), at(now + 10)).await.expect("begun")
}

async fn a_request_is_done_once_and_its_reply_kept(world: World) {
    assert_eq!(begin(&world, ONCE, 0).await, Begun::Fresh);
    assert_eq!(begin(&world, ONCE, 1).await, Begun::Busy);
    assert_eq!(begin(&world, Once { fingerprint: "f2", ..ONCE }, 1).await, Begun::Mismatch);
    assert_eq!(begin(&world, Once { owner: "bob", ..ONCE }, 1).await, Begun::Fresh, "keys belong to their owners");
    let reply = Reply { status: 201, body: json!({"id": 1.5}) };
    world.store.finish_idempotent(ONCE, &reply).await.expect("kept");
    assert_eq!(begin(&world, ONCE, 100).await, Begun::Replay(reply));
    assert_eq!(begin(&world, Once { fingerprint: "f2", ..ONCE }, 100).await, Begun::Mismatch);
    world.store.abandon_idempotent(ONCE).await.expect("nothing to give up");
    assert!(matches!(begin(&world, ONCE, 100).await, Begun::Replay(_)));
}

async fn a_request_that_was_left_or_given_up_is_done_again(world: World) {
    assert_eq!(begin(&world, ONCE, 0).await, Begun::Fresh);
    assert_eq!(begin(&world, ONCE, 10).await, Begun::Fresh, "whoever began it is gone");
    assert_eq!(begin(&world, ONCE, 11).await, Begun::Busy);
    world.store.abandon_idempotent(ONCE).await.expect("given up");
    assert_eq!(begin(&world, Once { fingerprint: "f2", ..ONCE }, 12).await, Begun::Fresh);
}

async fn a_submission_is_kept_once(world: World) {
    let (new, run) = (world.experiment().await, world.run(2));
    let submit = async |once, new: &NewExperiment| world.store.submit_once(once, new, &run, at(1)).await;
    let Ok(Submitted::Now(first)) = submit(ONCE, &new).await else { panic!("it is the first") };
    assert_eq!(first.experiment, new.id);
    let again = world.experiment().await;
    assert_eq!(submit(ONCE, &again).await.expect("submitted"), Submitted::Before(first));
    let other = Once { fingerprint: "f2", ..ONCE };
    assert_eq!(submit(other, &again).await.expect("submitted"), Submitted::Mismatch);
    assert_eq!(world.store.experiments(10, None).await.expect("experiments").len(), 1);
    assert_eq!(begin(&world, Once { key: "k2", ..ONCE }, 0).await, Begun::Fresh);
    let used = submit(Once { key: "k2", ..ONCE }, &again).await;
    assert_eq!(used.expect("refused"), Submitted::Mismatch, "the key is another request's");
}

async fn of_many_submissions_at_once_one_is_kept(world: World) {
    let stores = [world.store.clone(), world.other().await];
    let mut sending = tokio::task::JoinSet::new();
    for number in 0..8 {
        let (store, new, run) = (stores[number % 2].clone(), world.experiment().await, world.run(3));
        sending.spawn(async move { store.submit_once(ONCE, &new, &run, at(1)).await.expect("submitted") });
    }
    let sent = sending.join_all().await;
    let now: Vec<_> =
        sent.iter().filter_map(|one| if let Submitted::Now(run) = one { Some(*run) } else { None }).collect();
    let [run] = now[..] else { panic!("one is kept: {sent:?}") };
    assert_eq!(sent.iter().filter(|one| **one == Submitted::Before(run)).count(), 7);
    assert_eq!(world.number("SELECT count(*) FROM jobs").await, 3);
}

async fn a_refused_submission_can_be_sent_again(world: World) {
    let new = world.experiment().await;
    let refused = world.store.submit_once(ONCE, &new, &world.run(0), at(1)).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))), "{refused:?}");
    let kept = world.store.submit_once(ONCE, &new, &world.run(1), at(2)).await.expect("submitted");
    assert!(matches!(kept, Submitted::Now(_)));
}
