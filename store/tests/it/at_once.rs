//! Many who work on one queue at once.

use std::collections::HashSet;
use std::sync::Arc;

use store::{JobId, Kept, Lane, RunState, Store};
use tokio::task::JoinSet;

use crate::harness::{World, complete, evidence, request};

databases![
    tasks_of_one_process_take_each_job_once,
    two_processes_take_each_job_once,
    two_that_finish_at_once_end_the_run_once,
    cancelling_and_completing_at_once_ends_the_run_once,
    a_reader_never_sees_half_of_a_completion,
];

/// Takes and completes jobs until there is none; which, and how often one was the last of its run.
async fn work(store: Store, token: usize) -> (Vec<JobId>, usize) {
    let (mut done, mut ended) = (Vec::new(), 0);
    let request = store::ClaimRequest { token: format!("worker-{token}"), ..request(Lane::Shared, 1) };
    while let Some(held) = store.claim(&request).await.expect("a claim") {
        match complete(&store, &held, &evidence(10), 2).await {
            Kept::Kept => {}
            Kept::RunEnded => ended += 1,
            Kept::Stale => panic!("somebody else took {:?}", held.lease),
        }
        done.push(held.lease.job);
    }
    (done, ended)
}

async fn all_is_done_once(world: &World, stores: &[Store], tasks: usize, jobs: u32) {
    let run = world.submitted(jobs).await;
    let mut workers = JoinSet::new();
    for number in 0..tasks {
        workers.spawn(work(stores[number % stores.len()].clone(), number));
    }
    let (mut done, mut ended) = (Vec::new(), 0);
    for (jobs, last) in workers.join_all().await {
        done.extend(jobs);
        ended += last;
    }
    let different: HashSet<_> = done.iter().collect();
    assert_eq!((done.len(), different.len(), ended), (jobs as usize, jobs as usize, 1));
    let run = world.store.run(run).await.expect("the run");
    assert_eq!(
        (run.state, run.ended, run.score.expect("a score").passed),
        (RunState::Finished, u64::from(jobs), jobs as usize)
    );
}

async fn tasks_of_one_process_take_each_job_once(world: World) {
    all_is_done_once(&world, std::slice::from_ref(&world.store), 8, 200).await;
}

async fn two_processes_take_each_job_once(world: World) {
    let stores = [world.store.clone(), world.other().await];
    all_is_done_once(&world, &stores, 8, 200).await;
}

async fn two_that_finish_at_once_end_the_run_once(world: World) {
    let other = world.other().await;
    for _ in 0..30 {
        let run = world.submitted(2).await;
        let (first, second) = (world.claim(0).await.expect("a job"), world.claim(0).await.expect("a job"));
        let (small, large) = (evidence(1), evidence(crate::harness::LARGE));
        let ends = tokio::join!(complete(&world.store, &first, &small, 1), complete(&other, &second, &large, 1));
        assert!(matches!(ends, (Kept::Kept, Kept::RunEnded) | (Kept::RunEnded, Kept::Kept)), "{ends:?}");
        let run = world.store.run(run).await.expect("the run");
        assert_eq!((run.state, run.score.expect("a score").passed), (RunState::Finished, 2));
    }
}

async fn cancelling_and_completing_at_once_ends_the_run_once(world: World) {
    let other = world.other().await;
    for _ in 0..30 {
        let run = world.submitted(2).await;
        let held = world.claim(0).await.expect("a job");
        let small = evidence(1);
        let cancel = other.cancel(run, "enough", crate::harness::at(1), &crate::harness::summary);
        let (completed, cancelled) = tokio::join!(complete(&world.store, &held, &small, 1), cancel);
        let ends = (completed, cancelled.expect("cancelled"));
        assert!(matches!(ends, (Kept::Kept, Kept::RunEnded) | (Kept::RunEnded, Kept::Kept)), "{ends:?}");
        assert_eq!(world.store.run(run).await.expect("the run").state, RunState::Cancelled);
    }
}

/// Looks at a run until it has ended; whatever is seen must be whole.
async fn watch(store: Store, run: store::RunId) {
    loop {
        let seen = store.run(run).await.expect("the run");
        assert_eq!(seen.state == RunState::Finished, seen.score.is_some() && seen.ended == seen.total, "{seen:?}");
        let scenarios = store.scenarios(run).await.expect("scenarios");
        for stored in &scenarios {
            let Some(result) = &stored.result else { continue };
            assert_eq!(result.invariants.len(), 2, "verdicts come with the result");
            let (job, attempt) = stored.source.expect("evidence comes with the result");
            assert!(store.evidence(job, attempt).await.expect("readable").is_some());
        }
        let ended = scenarios.iter().filter(|stored| stored.result.is_some()).count() as u64;
        assert!(ended >= seen.ended, "a result is there before it is counted");
        if seen.state == RunState::Finished {
            break;
        }
    }
}

async fn a_reader_never_sees_half_of_a_completion(world: World) {
    let world = Arc::new(world);
    let run = world.submitted(60).await;
    let watcher = tokio::spawn(watch(world.other().await, run));
    for number in 0..60 {
        let held = world.claim(0).await.expect("a job");
        let bytes = if number % 2 == 0 { 10 } else { crate::harness::LARGE };
        complete(&world.store, &held, &evidence(bytes), 1).await;
    }
    watcher.await.expect("all that was seen was whole");
}
