//! Sessions under tool contracts whose agents run somewhere else.

use scenario::intervention::{Intervention, KillReach, SessionChange};
use store::{ContractSessionProgress, NewContractSession, NewKey, Page, Scope, SessionLimits};

use crate::harness::{World, at, scenario};

databases![
    requests_of_a_session_are_kept_in_their_order_each_number_once,
    a_session_that_is_full_keeps_nothing_more,
    a_session_goes_with_its_requests_and_its_token,
    interventions_are_read_one_after_the_other,
];

const LIMITS: SessionLimits = SessionLimits { requests: 3, bytes: 100 };

fn progress(hash: &str) -> ContractSessionProgress {
    ContractSessionProgress { status: "active".to_owned(), last_hash: hash.to_owned() }
}

fn new(id: &str, owner: &str) -> NewContractSession {
    NewContractSession {
        id: id.to_owned(),
        owner: owner.to_owned(),
        agent: "desk".to_owned(),
        contract: "sha256:c".to_owned(),
        mode: "govern".to_owned(),
        terms: vec![1, 0, 255],
        progress: progress("h0"),
    }
}

async fn requests_of_a_session_are_kept_in_their_order_each_number_once(world: World) {
    let store = &world.store;
    let made = store.create_contract_session(&new("cs-1", "ada"), at(5)).await.expect("made");
    for (number, text) in [(0, "a"), (1, "b")] {
        let kept = store.keep_contract_session_request("cs-1", number, text.as_bytes(), &progress(text), LIMITS).await;
        assert!(kept.expect("kept"));
    }
    let again = store.keep_contract_session_request("cs-1", 1, b"c", &progress("c"), LIMITS).await;
    assert!(!again.expect("asked"), "the number is taken");
    assert_eq!(store.contract_session_requests("cs-1").await.expect("read"), [b"a", b"b"]);
    let found = store.contract_session("cs-1").await.expect("read").expect("a session");
    assert_eq!((found.requests, found.bytes, &found.new.progress), (2, 2, &progress("b")));
    assert_eq!((found.created_at, &found.new.terms), (made.created_at, &vec![1, 0, 255]));
}

async fn a_session_that_is_full_keeps_nothing_more(world: World) {
    let store = &world.store;
    store.create_contract_session(&new("cs-1", "ada"), at(5)).await.expect("made");
    let large = store.keep_contract_session_request("cs-1", 0, &[7; 101], &progress("x"), LIMITS).await;
    assert!(!large.expect("asked"));
    for number in 0..3 {
        let kept = store.keep_contract_session_request("cs-1", number, b"a", &progress("x"), LIMITS).await;
        assert!(kept.expect("kept"));
    }
    let fourth = store.keep_contract_session_request("cs-1", 3, b"a", &progress("x"), LIMITS).await;
    assert!(!fourth.expect("asked"));
}

async fn a_session_goes_with_its_requests_and_its_token(world: World) {
    let store = &world.store;
    for (id, owner, second) in [("cs-1", "ada", 5), ("cs-2", "ada", 6), ("cs-3", "bob", 7)] {
        store.create_contract_session(&new(id, owner), at(second)).await.expect("made");
    }
    let key = NewKey {
        id: "key_1".to_owned(),
        owner: "ada".to_owned(),
        name: "cs-1".to_owned(),
        scope: Scope::Sandbox,
        hash: "h".to_owned(),
        sandbox: Some("cs-1".to_owned()),
    };
    store.create_key(&key, at(5)).await.expect("a key");
    store.keep_contract_session_request("cs-1", 0, b"a", &progress("x"), LIMITS).await.expect("kept");
    assert!(store.remove_contract_session("cs-1").await.expect("removed"));
    assert!(!store.remove_contract_session("cs-1").await.expect("asked"));
    assert_eq!(store.key_by_hash("h").await.expect("read"), None);
    assert_eq!(store.contract_session_requests("cs-1").await.expect("read"), Vec::<Vec<u8>>::new());
    let all = store.contract_sessions(Some("ada"), Page { after: None, most: 10 }).await.expect("read").items;
    assert_eq!(all.iter().map(|one| one.new.id.as_str()).collect::<Vec<_>>(), ["cs-2"]);
    assert_eq!(store.count_contract_sessions("ada").await.expect("counted"), 1);
}

async fn interventions_are_read_one_after_the_other(world: World) {
    let store = &world.store;
    let run = world.submitted(1).await;
    let kill = |reason: &str| Intervention {
        session: None,
        change: SessionChange::Kill { scope: KillReach::Session, reason: reason.to_owned() },
        by: "ada".to_owned(),
    };
    let name = scenario(0).id.to_string();
    for reason in ["first", "second"] {
        store.intervene(run, &name, &kill(reason), at(9)).await.expect("kept");
    }
    let (number, first) = store.next_intervention(run, &name, 0).await.expect("read").expect("one");
    assert_eq!(first, kill("first"));
    let (last, second) = store.next_intervention(run, &name, number).await.expect("read").expect("one");
    assert_eq!(second, kill("second"));
    assert_eq!(store.next_intervention(run, &name, last).await.expect("read"), None);
    assert_eq!(store.next_intervention(run, "other", 0).await.expect("read"), None);
    assert!(store.intervene(run, "other", &kill("x"), at(9)).await.is_err(), "there is no such scenario");
}
