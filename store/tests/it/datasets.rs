//! Records to evaluate with.

use std::collections::BTreeSet;

use serde_json::json;
use store::{NewDataset, NewRecord, Page, StoreError};

use crate::harness::{World, at};

databases![records_are_added_as_versions, datasets_belong_to_their_owners, additions_at_once_get_versions_of_their_own];

fn dataset(id: &str, owner: &str) -> NewDataset {
    NewDataset { id: id.to_owned(), owner: owner.to_owned(), name: "mails".to_owned(), description: "é".to_owned() }
}

fn record(id: &str, tags: &[&str]) -> NewRecord {
    NewRecord {
        id: id.to_owned(),
        input: json!({"question": id}),
        expected: json!(null),
        metadata: json!({}),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
    }
}

async fn ids(world: &World, version: Option<u32>, tags: &[&str]) -> Vec<String> {
    let tags: Vec<_> = tags.iter().map(|tag| (*tag).to_owned()).collect();
    let listed = world.store.records("ds_1", version, &tags, Page::ALL).await.expect("records");
    listed.items.into_iter().map(|record| record.new.id).collect()
}

async fn records_are_added_as_versions(world: World) {
    let store = &world.store;
    let made = store.create_dataset(&dataset("ds_1", "ann"), at(1)).await.expect("made");
    assert_eq!((made.version, store.dataset("ds_1").await.expect("read")), (0, Some(made)));
    let first = [record("r1", &["a", "b", "a"]), record("r2", &[])];
    assert_eq!(store.add_records("ds_1", &first).await.expect("added"), 1);
    assert_eq!(store.add_records("ds_1", &[record("r3", &["b", "c"])]).await.expect("added"), 2);
    assert_eq!(ids(&world, None, &[]).await, ["r1", "r2", "r3"]);
    assert_eq!(ids(&world, Some(1), &[]).await, ["r1", "r2"]);
    assert_eq!(ids(&world, Some(0), &[]).await, Vec::<String>::new());
    assert_eq!(ids(&world, None, &["b"]).await, ["r1", "r3"]);
    assert_eq!(ids(&world, None, &["a", "c"]).await, ["r1", "r3"], "one of them is enough");
    assert_eq!(ids(&world, Some(1), &["b"]).await, ["r1"]);
    assert_eq!(ids(&world, None, &["d"]).await, Vec::<String>::new());
    let one = store.records("ds_1", None, &[], Page { after: None, most: 2 }).await.expect("records");
    assert_eq!(one.items[0].new, first[0]);
    let rest = store.records("ds_1", None, &[], Page { after: one.next.as_deref(), most: 2 }).await.expect("records");
    assert_eq!((rest.items[0].new.id.as_str(), rest.items[0].version, rest.next), ("r3", 2, None));
    assert_eq!(store.dataset("ds_1").await.expect("read").expect("a dataset").version, 2);
}

async fn datasets_belong_to_their_owners(world: World) {
    let store = &world.store;
    for (id, owner, second) in [("ds_1", "ann", 1), ("ds_2", "bob", 2), ("ds_3", "ann", 2), ("ds_4", "ann", 2)] {
        store.create_dataset(&dataset(id, owner), at(second)).await.expect("made");
    }
    let list = async |owner, after: Option<&str>| {
        let listed = store.datasets(owner, Page { after, most: 2 }).await.expect("datasets");
        (listed.items.into_iter().map(|one| one.new.id).collect::<Vec<_>>(), listed.next)
    };
    let (first, next) = list(Some("ann"), None).await;
    assert_eq!(first, ["ds_4", "ds_3"]);
    assert_eq!(list(Some("ann"), next.as_deref()).await, (vec!["ds_1".to_owned()], None));
    assert_eq!(list(None, None).await.0, ["ds_4", "ds_3"]);
    store.add_records("ds_1", &[record("r1", &["a"])]).await.expect("added");
    assert!(store.remove_dataset("ds_1").await.expect("removed"));
    assert!(!store.remove_dataset("ds_1").await.expect("removed"));
    assert_eq!(store.dataset("ds_1").await.expect("read"), None);
    assert_eq!(world.number("SELECT count(*) FROM record_tags").await, 0);
    let missing = store.add_records("ds_1", &[record("r2", &[])]).await;
    assert!(matches!(missing, Err(StoreError::NotFound(message)) if message.contains("ds_1")));
}

async fn additions_at_once_get_versions_of_their_own(world: World) {
    world.store.create_dataset(&dataset("ds_1", "ann"), at(1)).await.expect("made");
    let stores = [world.store.clone(), world.other().await];
    let mut adding = tokio::task::JoinSet::new();
    for number in 0..10 {
        let store = stores[number % 2].clone();
        adding.spawn(async move {
            store.add_records("ds_1", &[record(&format!("r{number}"), &["a"])]).await.expect("added")
        });
    }
    let versions: BTreeSet<u32> = adding.join_all().await.into_iter().collect();
    assert_eq!(versions, (1..=10).collect());
    assert_eq!(ids(&world, None, &["a"]).await.len(), 10);
}
