//! Opening a store.

use std::fs;

use store::{Store, StoreError};
use tokio::task::JoinSet;

use crate::harness::{World, at};

async fn unusable(folder: &std::path::Path) -> String {
    let error = Store::open(folder).await.expect_err("it cannot be used");
    assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
    error.to_string()
}

#[tokio::test]
async fn what_was_kept_is_there_after_closing() {
    let world = World::new().await;
    let run = world.submitted(1).await;
    world.store.close().await;
    assert!(!world.folder().join("touchstone.db-wal").exists(), "all is in one file");
    let other = world.other().await;
    assert_eq!(other.run(run).await.expect("the run").id, run);
    other
        .submit_again(run.experiment, &other.run(run).await.expect("the run").digest, &world.run(1), at(1))
        .await
        .expect("again");
}

#[tokio::test]
async fn a_folder_is_made() {
    let world = World::new().await;
    let folder = world.folder().join("deep/in it");
    Store::open(&folder).await.expect("a store");
    assert!(folder.join("touchstone.db").exists());
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused() {
    let world = World::new().await;
    world.store.close().await;
    let mut raw = world.raw().await;
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'later', 1, x'00', 0)";
    sqlx::query(newer).execute(&mut raw).await.expect("a later migration");
    let message = unusable(world.folder()).await;
    assert!(
        message.contains("touchstone.db") && message.contains("9999") && message.contains("a newer touchstone"),
        "{message}"
    );
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("touchstone.db");
    fs::write(&path, "this is not a database, but a text that is long enough ".repeat(40)).expect("written");
    let before = fs::read(&path).expect("the file");
    let message = unusable(folder.path()).await;
    assert!(message.contains(&path.display().to_string()) && message.contains("not a database"), "{message}");
    assert_eq!(fs::read(&path).expect("the file"), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_can_open_a_new_store_at_once() {
    for _ in 0..20 {
        let folder = tempfile::tempdir().expect("a folder");
        let mut opening = JoinSet::new();
        for _ in 0..6 {
            let path = folder.path().to_owned();
            opening.spawn(async move { Store::open(&path).await });
        }
        for opened in opening.join_all().await {
            let store = opened.expect("a store");
            assert_eq!(store.experiments(1, None).await.expect("experiments"), []);
            store.close().await;
        }
    }
}

#[tokio::test]
async fn readers_go_on_when_other_processes_come_and_go() {
    let world = World::new().await;
    let run = world.submitted(1).await;
    for _ in 0..5 {
        let other = world.other().await;
        other.run(run).await.expect("the run");
        other.close().await;
        world.store.run(run).await.expect("the run");
        world.store.scenarios(run).await.expect("scenarios");
    }
    assert!(world.claim(0).await.is_some());
}
