//! Requests that are answered once.

use store::{NewExperiment, Once, StoreError, Submitted};

use crate::harness::{World, at};

databases![a_submission_is_kept_once, of_many_submissions_at_once_one_is_kept, a_refused_submission_can_be_sent_again,];

const ONCE: Once<'static> = Once { owner: "ann", key: "k1", fingerprint: "f1" };

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
    assert_eq!(world.store.submitted(ONCE).await.expect("read"), Some(Submitted::Before(first)));
    assert_eq!(world.store.submitted(other).await.expect("read"), Some(Submitted::Mismatch));
    let bobs = Once { owner: "bob", ..ONCE };
    assert_eq!(world.store.submitted(bobs).await.expect("read"), None, "keys belong to their owners");
    let bobs = world.store.submit_once(bobs, &again, &world.run(2), at(1)).await;
    assert!(matches!(bobs, Ok(Submitted::Now(_))), "{bobs:?}");
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
