//! Single values.

use store::{MasterKey, StoreError};

use crate::harness::World;

databases![a_setting_is_kept_and_replaced, of_many_who_set_it_once_one_wins, another_master_key_is_refused];

async fn a_setting_is_kept_and_replaced(world: World) {
    assert_eq!(world.store.setting("colour").await.expect("read"), None);
    world.store.set_setting("colour", "red").await.expect("kept");
    world.store.set_setting("colour", "blue").await.expect("kept");
    world.store.set_setting("shape", "").await.expect("kept");
    assert_eq!(world.store.setting("colour").await.expect("read").as_deref(), Some("blue"));
    assert_eq!(world.other().await.setting("shape").await.expect("read").as_deref(), Some(""));
    assert_eq!(world.store.set_setting_once("colour", "green").await.expect("kept"), "blue");
}

async fn of_many_who_set_it_once_one_wins(world: World) {
    let other = world.other().await;
    let (one, two) = tokio::join!(world.store.set_setting_once("key", "one"), other.set_setting_once("key", "two"));
    let (one, two) = (one.expect("kept"), two.expect("kept"));
    assert_eq!(one, two);
    assert_eq!(world.store.setting("key").await.expect("read"), Some(one));
}

async fn another_master_key_is_refused(world: World) {
    let (own, others) = (MasterKey::new([1; 32]), MasterKey::new([2; 32]));
    for _ in 0..2 {
        world.store.require_master_key(&own).await.expect("its own key");
    }
    let refused = world.store.require_master_key(&others).await;
    assert!(matches!(&refused, Err(StoreError::Conflict(message)) if message.contains("another secret key")));
    let kept = world.store.setting("master_key").await.expect("read").expect("a fingerprint");
    assert!(kept == own.fingerprint() && !own.to_hex().contains(&kept), "{kept}");
}
