//! Artifacts, in a folder and in S3.

use std::fs;

use futures::TryStreamExt as _;
use jiff::Timestamp;
use store::{Artifacts, Kept, StoreError};
use tempfile::TempDir;

use crate::fake_s3::FakeS3;
use crate::harness::{LARGE, World, complete, evidence};

/// Promises that hold for every artifact place.
async fn artifacts_come_and_go(artifacts: &Artifacts) {
    assert_eq!(artifacts.list("a").await.expect("listed"), []);
    artifacts.put("a/b/one", "hello").await.expect("kept");
    artifacts.put("a/two", vec![0_u8, 255]).await.expect("kept");
    artifacts.put("ab/three", "").await.expect("kept");
    artifacts.put("a/b/one", "hello world").await.expect("kept again");
    assert_eq!(artifacts.get("a/b/one").await.expect("read"), "hello world");
    assert_eq!(artifacts.get("a/two").await.expect("read"), [0, 255].as_slice());
    assert_eq!(artifacts.get_range("a/b/one", 6..9).await.expect("read"), "wor");
    assert_eq!(artifacts.size("a/b/one").await.expect("found"), Some(11));
    assert_eq!(artifacts.size("ab/three").await.expect("found"), Some(0));
    assert_eq!(artifacts.size("a/three").await.expect("not found"), None);
    for (range, expected) in [(None, "hello world"), (Some(0..5), "hello")] {
        let stream = artifacts.stream("a/b/one", range).await.expect("a stream");
        let parts: Vec<_> = stream.try_collect().await.expect("parts");
        assert_eq!(parts.concat(), expected.as_bytes());
    }
    let mut listed: Vec<_> =
        artifacts.list("a").await.expect("listed").into_iter().map(|one| (one.key, one.size)).collect();
    listed.sort();
    assert_eq!(listed, [("a/b/one".to_owned(), 11), ("a/two".to_owned(), 2)], "not what begins alike");
    let missing = artifacts.get("a/three").await;
    assert!(matches!(&missing, Err(StoreError::Artifact { key, .. }) if key.ends_with("/a/three")), "{missing:?}");
    artifacts.delete("a/two").await.expect("removed");
    artifacts.delete("a/two").await.expect("it is gone already");
    assert_eq!(artifacts.size("a/two").await.expect("not found"), None);
    for wrong in ["../out", "a/../../out", "/", "a//b", ""] {
        assert!(artifacts.put(wrong, "x").await.is_err(), "`{wrong}`");
    }
}

/// A file that takes several parts.
async fn large_files_are_kept_whole(artifacts: &Artifacts) {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("large");
    let content: Vec<u8> = (0..20 * 1024 * 1024_u32).map(|number| (number % 251) as u8).collect();
    for length in [0, 5, 8 * 1024 * 1024, content.len()] {
        fs::write(&path, &content[..length]).expect("written");
        artifacts.put_file("snapshots/large", &path).await.expect("kept");
        assert!(artifacts.get("snapshots/large").await.expect("read") == content[..length], "{length} bytes");
    }
    let missing = artifacts.put_file("snapshots/none", &folder.path().join("none")).await;
    assert!(matches!(missing, Err(StoreError::Files { .. })), "{missing:?}");
}

#[tokio::test]
async fn in_a_folder() {
    let folder = TempDir::new().expect("a folder");
    let place = folder.path().join("artifacts");
    let artifacts = Artifacts::open(&format!("file:{}", place.display()), []).expect("artifacts");
    artifacts_come_and_go(&artifacts).await;
    large_files_are_kept_whole(&artifacts).await;
    assert_eq!(fs::read(place.join("a/b/one")).expect("a plain file"), b"hello world");
    artifacts.delete("a/b/one").await.expect("removed");
    assert!(!place.join("a").exists(), "empty folders go too");
}

#[tokio::test]
async fn in_s3() {
    let s3 = FakeS3::start().await;
    for url in ["s3://bucket", "s3://bucket/deep/in-it", "s3://bucket/"] {
        let artifacts = Artifacts::open(url, s3.variables()).expect("artifacts");
        artifacts_come_and_go(&artifacts).await;
        for name in ["a/b/one", "ab/three"] {
            artifacts.delete(name).await.expect("removed");
        }
        assert_eq!(s3.objects.names(), Vec::<String>::new());
    }
    large_files_are_kept_whole(&Artifacts::open("s3://bucket/deep", s3.variables()).expect("artifacts")).await;
    assert_eq!(s3.objects.names(), ["deep/snapshots/large"], "no parts are left");
}

#[tokio::test]
async fn evidence_goes_to_s3_and_is_removed_there() {
    let (world, s3) = (World::sqlite().await, FakeS3::start().await);
    let store = world
        .store
        .clone()
        .with_artifacts(Artifacts::open("s3://bucket/touchstone", s3.variables()).expect("artifacts"));
    let run = world.submitted(1).await;
    let held = world.claim(0).await.expect("a job");
    assert_eq!(complete(&store, &held, &evidence(LARGE), 1).await, Kept::RunEnded);
    let mark = "touchstone/touchstone.json".to_owned();
    let name = format!("touchstone/{}/1/{}/1/evidence.json", run.experiment, held.scenario.id);
    assert_eq!(s3.objects.names(), [name.clone(), mark.clone()], "and nothing unfinished");
    assert_eq!(store.evidence(held.lease.job, 1).await.expect("readable"), Some(evidence(LARGE)));
    assert_eq!(complete(&store, &held, &evidence(LARGE + 1), 2).await, Kept::Stale);
    assert_eq!(s3.objects.names(), [name, mark.clone()], "nothing of a stale completion stays");
    assert!(store.evidence_bytes(run.experiment).await.expect("a size") > LARGE as u64);
    assert_eq!(store.evidence_place(run.experiment), format!("s3://bucket/touchstone/{}", run.experiment));
    assert_eq!(store.orphans(Timestamp::MAX).await.expect("orphans"), []);
    store.collect(&[run.experiment]).await.expect("collected");
    assert_eq!(s3.objects.names(), [mark]);
    assert_eq!(world.files(), Vec::<String>::new(), "nothing was written here");
}

#[test]
fn other_places_are_refused() {
    for wrong in ["", "artifacts", "gs://bucket", "http://example.com"] {
        let refused = Artifacts::open(wrong, []);
        assert!(matches!(refused, Err(StoreError::Invalid(message)) if message.contains("s3://")), "`{wrong}`");
    }
}
