//! Values that nobody may see.

use store::{MasterKey, NewExperiment, StoreError};

use crate::harness::{World, at};

/// The control token of a worker.
const CONTROL: &str = "154930ef6c526f5b46e0e52000848a6eeab3e9bfd40dcd8314d5a481429927ac";

databases![secrets_belong_to_their_owners, an_experiment_keeps_its_secrets];

async fn secrets_belong_to_their_owners(world: World) {
    let store = &world.store;
    store.put_secret("ann", "TOKEN", b"sealed 1").await.expect("kept");
    store.put_secret("ann", "ALPHA", &[0, 255, 0]).await.expect("kept");
    store.put_secret("bob", "TOKEN", b"sealed 2").await.expect("kept");
    store.put_secret("ann", "TOKEN", b"sealed 3").await.expect("kept");
    assert_eq!(store.secret("ann", "TOKEN").await.expect("read").as_deref(), Some(b"sealed 3".as_slice()));
    assert_eq!(store.secret("ann", "ALPHA").await.expect("read"), Some(vec![0, 255, 0]));
    assert_eq!(store.secret("bob", "TOKEN").await.expect("read").as_deref(), Some(b"sealed 2".as_slice()));
    assert_eq!(store.secret("bob", "ALPHA").await.expect("read"), None);
    assert_eq!(store.secret_names("ann").await.expect("names"), ["ALPHA", "TOKEN"]);
    assert!(store.remove_secret("ann", "TOKEN").await.expect("removed"));
    assert!(!store.remove_secret("ann", "TOKEN").await.expect("removed"));
    assert_eq!(store.secret_names("ann").await.expect("names"), ["ALPHA"]);
    assert_eq!(store.secret_names("bob").await.expect("names"), ["TOKEN"]);
}

async fn an_experiment_keeps_its_secrets(world: World) {
    let without = world.submitted(1).await;
    let new = NewExperiment { secrets: Some(vec![7, 0]), ..world.experiment().await };
    world.store.submit(&new, &world.run(1), at(0)).await.expect("submitted");
    assert_eq!(world.store.experiment_secrets(new.id).await.expect("read"), Some(vec![7, 0]));
    assert_eq!(world.store.experiment_secrets(without.experiment).await.expect("read"), None);
}

#[test]
fn what_is_sealed_is_opened_with_the_same_key_and_words_only() {
    let key = MasterKey::new([1; 32]);
    let sealed = key.seal(b"hunter2", "ann/TOKEN", [9; 12]).expect("sealed");
    assert!(!sealed.windows(7).any(|part| part == b"hunter2"));
    assert_eq!(key.open(&sealed, "ann/TOKEN").expect("opened"), b"hunter2");
    assert_ne!(sealed, key.seal(b"hunter2", "ann/TOKEN", [8; 12]).expect("sealed"), "another nonce");
    let mut versions = sealed.clone();
    versions[0] = 2;
    let mut changed = sealed.clone();
    changed[20] ^= 1;
    for (sealed, words, key) in [
        (&sealed, "bob/TOKEN", &key),
        (&sealed, "ann/TOKEN", &MasterKey::new([2; 32])),
        (&versions, "ann/TOKEN", &key),
        (&changed, "ann/TOKEN", &key),
        (&sealed[..12].to_vec(), "ann/TOKEN", &key),
        (&Vec::new(), "ann/TOKEN", &key),
    ] {
        let opened = key.open(sealed, words);
        assert!(matches!(&opened, Err(StoreError::Damaged(message)) if !message.contains("hunter2")), "{opened:?}");
    }
}

#[test]
fn a_key_is_read_in_several_ways_and_never_told() {
    let hex = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    let key = MasterKey::parse(hex).expect("hex");
    assert_eq!(key.to_hex(), hex);
    for same in [
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
        "000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F\n",
    ] {
        assert_eq!(MasterKey::parse(same).expect(same).fingerprint(), key.fingerprint(), "{same}");
    }
    for wrong in ["", "short", &hex[1..], "é", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg=="] {
        let refused = MasterKey::parse(wrong).expect_err(wrong).to_string();
        assert!(wrong.is_empty() || !refused.contains(wrong), "{refused}");
    }
    assert_eq!(format!("{key:?}"), "MasterKey");
}

/// The same as `printf 'control w' | openssl dgst -sha256 -mac HMAC -macopt hexkey:0101…01`.
#[test]
fn tokens_are_made_from_the_key() {
    let key = MasterKey::new([1; 32]);
    assert_eq!(key.control_token("w"), CONTROL);
    let others = [
        key.control_token("x"),
        key.webhook_secret("w"),
        key.fingerprint(),
        MasterKey::new([2; 32]).control_token("w"),
    ];
    assert!(!others.iter().any(|other| other == CONTROL));
}
