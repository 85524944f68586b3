//! Removing what is old.

use std::fs;

use store::{ExperimentId, Garbage, NewEvent, NewExperiment, Removed, RunId, SpecContent, SpecFile, StoreError};
use uuid::Uuid;

use crate::harness::{LARGE, World, at, complete, evidence, passed, summary};

databases![
    the_newest_and_those_that_have_not_ended_stay,
    all_that_belongs_to_an_experiment_goes_with_it,
    an_experiment_that_was_begun_again_meanwhile_stays,
    folders_without_a_row_are_removed_and_nothing_else,
];

/// An experiment with a spec of its own and large evidence, which has ended.
async fn ended(world: &World, created: i64) -> RunId {
    let file =
        |path: &str, content: String| SpecFile { path: path.to_owned(), executable: false, content: content.into() };
    let files = vec![file("own", format!("own {created}")), file("shared", "shared".to_owned())];
    let content = SpecContent { text: format!("version: {created}"), files };
    let spec = world.store.keep_spec("", "books", &content, at(created)).await.expect("a spec");
    let experiment = NewExperiment { spec, ..world.experiment().await };
    let run = world.store.submit(&experiment, &world.run(1), at(created)).await.expect("submitted");
    let held = world.claim(created).await.expect("a job");
    assert_eq!(held.run, run);
    complete(&world.store, &held, &evidence(LARGE), created).await;
    let event = NewEvent {
        run,
        scenario: held.scenario.id.to_string(),
        attempt: 1,
        at: at(created),
        kind: "phase".to_owned(),
        body: serde_json::Value::Null,
    };
    world.store.note(&[event]).await.expect("noted");
    run
}

async fn garbage(world: &World, before: i64, keep: u64) -> Vec<ExperimentId> {
    world.store.garbage(Garbage { before: at(before), keep, most_bytes: None }).await.expect("garbage")
}

async fn rows(world: &World) -> Vec<(&'static str, i64)> {
    let mut rows = Vec::new();
    for (table, sql) in [
        ("experiments", "SELECT count(*) FROM experiments"),
        ("runs", "SELECT count(*) FROM runs"),
        ("scenarios", "SELECT count(*) FROM scenarios"),
        ("verdicts", "SELECT count(*) FROM verdicts"),
        ("jobs", "SELECT count(*) FROM jobs"),
        ("attempts", "SELECT count(*) FROM attempts"),
        ("events", "SELECT count(*) FROM events"),
        ("specs", "SELECT count(*) FROM specs"),
        ("spec_versions", "SELECT count(*) FROM spec_versions"),
        ("spec_files", "SELECT count(*) FROM spec_files"),
        ("blobs", "SELECT count(*) FROM blobs"),
    ] {
        rows.push((table, world.number(sql).await));
    }
    rows
}

async fn the_newest_and_those_that_have_not_ended_stay(world: World) {
    let (first, second, third) = (ended(&world, 1).await, ended(&world, 2).await, ended(&world, 3).await);
    let open = world.submit(&world.run(1), at(0)).await;
    assert_eq!(garbage(&world, 3, 0).await, [first.experiment, second.experiment], "before a time");
    assert_eq!(garbage(&world, 9, 2).await, [first.experiment], "but the newest stay");
    assert_eq!(garbage(&world, 9, u64::MAX).await, []);
    assert_eq!(garbage(&world, 9, 0).await, [first.experiment, second.experiment, third.experiment]);
    assert!(!garbage(&world, 9, 0).await.contains(&open.experiment));
}

async fn all_that_belongs_to_an_experiment_goes_with_it(world: World) {
    let kept = ended(&world, 1).await;
    let (before, files) = (rows(&world).await, world.files());
    // Without this spec nothing of the harness's own would be counted twice.
    let old = ended(&world, 2).await;
    let result = passed(&crate::harness::scenario(0));
    let digest = world.store.run(old).await.expect("the run").digest;
    let rescored = [store::Rescored { scenario: result.scenario.clone(), result: Some(result.clone()), source: None }];
    world.store.keep_rescored(old, &digest, &rescored, &summary(&[result]), at(3)).await.expect("rescored");
    assert_ne!(rows(&world).await, before);
    let removed = world.store.collect(&[old.experiment]).await.expect("collected");
    assert_eq!(removed, Removed { experiments: 1, specs: 2 }, "its own version, and one that nothing used");
    let after: Vec<_> = rows(&world).await;
    let expected: Vec<_> = before
        .into_iter()
        .map(|(table, rows)| (table, if ["specs", "spec_versions"].contains(&table) { rows - 1 } else { rows }))
        .collect();
    assert_eq!(after, expected);
    assert_eq!(world.files(), files);
    assert!(matches!(world.store.run(old).await, Err(StoreError::NotFound(_))));
    let (job, attempt) = world.store.scenarios(kept).await.expect("scenarios")[0].source.expect("a source");
    assert_eq!(world.store.evidence(job, attempt).await.expect("readable"), Some(evidence(LARGE)));
    let digest = world.store.run(kept).await.expect("the run").digest;
    assert_eq!(world.store.spec(&digest).await.expect("the spec").files.len(), 2);
}

async fn an_experiment_that_was_begun_again_meanwhile_stays(world: World) {
    let run = ended(&world, 1).await;
    let garbage = garbage(&world, 9, 0).await;
    let digest = world.store.run(run).await.expect("the run").digest;
    world.store.submit_again(run.experiment, &digest, &world.run(1), at(2)).await.expect("again");
    assert_eq!(world.store.collect(&garbage).await.expect("collected").experiments, 0);
    assert_eq!(world.store.runs(run.experiment).await.expect("runs").len(), 2);
}

async fn folders_without_a_row_are_removed_and_nothing_else(world: World) {
    let kept = ended(&world, 1).await;
    let files = world.files();
    let evidence = world.folder().join("evidence");
    fs::create_dir_all(evidence.join(Uuid::from_u128(77).to_string()).join("1")).expect("a folder");
    world.store.collect(&[]).await.expect("collected");
    assert_eq!(world.files(), files);
    fs::create_dir(evidence.join("notes")).expect("a folder of somebody else");
    world.store.collect(&[kept.experiment]).await.expect("collected");
    assert_eq!(world.files(), [evidence.join("notes").display().to_string()]);
}

/// A server gives room back by itself, so this is about files only.
#[tokio::test]
async fn the_file_shrinks() {
    let world = World::sqlite().await;
    let run = world.submitted(1).await;
    let body = serde_json::Value::String("x".repeat(4000));
    let event = NewEvent { run, scenario: String::new(), attempt: 1, at: at(0), kind: "large".to_owned(), body };
    world.store.note(&vec![event; 2500]).await.expect("noted");
    world.finish_one(0).await;
    let size = || fs::metadata(world.folder().join("touchstone.db")).expect("the file").len();
    let reader = world.other().await;
    world.store.collect(&[]).await.expect("collected");
    assert!(size() > 10_000_000, "{}", size());
    world.store.collect(&[run.experiment]).await.expect("collected");
    assert!(size() < 1_000_000, "{}", size());
    assert_eq!(reader.experiments(1, None).await.expect("experiments"), []);
}
