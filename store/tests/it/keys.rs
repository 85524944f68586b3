//! Keys of the API.

use store::{ApiKey, NewKey, Scope, StoreError};

use crate::harness::{World, at};

databases![
    a_key_is_found_by_its_hash_until_it_is_revoked,
    keys_of_sandboxes_are_nobodys_business,
    a_use_is_written_down_once_a_minute,
    no_two_keys_have_one_hash,
];

fn new(id: &str, owner: &str) -> NewKey {
    NewKey {
        id: id.to_owned(),
        owner: owner.to_owned(),
        name: "laptop".to_owned(),
        scope: Scope::Submit,
        hash: format!("hash of {id}"),
        sandbox: None,
    }
}

async fn found(world: &World, id: &str) -> Option<ApiKey> {
    world.store.key_by_hash(&format!("hash of {id}")).await.expect("read")
}

async fn a_key_is_found_by_its_hash_until_it_is_revoked(world: World) {
    world.store.create_key(&new("key_1", "ann"), at(1)).await.expect("kept");
    world.store.create_key(&NewKey { scope: Scope::Admin, ..new("key_2", "bob") }, at(2)).await.expect("kept");
    assert_eq!(world.store.count_keys().await.expect("a count"), 2);
    let key = found(&world, "key_1").await.expect("a key");
    assert_eq!((key.id.as_str(), key.owner.as_str(), key.scope), ("key_1", "ann", Scope::Submit));
    assert_eq!((key.created_at, key.last_used_at, key.revoked_at), (at(1), None, None));
    assert_eq!(found(&world, "key_3").await, None);
    assert!(world.store.revoke_key("key_1", at(3)).await.expect("revoked"));
    assert!(!world.store.revoke_key("key_1", at(4)).await.expect("revoked"), "it is already");
    assert_eq!(found(&world, "key_1").await, None);
    let listed = world.store.keys(None).await.expect("keys");
    let listed: Vec<_> = listed.iter().map(|key| (key.id.as_str(), key.revoked_at)).collect();
    assert_eq!(listed, [("key_1", Some(at(3))), ("key_2", None)]);
    let own = world.store.keys(Some("bob")).await.expect("keys");
    assert_eq!(own.iter().map(|key| key.scope).collect::<Vec<_>>(), [Scope::Admin]);
    assert_eq!(world.store.count_keys().await.expect("a count"), 1);
}

async fn keys_of_sandboxes_are_nobodys_business(world: World) {
    let key = NewKey { scope: Scope::Sandbox, sandbox: Some("sb-1".to_owned()), ..new("key_1", "ann") };
    world.store.create_key(&key, at(1)).await.expect("kept");
    assert_eq!(world.store.keys(None).await.expect("keys"), []);
    assert_eq!(world.store.count_keys().await.expect("a count"), 0);
    assert_eq!(found(&world, "key_1").await.expect("a key").sandbox.as_deref(), Some("sb-1"));
}

async fn a_use_is_written_down_once_a_minute(world: World) {
    world.store.create_key(&new("key_1", "ann"), at(0)).await.expect("kept");
    let unused = found(&world, "key_1").await.expect("a key");
    world.store.touch_key(&unused, at(10)).await.expect("touched");
    // Somebody who read the key before does not write either.
    world.store.touch_key(&unused, at(30)).await.expect("touched");
    let used = found(&world, "key_1").await.expect("a key");
    assert_eq!(used.last_used_at, Some(at(10)));
    world.store.touch_key(&used, at(69)).await.expect("touched");
    assert_eq!(found(&world, "key_1").await.expect("a key").last_used_at, Some(at(10)));
    world.store.touch_key(&used, at(70)).await.expect("touched");
    assert_eq!(found(&world, "key_1").await.expect("a key").last_used_at, Some(at(70)));
}

async fn no_two_keys_have_one_hash(world: World) {
    world.store.create_key(&new("key_1", "ann"), at(0)).await.expect("kept");
    let same = NewKey { hash: "hash of key_1".to_owned(), ..new("key_2", "bob") };
    world.store.create_key(&same, at(1)).await.expect_err("the same hash");
    assert_eq!(found(&world, "key_1").await.expect("a key").owner, "ann");
}

#[test]
fn scopes_have_words() {
    for scope in [Scope::Admin, Scope::Submit, Scope::Read, Scope::Sandbox] {
        assert_eq!(scope.word().parse::<Scope>().expect("a scope"), scope);
    }
    assert!(matches!("root".parse::<Scope>(), Err(StoreError::Invalid(_))));
}
