//! Which job is taken next.

use store::{ClaimRequest, Demand, Lane, NewRun, Store};
use uuid::Uuid;

use crate::harness::{World, at, complete, evidence, request, scenario};

databases![
    a_claim_says_all_about_its_job,
    jobs_go_by_priority_then_time_then_order,
    lanes_never_mix,
    what_has_no_room_waits_and_nothing_overtakes_it,
    without_a_room_anything_is_taken,
    no_more_of_a_run_are_done_at_once_than_may_be,
    the_next_time_at_which_something_is_ready_is_known,
];

/// The numbers of the scenarios that are taken, one after the other.
async fn take_all(store: &Store, request: &ClaimRequest) -> Vec<u64> {
    let mut taken = Vec::new();
    while let Some(held) = store.claim(request).await.expect("a claim") {
        taken.push(held.scenario.parameters["number"].as_u64().expect("a number"));
    }
    taken
}

async fn a_claim_says_all_about_its_job(world: World) {
    let mut run = world.run(1);
    run.jobs[0].demand = Demand { cpu_milli: 500, memory: u64::MAX >> 1 };
    let id = world.submit(&run, at(0)).await;
    assert_eq!(world.claim(-1).await, None, "not before its time");
    let held = world.claim(0).await.expect("a job");
    assert_eq!((held.lease.job, held.lease.epoch, held.lease.token.as_str()), (run.jobs[0].id, 1, "token-0"));
    assert_eq!((held.run, &held.scenario, held.failures, held.demand), (id, &scenario(0), 0, run.jobs[0].demand));
    assert_eq!(world.store.held().await.expect("held"), [held]);
    assert_eq!(world.claim(0).await, None);
}

async fn jobs_go_by_priority_then_time_then_order(world: World) {
    let numbered = |from: u32, priority: i64| {
        let mut run = NewRun { priority, ..world.run(2) };
        for (number, job) in (from..).zip(&mut run.jobs) {
            job.scenario = scenario(number);
        }
        run
    };
    let (late, early, urgent) = (numbered(0, 0), numbered(10, 0), numbered(20, 7));
    world.submit(&late, at(2)).await;
    world.submit(&urgent, at(3)).await;
    world.submit(&early, at(1)).await;
    assert_eq!(take_all(&world.store, &request(Lane::Shared, 9)).await, [20, 21, 10, 11, 0, 1]);
}

async fn lanes_never_mix(world: World) {
    let lanes = [Lane::Shared, Lane::Own(Uuid::from_u128(1)), Lane::Own(Uuid::from_u128(2))];
    for (number, lane) in (0..).zip(lanes) {
        let mut run = NewRun { lane, ..world.run(1) };
        run.jobs[0].scenario = scenario(number);
        world.submit(&run, at(0)).await;
    }
    for (number, lane) in (0..).zip(lanes) {
        assert_eq!(take_all(&world.store, &request(lane, 0)).await, [number]);
    }
}

async fn what_has_no_room_waits_and_nothing_overtakes_it(world: World) {
    let mut run = world.run(2);
    run.jobs[0].demand = Demand { cpu_milli: 2000, memory: 100 };
    world.submit(&run, at(0)).await;
    let with =
        |cpu_milli, memory| ClaimRequest { room: Some(Demand { cpu_milli, memory }), ..request(Lane::Shared, 0) };
    assert_eq!(take_all(&world.store, &with(1999, 100)).await, [0_u64; 0]);
    assert_eq!(take_all(&world.store, &with(2000, 99)).await, [0_u64; 0]);
    assert_eq!(take_all(&world.store, &with(2000, 100)).await, [0, 1]);
}

async fn without_a_room_anything_is_taken(world: World) {
    let mut run = world.run(1);
    run.jobs[0].demand = Demand { cpu_milli: u64::MAX, memory: u64::MAX };
    world.submit(&run, at(0)).await;
    assert_eq!(take_all(&world.store, &request(Lane::Shared, 0)).await, [0]);
}

async fn no_more_of_a_run_are_done_at_once_than_may_be(world: World) {
    let mut narrow = world.run(4);
    for job in &mut narrow.jobs {
        job.at_once = Some(2);
    }
    let narrow = world.submit(&narrow, at(0)).await;
    let mut wide = world.run(1);
    wide.jobs[0].scenario = scenario(9);
    world.submit(&wide, at(1)).await;
    assert_eq!(take_all(&world.store, &request(Lane::Shared, 1)).await, [0, 1, 9], "later runs are not held up");
    let held = world.store.held().await.expect("held");
    let first = held.iter().find(|held| held.run == narrow).expect("one of the narrow run");
    complete(&world.store, first, &evidence(1), 2).await;
    assert_eq!(take_all(&world.store, &request(Lane::Shared, 3)).await, [2]);
}

async fn the_next_time_at_which_something_is_ready_is_known(world: World) {
    assert_eq!(world.store.next_ready(Lane::Shared).await.expect("a time"), None);
    world.submit(&world.run(1), at(5)).await;
    world.submit(&NewRun { priority: 9, ..world.run(1) }, at(8)).await;
    assert_eq!(world.store.next_ready(Lane::Shared).await.expect("a time"), Some(at(5)));
    assert_eq!(world.store.next_ready(Lane::Own(Uuid::from_u128(1))).await.expect("a time"), None);
    world.claim(6).await.expect("a job");
    assert_eq!(world.store.next_ready(Lane::Shared).await.expect("a time"), Some(at(8)));
}
