//! Runs that ended, until somebody has looked at them.

use store::{RunEnd, RunId};

use crate::harness::{World, at, passed, summary};

databases![the_end_of_a_run_is_seen_once, every_way_to_end_is_seen, of_two_who_look_one_gets_it];

async fn claim(world: &World, now: i64) -> Option<RunEnd> {
    world.store.claim_run_end(at(now), at(now + 10)).await.expect("a claim")
}

async fn the_end_of_a_run_is_seen_once(world: World) {
    let run = world.submitted(2).await;
    world.finish_one(1).await;
    assert_eq!(claim(&world, 9).await, None, "it has not ended");
    world.finish_one(2).await;
    assert_eq!(claim(&world, 2).await, Some(RunEnd { run, ended_at: at(2) }));
    assert_eq!(claim(&world, 5).await, None, "somebody is looking at it");
    assert_eq!(claim(&world, 12).await, Some(RunEnd { run, ended_at: at(2) }), "who was looking is gone");
    world.store.run_end_handled(run).await.expect("handled");
    world.store.run_end_handled(run).await.expect("handled twice");
    assert_eq!(claim(&world, 100).await, None);
}

async fn every_way_to_end_is_seen(world: World) {
    let run = world.submitted(1).await;
    world.store.cancel(run, "enough", at(1), &summary).await.expect("cancelled");
    assert_eq!(claim(&world, 1).await.expect("an end").run, run);
    let result = passed(&crate::harness::scenario(0));
    let rescored = [store::Rescored { scenario: result.scenario.clone(), result: Some(result.clone()), source: None }];
    let digest = world.spec().await.digest;
    let judged = world.store.keep_rescored(run, &digest, &rescored, &summary(&[result]), at(2)).await.expect("judged");
    assert_eq!((judged, claim(&world, 2).await.expect("an end").run), (RunId { number: 2, ..run }, judged));
    world.store.collect(&[run.experiment]).await.expect("collected");
    assert_eq!(claim(&world, 100).await, None, "it went with its experiment");
}

async fn of_two_who_look_one_gets_it(world: World) {
    let other = world.other().await;
    for _ in 0..10 {
        let run = world.submitted(1).await;
        world.finish_one(1).await;
        let claims = tokio::join!(world.store.claim_run_end(at(1), at(9)), other.claim_run_end(at(1), at(9)));
        let found: Vec<_> = [claims.0, claims.1].into_iter().filter_map(|one| one.expect("a claim")).collect();
        assert_eq!(found.iter().map(|one| one.run).collect::<Vec<_>>(), [run]);
    }
}
