//! Concurrent operations have the same result as some sequential order of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::join_all;
use scenario::event::Event;
use store::{
    Beat, Kept, Lane, NewEvent, NewExperiment, Rescored, RunId, RunState, SpecContent, SpecFile, Store, StoreError,
    StoredEvent,
};

use crate::harness::{World, at, passed, request, scenario, summary};

databases![
    versions_of_a_spec_that_is_kept_by_many_at_once_have_different_numbers,
    runs_that_are_begun_at_once_have_different_numbers,
    no_job_slips_through_when_its_run_is_cancelled,
    what_is_relied_on_is_not_removed,
    an_experiment_is_begun_again_or_removed_but_never_both,
    a_reader_of_events_misses_none,
];

/// A content of its own, with files that others have too: the same ones in another order.
fn content(number: usize) -> SpecContent {
    let file = |name: usize| {
        let path = format!("{}", (name * 7 + number) % 10);
        SpecFile { path, executable: false, content: format!("shared {name}").into_bytes() }
    };
    SpecContent { text: format!("number: {number}"), files: (0..10).map(file).collect() }
}

async fn versions_of_a_spec_that_is_kept_by_many_at_once_have_different_numbers(world: World) {
    let stores = [world.store.clone(), world.other().await];
    for round in 0..5 {
        let spec_id = format!("spec-{round}");
        let keep = |number: usize| {
            let (store, spec_id) = (stores[number % 2].clone(), spec_id.clone());
            // Each content is kept by two.
            tokio::spawn(async move { store.keep_spec("", &spec_id, &content(10 * round + number / 2), at(0)).await })
        };
        let kept = join_all((0..12).map(keep)).await;
        let versions: BTreeSet<_> = kept
            .into_iter()
            .map(|kept| kept.expect("no panic").expect("kept"))
            .map(|kept| (kept.version, kept.digest))
            .collect();
        // Two who keep the same get the same version, unless somebody kept another one between them.
        assert!((6..=12).contains(&versions.len()), "{versions:?}");
        let numbers: Vec<_> = versions.iter().map(|(version, _)| usize::try_from(*version).expect("small")).collect();
        assert_eq!(numbers, (1..=versions.len()).collect::<Vec<_>>());
        for (_, digest) in versions {
            assert_eq!(stores[0].spec(&digest).await.expect("the spec").files.len(), 10);
        }
    }
}

async fn runs_that_are_begun_at_once_have_different_numbers(world: World) {
    let first = world.submitted(1).await;
    let digest = world.spec().await.digest;
    let other = world.other().await;
    let world = Arc::new(world);
    let begin = |number: u32| {
        let (world, other, digest) = (Arc::clone(&world), other.clone(), digest.clone());
        tokio::spawn(async move {
            if number.is_multiple_of(2) {
                return world.store.submit_again(first.experiment, &digest, &world.run(2), at(1)).await;
            }
            let result = passed(&scenario(0));
            let score = summary(std::slice::from_ref(&result));
            let rescored = [Rescored { scenario: result.scenario.clone(), result: Some(result), source: None }];
            other.keep_rescored(first, &digest, &rescored, &score, at(1)).await
        })
    };
    let begun = join_all((0..12).map(begin)).await;
    let mut numbers: Vec<_> = begun.into_iter().map(|begun| begun.expect("no panic").expect("begun").number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (2..14).collect::<Vec<_>>());
}

/// Takes jobs and gives them back, until there is none.
async fn take_and_give_back(store: Store, token: usize) {
    let request = store::ClaimRequest { token: format!("worker-{token}"), ..request(Lane::Shared, 1) };
    while let Some(held) = store.claim(&request).await.expect("a claim") {
        match store.release(&held.lease, "", at(1)).await.expect("an answer") {
            Kept::Kept => {}
            Kept::RunEnded => panic!("a job that is given back ends no run"),
            Kept::Stale => {
                assert_eq!(store.heartbeat(&held.lease, at(9)).await.expect("a beat"), Beat::Cancelled);
                store.give_up(&held.lease, held.run, "cancelled", at(1), &summary).await.expect("given up");
            }
        }
    }
}

async fn no_job_slips_through_when_its_run_is_cancelled(world: World) {
    let stores = [world.store.clone(), world.other().await];
    for _ in 0..10 {
        let run = world.submitted(6).await;
        let workers: Vec<_> =
            (0..6).map(|number| tokio::spawn(take_and_give_back(stores[number % 2].clone(), number))).collect();
        tokio::task::yield_now().await;
        world.store.cancel(run, "enough", at(2), &summary).await.expect("cancelled");
        for worker in join_all(workers).await {
            worker.expect("no panic");
        }
        let kept = world.store.run(run).await.expect("the run");
        assert_eq!((kept.state, kept.ended), (RunState::Cancelled, 6));
        assert_eq!(world.store.held().await.expect("held"), []);
    }
}

