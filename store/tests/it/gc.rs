//! Removing what is old.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use scenario::event::Event;
use store::{ExperimentId, Garbage, NewEvent, NewExperiment, Removed, RunId, SpecContent, SpecFile, StoreError};
use uuid::Uuid;

use crate::harness::{LARGE, World, at, complete, evidence, passed, summary};

databases![
    the_newest_and_those_that_have_not_ended_stay,
    all_that_belongs_to_an_experiment_goes_with_it,
    an_experiment_that_was_begun_again_meanwhile_stays,
    folders_without_a_row_go_by_their_age_and_only_when_asked_for,
    files_of_an_interrupted_removal_go_with_the_next_one,
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
        happened: Event::read("phase", serde_json::Value::Null),
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

/// A folder of an experiment that has no row, last written to so many days ago.
fn orphan(world: &World, number: u128, days: u64) -> String {
    let folder = world.folder().join("evidence").join(Uuid::from_u128(number).to_string());
    fs::create_dir_all(folder.join("1")).expect("a folder");
    let then = now() - Duration::from_secs(days * 86_400);
    for path in [folder.join("1"), folder.clone()] {
        fs::File::open(path).expect("the folder").set_modified(then).expect("a time");
    }
    folder.display().to_string()
}

/// The time so many days ago.
fn days_ago(days: u64) -> Timestamp {
    Timestamp::try_from(now()).expect("a time") - Duration::from_secs(days * 86_400)
}

#[expect(clippy::disallowed_methods, reason = "the file system writes the machine's own time down")]
fn now() -> SystemTime {
    SystemTime::now()
}

async fn folders_without_a_row_go_by_their_age_and_only_when_asked_for(world: World) {
    let kept = ended(&world, 1).await;
    let files = world.files();
    let (old, young) = (orphan(&world, 77, 9), orphan(&world, 78, 2));
    fs::create_dir(world.folder().join("evidence/notes")).expect("a folder of somebody else");
    let is_there = |folder: &String| fs::exists(folder).expect("a folder");
    world.store.collect(&[]).await.expect("collected");
    assert!(is_there(&old) && is_there(&young), "not without being asked");
    assert_eq!(world.store.orphans(days_ago(10)).await.expect("orphans"), []);
    assert_eq!(world.store.orphans(days_ago(7)).await.expect("orphans").len(), 1);
    // What is deep in a folder was written to, though the folder itself is old.
    let file = Path::new(&old).join("1/evidence.json.0123456789abcdef");
    fs::write(&file, "half").expect("written");
    assert_eq!(world.store.remove_orphans(days_ago(7)).await.expect("removed"), 0, "it is being written to");
    fs::remove_file(&file).expect("removed");
    orphan(&world, 77, 9);
    assert_eq!(world.store.remove_orphans(days_ago(7)).await.expect("removed"), 1);
    assert!(!is_there(&old) && is_there(&young));
    assert_eq!(world.store.remove_orphans(days_ago(1)).await.expect("removed"), 1);
    world.store.collect(&[kept.experiment]).await.expect("collected");
    assert!(!files.is_empty());
    assert_eq!(world.files(), [world.folder().join("evidence/notes").display().to_string()]);
}

async fn files_of_an_interrupted_removal_go_with_the_next_one(world: World) {
    let run = ended(&world, 1).await;
    let stays = ended(&world, 2).await;
    let before = world.files().len();
    // As a process leaves it that was killed between the rows and the files.
    let mark = format!("removed/{}", run.experiment);
    world.store.set_setting(&mark, "").await.expect("noted");
    world.execute("DELETE FROM experiments WHERE created_at = (SELECT min(created_at) FROM experiments)").await;
    world.store.collect(&[]).await.expect("collected");
    assert!(
        world.files().len() < before && world.files().iter().all(|file| !file.contains(&run.experiment.to_string()))
    );
    assert!(world.files().iter().any(|file| file.contains(&stays.experiment.to_string())));
    assert_eq!(world.store.setting(&mark).await.expect("read"), None);
}

/// A server gives room back by itself, so this is about files only.
#[tokio::test]
async fn the_file_shrinks() {
    let world = World::sqlite().await;
    let run = world.submitted(1).await;
    let happened = Event::read("large", serde_json::Value::String("x".repeat(4000)));
    let event = NewEvent { run, scenario: String::new(), attempt: 1, at: at(0), happened };
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
