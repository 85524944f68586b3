//! Tests of a run's other parts: its spec, the files beside it, its secrets, its agent.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use scenario::result::RowStatus;
use scenario::verdict::ErrorKind;
use store::{RunId, RunState, Settings, SpecFile, StoredAgent};

use crate::fake::Act;
use crate::harness::{Submission, World, start};

fn with_files(spec_id: &'static str, replicas: usize) -> Submission {
    let file = |path: &str, executable, content: &str| SpecFile {
        path: path.to_owned(),
        executable,
        content: content.as_bytes().to_vec(),
    };
    let files = vec![file("data.txt", false, "some data"), file("scripts/agent.sh", true, "true")];
    Submission { spec_id, replicas, files, ..Submission::default() }
}

async fn assert_errors(world: &World, run: RunId, part: &str) {
    assert_eq!(world.run(run).await.state, RunState::Finished);
    let results = world.results(run).await;
    assert!(!results.is_empty());
    for result in results {
        let error = result.error.expect("it is an error");
        assert_eq!(error.kind, ErrorKind::Infrastructure);
        assert!(error.message.contains(part), "{}", error.message);
    }
}

#[tokio::test]
async fn the_files_beside_a_spec_are_there_and_unpacked_once() {
    let world = World::sqlite().await;
    let run = world.submit_with(with_files("files", 3)).await;
    world.work(world.worker(1)).await;
    assert!(world.fake.seen().iter().all(|seen| seen.data.as_deref() == Some("some data")));
    let folder = worker::bundle_folder(&world.folder.path().join("bundles"), &world.run(run).await.digest);
    let script = fs::metadata(folder.join("scripts/agent.sh")).unwrap();
    assert_eq!(script.permissions().mode() & 0o100, 0o100);
    assert_eq!(fs::metadata(folder.join("data.txt")).unwrap().permissions().mode() & 0o100, 0);
    let before = fs::metadata(&folder).unwrap().ino();

    world.submit_with(with_files("files", 1)).await;
    world.work(world.worker(2)).await;
    assert_eq!(fs::metadata(&folder).unwrap().ino(), before);
    assert_eq!(world.fake.seen().len(), 4);
    assert!(fs::read_dir(world.folder.path().join("scratch")).unwrap().next().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_workers_can_unpack_the_same_files_at_once() {
    let world = World::sqlite().await;
    world.submit_with(with_files("files", 8)).await;
    let workers: Vec<_> = (1..=4).map(|number| start(world.worker(number))).collect();
    for working in workers {
        working.ended().await;
    }
    assert_eq!(world.fake.seen().len(), 8);
    assert!(world.fake.seen().iter().all(|seen| seen.data.as_deref() == Some("some data")));
    assert_eq!(fs::read_dir(world.folder.path().join("bundles")).unwrap().count(), 1);
    assert!(fs::read_dir(world.folder.path().join("scratch")).unwrap().next().is_none());
}

#[tokio::test]
async fn files_that_cannot_be_unpacked_are_tried_again() {
    let world = World::sqlite().await;
    let run = world.submit_with(with_files("files", 1)).await;
    let bundles = world.folder.path().join("bundles");
    fs::write(&bundles, "no folder can be made here").unwrap();
    let mut worker = world.worker(1);
    worker.tick().await.unwrap();
    crate::harness::until("it has failed", async || world.retried() == 1).await;
    fs::remove_file(&bundles).unwrap();
    worker.run_until_empty().await.unwrap();
    worker.finish().await;
    assert_eq!(world.results(run).await[0].status, RowStatus::Pass);
    assert!(world.attempts(run).await[0].message.as_deref().unwrap().contains("cannot be unpacked"));
}

#[tokio::test]
async fn files_that_lead_out_of_the_folder_are_not_unpacked() {
    let world = World::sqlite().await;
    let outside = SpecFile { path: "../outside.txt".to_owned(), executable: false, content: Vec::new() };
    let run = world.submit_with(Submission { files: vec![outside], ..Submission::default() }).await;
    world.work(world.worker(1)).await;
    assert_eq!(world.results(run).await[0].status, RowStatus::Error);
    assert!(!world.folder.path().join("outside.txt").exists());
    assert!(!world.folder.path().join("bundles/outside.txt").exists());
}

#[tokio::test]
async fn jobs_of_a_spec_that_cannot_be_read_end_as_errors() {
    let world = World::sqlite().await;
    let run = world.submit_with(Submission { replicas: 2, text: Some("version: 99\n"), ..Submission::default() }).await;
    world.work(world.worker(1)).await;
    assert_errors(&world, run, "the stored spec is not valid for this version").await;
    assert!(world.fake.seen().is_empty());
    assert_eq!(world.attempts(run).await.len(), 2, "there is no point in trying again");
}

#[tokio::test]
async fn missing_secrets_are_errors_of_their_own_run_only() {
    let world = World::sqlite().await;
    *world.secrets.missing_for.lock().unwrap() = Some("needy".to_owned());
    let needy = world.submit_with(Submission { spec_id: "needy", replicas: 3, ..Submission::default() }).await;
    let other = world.submit_with(Submission { spec_id: "other", replicas: 3, ..Submission::default() }).await;
    world.work(world.worker_with(1, |config| config.slots = 2)).await;
    assert_errors(&world, needy, "the secret `KEY` is not set").await;
    assert!(world.results(other).await.iter().all(|result| result.status == RowStatus::Pass));

    *world.secrets.missing_for.lock().unwrap() = None;
    let again = world.submit_with(Submission { spec_id: "needy", ..Submission::default() }).await;
    world.work(world.worker(2)).await;
    assert_eq!(world.results(again).await[0].status, RowStatus::Pass);
}

#[tokio::test]
async fn an_agent_that_this_version_does_not_know_is_an_error() {
    let world = World::sqlite().await;
    let settings = Settings { agent: Some(StoredAgent::Unknown("sorcerer".to_owned())), ..Settings::default() };
    let run = world.submit_with(Submission { settings, ..Submission::default() }).await;
    world.work(world.worker(1)).await;
    assert_errors(&world, run, "knows no agent `sorcerer`").await;
}

#[tokio::test]
async fn events_of_a_run_that_was_removed_take_no_others_with_them() {
    let world = World::sqlite().await;
    let removed = world.submit_with(Submission { spec_id: "removed", ..Submission::default() }).await;
    let kept = world.submit_with(Submission { spec_id: "kept", ..Submission::default() }).await;
    world.fake.otherwise(Act::WaitStubbornly);
    let working = start(world.worker_with(1, |config| config.slots = 2));
    crate::harness::until("both run", async || world.fake.running() == 2).await;
    world.store.collect(&[removed.experiment]).await.unwrap();
    world.fake.open_gate();
    working.ended().await;
    let events = world.events(kept).await;
    assert!(events.contains(&"sandbox_destroyed".to_owned()), "{events:?}");
    assert_eq!(events.last().map(String::as_str), Some("judged"));
    assert_eq!(world.run(kept).await.state, RunState::Finished);
}
