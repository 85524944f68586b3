//! Judging again.

use scenario::result::RowStatus;
use store::{ExperimentId, Rescored, RunId, RunKind, RunState, StoreError};
use uuid::Uuid;

use crate::harness::{World, at, summary};

databases![judging_again_makes_a_new_run_and_keeps_the_old_one, what_is_gone_cannot_be_judged_again,];

async fn judging_again_makes_a_new_run_and_keeps_the_old_one(world: World) {
    let run = world.submitted(2).await;
    world.finish_one(0).await;
    world.finish_one(1).await;
    let (old, before) =
        (world.store.run(run).await.expect("the run"), world.store.scenarios(run).await.expect("scenarios"));
    let rescored: Vec<_> = before
        .iter()
        .map(|stored| {
            let mut result = stored.result.clone().expect("a result");
            result.status = RowStatus::Fail;
            result.composite = 0.5;
            Rescored { scenario: stored.scenario.clone(), result: Some(result), source: stored.source }
        })
        .collect();
    let results: Vec<_> = rescored.iter().filter_map(|one| one.result.clone()).collect();
    let score = summary(&results);
    let new = world.store.keep_rescored(run, &old.digest, &rescored, &score, at(9)).await.expect("kept");
    assert_eq!(new, RunId { number: 2, ..run });
    let kept = world.store.run(new).await.expect("the new run");
    assert_eq!((kept.kind, kept.state), (RunKind::Rescored { of: 1 }, RunState::Finished));
    assert_eq!((kept.total, kept.ended, kept.ended_at, kept.score), (2, 2, Some(at(9)), Some(score)));
    let after = world.store.scenarios(new).await.expect("scenarios");
    let read: Vec<_> = after.into_iter().map(|stored| (stored.result, stored.source)).collect();
    let written: Vec<_> = rescored.into_iter().map(|one| (one.result, one.source)).collect();
    assert_eq!(read, written);
    let (job, attempt) = written[0].1.expect("a source");
    assert!(world.store.evidence(job, attempt).await.expect("readable").is_some(), "the evidence is the old run's");
    assert_eq!(world.store.run(run).await.expect("the run"), old);
    assert_eq!(world.store.scenarios(run).await.expect("scenarios"), before);
    assert_eq!(world.claim(99).await, None, "there is nothing to run");
}

async fn what_is_gone_cannot_be_judged_again(world: World) {
    let nobody = RunId { experiment: ExperimentId(Uuid::from_u128(99)), number: 1 };
    let gone = world.store.keep_rescored(nobody, "beef", &[], &summary(&[]), at(0)).await;
    assert!(matches!(gone, Err(StoreError::NotFound(_))), "{gone:?}");
}
