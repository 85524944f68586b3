//! Many jobs, and several workers at once.

use std::collections::HashSet;

use scenario::result::RowStatus;
use store::{AttemptOutcome, RunState};
use worker::Notice;

use crate::fake::Act;
use crate::harness::{World, scenario, start, until};

databases![three_hundred_jobs_have_one_result_each, no_job_is_taken_by_two_workers,];

async fn three_hundred_jobs_have_one_result_each(world: World) {
    let run = world.submit(300).await;
    (0..8).for_each(|replica| world.fake.script(&scenario(replica), [Act::Wait]));
    let working = start(world.worker_with(1, |config| config.slots = 8));
    until("the first eight run", async || world.fake.running() == 8).await;
    world.fake.open_gate();
    working.ended().await;
    let kept = world.run(run).await;
    assert_eq!((kept.state, kept.ended), (RunState::Finished, 300));
    let results = world.results(run).await;
    assert_eq!(results.len(), 300);
    assert!(results.iter().all(|result| result.status == RowStatus::Pass));
    let attempts = world.attempts(run).await;
    assert_eq!(attempts.len(), 300);
    assert!(attempts.iter().all(|one| one.outcome == AttemptOutcome::Judged));
    assert_eq!(world.fake.peak(), 8);
    let ended = world.notices().iter().filter(|notice| matches!(notice, Notice::Ended { .. })).count();
    assert_eq!(ended, 300);
    let run_ended = world.notices().iter().filter(|notice| matches!(notice, Notice::RunEnded { .. })).count();
    assert_eq!(run_ended, 1);
}

async fn no_job_is_taken_by_two_workers(world: World) {
    let run = world.submit(60).await;
    let workers: Vec<_> = (1..=3).map(|number| start(world.worker_with(number, |config| config.slots = 3))).collect();
    for working in workers {
        working.ended().await;
    }
    let seen = world.fake.seen();
    let scenarios: HashSet<_> = seen.iter().map(|seen| seen.identity.scenario.as_str()).collect();
    assert_eq!((seen.len(), scenarios.len()), (60, 60));
    assert!(world.fake.peak() <= 9);
    assert_eq!(world.run(run).await.state, RunState::Finished);
}
