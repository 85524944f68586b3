//! Finding scenarios of all experiments.

use scenario::result::RowStatus;
use store::{Completion, FoundScenario, NewExperiment, Page, RunId, ScenarioFilter};

use crate::harness::{World, at, passed, summary};

databases![scenarios_of_all_experiments_are_found, parts_follow_each_other_without_gaps];

async fn submit(world: &World, owner: &str, jobs: u32) -> RunId {
    let new = NewExperiment { owner: owner.to_owned(), ..world.experiment().await };
    world.store.submit(&new, &world.run(jobs), at(0)).await.expect("submitted")
}

fn places(found: &[FoundScenario]) -> Vec<(RunId, u64)> {
    found.iter().map(|one| (one.run, one.position)).collect()
}

async fn all(world: &World, filter: ScenarioFilter<'_>) -> Vec<FoundScenario> {
    world.store.find_scenarios(filter, Page::ALL).await.expect("scenarios").items
}

async fn scenarios_of_all_experiments_are_found(world: World) {
    let ann = submit(&world, "ann", 2).await;
    world.finish_one(1).await;
    let held = world.claim(2).await.expect("a job");
    let mut result = passed(&held.scenario);
    result.status = RowStatus::Fail;
    let completion = Completion { evidence: None, result: &result, traces: &[], at: at(3) };
    world.store.complete(&held.lease, ann, completion, &summary).await.expect("completed");
    let bob = submit(&world, "bob", 2).await;
    let any = ScenarioFilter::default;
    let found = all(&world, any()).await;
    assert_eq!(places(&found), [(bob, 0), (bob, 1), (ann, 0), (ann, 1)], "newest experiments first");
    assert_eq!(found[2].stored, world.store.scenarios(ann).await.expect("scenarios")[0], "with its verdicts");
    assert_eq!((found[3].ended_at, found[0].ended_at), (Some(at(3)), None));
    let first = found[2].stored.scenario.id.to_string();
    for (filter, expected) in [
        (ScenarioFilter { owner: Some("ann"), ..any() }, vec![(ann, 0), (ann, 1)]),
        (ScenarioFilter { experiment: Some(bob.experiment), ..any() }, vec![(bob, 0), (bob, 1)]),
        (ScenarioFilter { scenario: Some(&first), ..any() }, vec![(bob, 0), (ann, 0)]),
        (ScenarioFilter { status: Some(RowStatus::Fail), ..any() }, vec![(ann, 1)]),
        (ScenarioFilter { status: Some(RowStatus::Pass), owner: Some("bob"), ..any() }, vec![]),
    ] {
        assert_eq!(places(&all(&world, filter).await), expected, "{filter:?}");
    }
    let digest = world.spec().await.digest;
    let again = world.store.submit_again(ann.experiment, &digest, &world.run(1), at(4)).await.expect("again");
    let found = all(&world, ScenarioFilter { owner: Some("ann"), ..any() }).await;
    assert_eq!(places(&found), [(again, 0)], "the newest run");
}

async fn parts_follow_each_other_without_gaps(world: World) {
    let (one, two) = (submit(&world, "ann", 3).await, submit(&world, "ann", 4).await);
    let mut seen = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = Page { after: after.as_deref(), most: 2 };
        let listed = world.store.find_scenarios(ScenarioFilter::default(), page).await.expect("scenarios");
        seen.extend(places(&listed.items));
        let Some(next) = listed.next else { break };
        after = Some(next);
    }
    let expected: Vec<_> = (0..4).map(|place| (two, place)).chain((0..3).map(|place| (one, place))).collect();
    assert_eq!(seen, expected);
}
