//! Limits of concurrent jobs.

use std::collections::HashMap;

use futures::future::join_all;
use store::{ClaimRequest, Held, Lane, Limits, NewExperiment, NewRun, RunId, SpecContent, Store};

use crate::harness::{World, at, complete, evidence, request, scenario};

databases![
    no_more_are_done_at_once_than_all_may,
    no_more_of_a_spec_are_done_at_once_than_may_be,
    each_owner_has_specs_of_their_own,
    limits_count_what_is_done_in_their_lane,
    sixteen_who_ask_at_once_never_take_more_than_all_may,
    sixteen_who_ask_at_once_never_take_more_of_a_run_than_may_be,
    sixteen_who_ask_at_once_never_take_more_of_a_spec_than_may_be,
    what_is_urgent_goes_first_within_limits,
];

/// The number of concurrent claims.
const MANY: usize = 16;

fn with(limits: Limits) -> ClaimRequest {
    ClaimRequest { limits, ..request(Lane::Shared, 9) }
}

async fn take_all(store: &Store, request: &ClaimRequest) -> Vec<Held> {
    let mut taken = Vec::new();
    while let Some(held) = store.claim(request).await.expect("a claim") {
        taken.push(held);
    }
    taken
}

/// Submits a run of another spec than the usual one.
async fn submit_of(world: &World, spec_id: &str, run: &NewRun) -> RunId {
    submit_for(world, "", spec_id, run).await
}

async fn submit_for(world: &World, owner: &str, spec_id: &str, run: &NewRun) -> RunId {
    let content = SpecContent { text: format!("id: {spec_id}"), files: Vec::new() };
    let spec = world.store.keep_spec(owner, spec_id, &content, at(0)).await.expect("a spec");
    let experiment = NewExperiment { spec, owner: owner.to_owned(), ..world.experiment().await };
    world.store.submit(&experiment, run, at(0)).await.expect("submitted")
}

async fn no_more_are_done_at_once_than_all_may(world: World) {
    world.submitted(4).await;
    submit_of(&world, "other", &world.run(4)).await;
    let request = with(Limits { global: Some(3), per_spec: None });
    let held = take_all(&world.store, &request).await;
    assert_eq!(held.len(), 3);
    complete(&world.store, &held[0], &evidence(1), 9).await;
    assert_eq!(take_all(&world.store, &request).await.len(), 1, "as many as ended");
    assert_eq!(take_all(&world.store, &with(Limits { global: Some(0), per_spec: None })).await, []);
    assert_eq!(take_all(&world.store, &with(Limits::default())).await.len(), 4, "the rest without a limit");
}

async fn no_more_of_a_spec_are_done_at_once_than_may_be(world: World) {
    let first = [world.submitted(2).await, world.submitted(3).await];
    let second = submit_of(&world, "other", &world.run(3)).await;
    let request = with(Limits { global: None, per_spec: Some(2) });
    let held = take_all(&world.store, &request).await;
    let runs: Vec<_> = held.iter().map(|held| held.run).collect();
    assert_eq!(runs, [first[0], first[0], second, second], "all runs of a spec count, and others are not held up");
    complete(&world.store, &held[0], &evidence(1), 9).await;
    let runs: Vec<_> = take_all(&world.store, &request).await.iter().map(|held| held.run).collect();
    assert_eq!(runs, [first[1]]);
    let both = take_all(&world.store, &with(Limits { global: Some(5), per_spec: Some(9) })).await;
    assert_eq!(both.len(), 1, "each limit holds beside the other");
}

async fn each_owner_has_specs_of_their_own(world: World) {
    for owner in ["anna", "ben", ""] {
        submit_for(&world, owner, "ledger", &world.run(2)).await;
    }
    assert_eq!(take_all(&world.store, &with(Limits { global: None, per_spec: Some(1) })).await.len(), 3);
}

async fn limits_count_what_is_done_in_their_lane(world: World) {
    let own = Lane::Own(world.uuid());
    world.submit(&NewRun { lane: own, ..world.run(2) }, at(0)).await;
    world.submitted(2).await;
    let limits = Limits { global: Some(1), per_spec: Some(1) };
    for lane in [own, Lane::Shared] {
        assert_eq!(take_all(&world.store, &ClaimRequest { limits, ..request(lane, 9) }).await.len(), 1);
    }
}

/// Lets many ask at once, again and again: all that may be taken is, and nothing more.
async fn ask_at_once(world: &World, limits: Limits, most: usize, key: impl Fn(&Held) -> String) {
    let stores = [world.store.clone(), world.other().await];
    for round in 0..8 {
        let asking = (0..MANY).map(|number| {
            let store = stores[number % stores.len()].clone();
            let request = ClaimRequest { token: format!("{round}-{number}"), ..with(limits) };
            tokio::spawn(async move { store.claim(&request).await.expect("a claim") })
        });
        let held: Vec<_> = join_all(asking).await.into_iter().filter_map(|asked| asked.expect("no panic")).collect();
        let mut counts: HashMap<String, usize> = HashMap::new();
        for one in &held {
            *counts.entry(key(one)).or_default() += 1;
        }
        assert!(!counts.is_empty() && counts.values().all(|count| *count == most), "round {round}: {counts:?}");
        for one in &held {
            complete(&world.store, one, &evidence(1), 9).await;
        }
    }
}

async fn sixteen_who_ask_at_once_never_take_more_than_all_may(world: World) {
    world.submitted(60).await;
    ask_at_once(&world, Limits { global: Some(5), per_spec: None }, 5, |_| String::new()).await;
}

async fn sixteen_who_ask_at_once_never_take_more_of_a_run_than_may_be(world: World) {
    for _ in 0..2 {
        let mut run = world.run(40);
        for job in &mut run.jobs {
            job.at_once = Some(3);
        }
        world.submit(&run, at(0)).await;
    }
    ask_at_once(&world, Limits::default(), 3, |held| held.run.to_string()).await;
}

async fn sixteen_who_ask_at_once_never_take_more_of_a_spec_than_may_be(world: World) {
    let mut specs = HashMap::new();
    for (spec, jobs) in [("one", 20), ("one", 20), ("other", 40)] {
        specs.insert(submit_of(&world, spec, &world.run(jobs)).await, spec);
    }
    ask_at_once(&world, Limits { global: None, per_spec: Some(4) }, 4, |held| specs[&held.run].to_owned()).await;
}

async fn what_is_urgent_goes_first_within_limits(world: World) {
    let numbered = |from: u32, priority: i64| {
        let mut run = NewRun { priority, ..world.run(2) };
        for (number, job) in (from..).zip(&mut run.jobs) {
            job.scenario = scenario(number);
        }
        run
    };
    submit_of(&world, "usual", &numbered(0, 0)).await;
    submit_of(&world, "urgent", &numbered(10, 5)).await;
    submit_of(&world, "idle", &numbered(20, -5)).await;
    let taken = take_all(&world.store, &with(Limits { global: Some(4), per_spec: Some(1) })).await;
    let numbers: Vec<_> = taken.iter().map(|held| held.scenario.parameters["number"].as_u64()).collect();
    assert_eq!(numbers, [Some(10), Some(0), Some(20)]);
}
