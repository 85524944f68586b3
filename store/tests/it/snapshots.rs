//! Versions of agents.

use std::collections::BTreeSet;

use serde_json::json;
use store::{Listed, NewSnapshot, Page, Snapshot, StoreError, Which, bundle_key};

use crate::harness::{World, at};

databases![
    versions_count_for_each_owner_and_name,
    a_snapshot_is_found_by_id_version_and_tag,
    lists_follow_each_other_without_gaps,
    those_added_at_once_get_versions_of_their_own,
    a_version_is_given_once_and_needs_its_bundle,
];

const DIGEST: &str = "sha256:b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c";

fn new(id: &str, owner: &str, name: &str, tag: &str) -> NewSnapshot {
    NewSnapshot {
        id: id.to_owned(),
        owner: owner.to_owned(),
        name: name.to_owned(),
        tag: tag.to_owned(),
        digest: DIGEST.to_owned(),
        size: 4,
        runtime: "python".to_owned(),
        entrypoint: vec!["python".to_owned(), "main.py".to_owned()],
        auth: json!({"required_env": ["KEY"]}),
    }
}

async fn with_bundle(world: &World) {
    world.store.artifacts().put(&bundle_key(DIGEST), "foo\n").await.expect("a bundle");
}

async fn add(world: &World, id: &str, owner: &str, name: &str, tag: &str) -> u32 {
    world.store.add_snapshot(&new(id, owner, name, tag), at(1)).await.expect("added").version
}

fn ids(listed: &Listed<Snapshot>) -> Vec<&str> {
    listed.items.iter().map(|one| one.new.id.as_str()).collect()
}

async fn versions_count_for_each_owner_and_name(world: World) {
    with_bundle(&world).await;
    assert_eq!(add(&world, "s1", "ann", "coder", "").await, 1);
    assert_eq!(add(&world, "s2", "ann", "coder", "").await, 2);
    assert_eq!(add(&world, "s3", "ann", "writer", "").await, 1);
    assert_eq!(add(&world, "s4", "bob", "coder", "").await, 1);
    let listed = world.store.snapshots(None, Page::ALL).await.expect("snapshots");
    assert_eq!((ids(&listed), listed.next.as_deref()), (vec!["s2", "s3", "s4"], None));
    assert_eq!(ids(&world.store.snapshots(Some("bob"), Page::ALL).await.expect("snapshots")), ["s4"]);
}

async fn a_snapshot_is_found_by_id_version_and_tag(world: World) {
    with_bundle(&world).await;
    for (id, tag) in [("s1", "good"), ("s2", "good"), ("s3", "")] {
        add(&world, id, "ann", "coder", tag).await;
    }
    let found = world.store.snapshot("s1").await.expect("read").expect("a snapshot");
    assert_eq!(found, Snapshot { new: new("s1", "ann", "coder", "good"), version: 1, created_at: at(1) });
    let find = async |owner: &str, which| {
        world.store.find_snapshot(owner, "coder", which).await.expect("read").map(|found| found.new.id)
    };
    assert_eq!(find("ann", Which::Latest).await.as_deref(), Some("s3"));
    assert_eq!(find("ann", Which::Version(1)).await.as_deref(), Some("s1"));
    assert_eq!(find("ann", Which::Tag("good")).await.as_deref(), Some("s2"), "the newest with it");
    for (owner, which) in [("ann", Which::Version(4)), ("ann", Which::Tag("bad")), ("bob", Which::Latest)] {
        assert_eq!(find(owner, which).await, None, "{which:?}");
    }
    assert_eq!(world.store.snapshot("s9").await.expect("read"), None);
}

async fn lists_follow_each_other_without_gaps(world: World) {
    with_bundle(&world).await;
    for number in 0..5 {
        add(&world, &format!("a{number}"), "ann", "coder", "").await;
        add(&world, &format!("b{number}"), "ann", &format!("agent {number}/é"), "").await;
    }
    let mut seen = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = Page { after: after.as_deref(), most: 2 };
        let listed = world.store.snapshot_versions("ann", "coder", page).await.expect("versions");
        seen.extend(listed.items.iter().map(|one| one.version));
        let Some(next) = listed.next else { break };
        after = Some(next);
    }
    assert_eq!(seen, [5, 4, 3, 2, 1]);
    let mut names = BTreeSet::new();
    let mut after: Option<String> = None;
    for _ in 0..3 {
        let page = Page { after: after.as_deref(), most: 2 };
        let listed = world.store.snapshots(Some("ann"), page).await.expect("snapshots");
        names.extend(listed.items.into_iter().map(|one| one.new.name));
        after = listed.next;
        let is_plain = |next: &str| next.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
        assert!(after.as_deref().is_none_or(is_plain), "{after:?}");
    }
    assert_eq!((names.len(), after), (6, None));
    let nonsense = world.store.snapshots(None, Page { after: Some("%%%"), most: 2 }).await;
    assert!(matches!(nonsense, Err(StoreError::Invalid(message)) if message.contains("cursor")));
}

async fn those_added_at_once_get_versions_of_their_own(world: World) {
    with_bundle(&world).await;
    let stores = [world.store.clone(), world.other().await];
    let mut adding = tokio::task::JoinSet::new();
    for number in 0..20 {
        let store = stores[number % 2].clone();
        adding.spawn(async move {
            let new = new(&format!("s{number}"), "ann", "coder", "");
            store.add_snapshot(&new, at(1)).await.expect("added").version
        });
    }
    let versions: BTreeSet<u32> = adding.join_all().await.into_iter().collect();
    assert_eq!(versions, (1..=20).collect());
}

async fn a_version_is_given_once_and_needs_its_bundle(world: World) {
    let missing = world.store.add_snapshot(&new("s1", "ann", "coder", ""), at(1)).await;
    assert!(matches!(missing, Err(StoreError::NotFound(message)) if message.contains(DIGEST)));
    with_bundle(&world).await;
    assert_eq!(add(&world, "s1", "ann", "coder", "").await, 1);
    assert_eq!(add(&world, "s2", "ann", "coder", "").await, 2);
    assert!(world.store.remove_snapshot("s2").await.expect("removed"));
    assert!(!world.store.remove_snapshot("s2").await.expect("removed"));
    assert_eq!(add(&world, "s3", "ann", "coder", "").await, 3, "2 was somebody else");
}