async fn what_is_relied_on_is_not_removed(world: World) {
    let world = Arc::new(world);
    let submit = |task: usize| {
        let world = Arc::clone(&world);
        tokio::spawn(async move {
            let mut submitted = 0;
            for number in 0..10 {
                let spec =
                    world.store.keep_spec("", "ledger", &content(task * 100 + number), at(0)).await.expect("kept");
                let new = NewExperiment { spec, ..world.experiment().await };
                match world.store.submit(&new, &world.run(1), at(0)).await {
                    Ok(_) => submitted += 1,
                    Err(StoreError::NotFound(message)) => assert!(message.contains("submit it again"), "{message}"),
                    Err(error) => panic!("{error:?}"),
                }
            }
            submitted
        })
    };
    let submitting: Vec<_> = (0..3).map(submit).collect();
    let other = world.other().await;
    while !submitting.iter().all(tokio::task::JoinHandle::is_finished) {
        other.collect(&[]).await.expect("collected");
    }
    let submitted: usize = join_all(submitting).await.into_iter().map(|task| task.expect("no panic")).sum();
    let experiments = world.store.experiments(100, None).await.expect("experiments");
    assert_eq!(experiments.len(), submitted);
    for experiment in experiments {
        assert_eq!(world.store.spec(&experiment.spec.digest).await.expect("its spec").files.len(), 10);
    }
}

async fn an_experiment_is_begun_again_or_removed_but_never_both(world: World) {
    let other = world.other().await;
    for _ in 0..20 {
        let run = world.submitted(1).await;
        world.finish_one(0).await;
        let digest = world.store.run(run).await.expect("the run").digest;
        let new = world.run(1);
        let again = world.store.submit_again(run.experiment, &digest, &new, at(1));
        let experiments = [run.experiment];
        let (again, removed) = tokio::join!(again, other.collect(&experiments));
        let removed = removed.expect("collected").experiments;
        match again {
            Ok(again) => {
                assert_eq!(removed, 0);
                assert_eq!(world.store.run(again).await.expect("the run").state, RunState::Open);
                world.finish_one(2).await;
            }
            Err(StoreError::NotFound(_)) => assert_eq!(removed, 1),
            Err(error) => panic!("{error:?}"),
        }
    }
}

fn event(run: RunId, number: usize) -> NewEvent {
    let happened = Event::read(number.to_string(), serde_json::Value::Null);
    NewEvent { run, scenario: "default-r0".to_owned(), attempt: 1, at: at(5), happened }
}

/// Goes on after the last number that it saw, until it has seen so many.
async fn read(store: Store, run: RunId, many: usize) -> BTreeSet<String> {
    let (mut seen, mut after) = (BTreeSet::new(), 0);
    while seen.len() < many {
        let page = store.events(run, after, 7).await.expect("a page");
        after = page.last().map_or(after, |last| last.number);
        seen.extend(page.into_iter().map(|stored| stored.event.happened.kind().to_owned()));
        // Whatever is not seen after all have been written is missed for good.
        if seen.len() < many && store.events(run, after, 1).await.expect("a page").is_empty() {
            let all = store.events(run, 0, u64::MAX).await.expect("events");
            let is_seen = |stored: &StoredEvent| seen.contains(stored.event.happened.kind());
            let passed_by = all.iter().filter(|stored| stored.number <= after && !is_seen(stored));
            assert_eq!(passed_by.count(), 0, "events became visible behind the reader");
        }
    }
    seen
}

async fn a_reader_of_events_misses_none(world: World) {
    let runs = [world.submitted(1).await, world.submitted(1).await];
    let stores = [world.store.clone(), world.other().await];
    let write = |task: usize| {
        let store = stores[task % 2].clone();
        tokio::spawn(async move {
            for number in 0..25 {
                let number = task * 100 + 2 * number;
                let mut events = vec![event(runs[0], number), event(runs[1], number), event(runs[0], number + 1)];
                if task.is_multiple_of(2) {
                    events.reverse();
                }
                store.note(&events).await.expect("noted");
            }
        })
    };
    let reading = tokio::spawn(read(world.other().await, runs[0], 8 * 50));
    for written in join_all((0..8).map(write)).await {
        written.expect("no panic");
    }
    assert_eq!(reading.await.expect("nothing was missed").len(), 400);
}
