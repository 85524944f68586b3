//! Tests that no job is run whose evidence could not be kept, and that no worker waits silently.

use std::fs;
use std::time::Duration;

use store::{PROBING, RunState, Worker};

use crate::fake::Act;
use crate::harness::{World, scenario, serve, start, until, worker_id};

databases![
    nothing_is_claimed_while_the_place_cannot_be_written,
    a_place_that_breaks_while_scenarios_run_is_told_and_nothing_is_lost,
    nothing_is_claimed_for_a_place_of_another_database,
    who_empties_a_queue_does_not_wait_for_ever,
];

/// Waits until a worker gives a reason with this in it.
async fn until_reason(world: &World, part: &str) -> Worker {
    let found = async || world.store.worker(worker_id(1)).await.unwrap();
    let says = |row: &Worker| row.pulse.reason.as_ref().is_some_and(|reason| reason.contains(part));
    until(part, async || found().await.as_ref().is_some_and(says)).await;
    found().await.unwrap()
}

async fn nothing_is_claimed_while_the_place_cannot_be_written(world: World) {
    let place = world.break_place();
    let run = world.submit(2).await;
    let serving = serve(world.service_with(1, |_| ()));
    let row = until_reason(&world, "probing the artifact place failed once: cannot").await;
    assert_eq!(row.pulse.problems, [row.pulse.reason.unwrap()]);
    assert!(world.has_problem("probing the artifact place failed, and is tried again"));
    world.clock.advance(Duration::from_secs(6));
    until_reason(&world, "probing the artifact place failed 2 times").await;
    assert_eq!(world.fake.seen().len(), 0, "nothing was claimed");
    until("it is counted", async || {
        let counts = world.store.retry_counts().await.unwrap();
        counts.iter().any(|(operation, failures)| operation == PROBING && *failures >= 2)
    })
    .await;
    fs::remove_file(&place).unwrap();
    world.clock.advance(Duration::from_secs(6));
    until("the run ends", async || world.run(run).await.state == RunState::Finished).await;
    assert!(world.has_problem("probing the artifact place works again"));
    serving.control.drain();
    serving.ended().await;
}

async fn a_place_that_breaks_while_scenarios_run_is_told_and_nothing_is_lost(world: World) {
    world.fake.script(&scenario(0), [Act::WaitStubbornly]);
    let run = world.submit(1).await;
    let serving = serve(world.service_with(1, |_| ()));
    until("it runs", async || world.fake.running() == 1).await;
    let place = world.break_place();
    world.fake.open_gate();
    until_reason(&world, "keeping what came of a scenario failed").await;
    let later = world.submit(1).await;
    until_reason(&world, "keeping what came of a scenario failed 2 times").await;
    assert_eq!(world.fake.seen().len(), 1, "there is a free slot, and nothing more is claimed");
    fs::remove_file(&place).unwrap();
    for run in [run, later] {
        until("the run ends", async || world.run(run).await.state == RunState::Finished).await;
        assert_eq!(world.attempts(run).await.len(), 1, "no attempt was lost");
    }
    assert!(world.has_problem("keeping what came of a scenario works again"));
    serving.control.drain();
    serving.ended().await;
}

async fn nothing_is_claimed_for_a_place_of_another_database(world: World) {
    let mark = world.folder.path().join("evidence/touchstone.json");
    fs::write(&mark, "{\"database\": \"another\", \"instance\": \"elsewhere\"}").unwrap();
    let run = world.submit(1).await;
    let serving = serve(world.service_with(1, |_| ()));
    until_reason(&world, "belongs to another database, another (elsewhere)").await;
    assert_eq!(world.fake.seen().len(), 0, "nothing was claimed");
    world.store.adopt_artifacts().await.unwrap();
    world.clock.advance(Duration::from_secs(6));
    until("the run ends", async || world.run(run).await.state == RunState::Finished).await;
    serving.control.drain();
    serving.ended().await;
}

async fn who_empties_a_queue_does_not_wait_for_ever(world: World) {
    world.break_place();
    let run = world.submit(1).await;
    let working = start(world.worker(1));
    until("it ends", async || {
        world.clock.advance(Duration::from_secs(6));
        working.has_ended()
    })
    .await;
    working.ended().await;
    assert!(world.has_problem("probing the artifact place failed"));
    assert_eq!(world.run(run).await.state, RunState::Open, "it can be taken up again");
    assert_eq!(world.fake.seen().len(), 0);
}
