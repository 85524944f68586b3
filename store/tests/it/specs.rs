//! Texts of specs.

use store::{SpecContent, SpecFile, StoreError};

use crate::harness::{World, at};

databases![
    files_come_back_exactly,
    the_order_of_files_does_not_matter,
    the_same_is_kept_once_and_versions_count_for_each_id,
    what_is_not_kept_is_not_found,
];

fn file(path: &str, executable: bool, content: &[u8]) -> SpecFile {
    SpecFile { path: path.to_owned(), executable, content: content.to_vec() }
}

fn content(text: &str) -> SpecContent {
    let files = vec![
        file("checks/run", true, b"#!/bin/sh\n"),
        file("data.bin", false, &[0, 255, 10]),
        file("empty", false, b""),
    ];
    SpecContent { text: text.to_owned(), files }
}

async fn files_come_back_exactly(world: World) {
    let kept = world.store.keep_spec("", "ledger", &content("a: 1"), at(0)).await.expect("kept");
    assert_eq!(world.store.spec(&kept.digest).await.expect("the spec"), content("a: 1"));
    assert!(world.store.has_files(&kept.digest).await.expect("an answer"));
    let alone = SpecContent { files: Vec::new(), ..content("a: 1") };
    let alone = world.store.keep_spec("", "ledger", &alone, at(0)).await.expect("kept");
    assert!(!world.store.has_files(&alone.digest).await.expect("an answer"));
}

async fn the_order_of_files_does_not_matter(world: World) {
    let mut turned = content("a: 1");
    turned.files.reverse();
    let first = world.store.keep_spec("", "ledger", &turned, at(0)).await.expect("kept");
    let again = world.store.keep_spec("", "ledger", &content("a: 1"), at(1)).await.expect("kept again");
    assert_eq!(first, again);
    assert_eq!(world.store.spec(&first.digest).await.expect("the spec").digest(), first.digest);
}

async fn the_same_is_kept_once_and_versions_count_for_each_id(world: World) {
    let keep = async |id: &str, text: &str| {
        let kept = world.store.keep_spec("", id, &content(text), at(0)).await.expect("kept");
        (kept.version, kept.digest)
    };
    let (first, digest) = keep("ledger", "a: 1").await;
    assert_eq!(first, 1);
    assert_eq!(keep("ledger", "a: 2").await.0, 2);
    assert_eq!(keep("ledger", "a: 2").await.0, 2, "the same again");
    assert_eq!(keep("ledger", "a: 1").await, (3, digest.clone()), "what it said before is news");
    assert_eq!(keep("other", "a: 1").await, (1, digest));
    assert_eq!(world.number("SELECT count(*) FROM specs").await, 2);
    assert_eq!(world.number("SELECT count(*) FROM blobs").await, 3, "both have the same files");
}

#[test]
fn every_part_counts_in_the_digest() {
    let same = content("a: 1");
    let mut executable = same.clone();
    executable.files[1].executable = true;
    let mut moved = same.clone();
    moved.files[1].path = "data.bi".to_owned();
    moved.files[1].content.insert(0, b'n');
    let fewer = SpecContent { files: Vec::new(), ..same.clone() };
    for other in [content("a: 2"), executable, moved, fewer] {
        assert_ne!(other.digest(), same.digest());
    }
}

async fn what_is_not_kept_is_not_found(world: World) {
    let missing = world.store.spec("beef").await;
    assert!(matches!(missing, Err(StoreError::NotFound(message)) if message.contains("beef")));
}
