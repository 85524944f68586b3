//! Sandboxes that people work in themselves.

use std::time::Duration;

use serde_json::json;
use store::{
    Beat, Demand, HeldSandbox, NewKey, NewSandbox, Page, SandboxClaim, SandboxFilter, SandboxState, Scope, StoreError,
    WorkerId,
};
use uuid::Uuid;

use crate::harness::{World, at};

databases![
    a_sandbox_lives_in_a_worker_until_it_ends,
    a_sandbox_waits_for_room,
    nobody_gets_a_sandbox_twice,
    a_sandbox_that_nobody_wants_ends,
    a_sandbox_ends_with_its_time,
    a_lost_worker_loses_its_sandboxes,
    a_lease_that_was_lost_changes_nothing,
    what_is_not_kept_cannot_be_made,
];

async fn ask(world: &World, id: &str, created: i64, memory: u64) {
    let spec = world.spec().await;
    let new = NewSandbox {
        id: id.to_owned(),
        owner: if id.ends_with('b') { "bob" } else { "ann" }.to_owned(),
        spec_id: spec.spec_id,
        digest: spec.digest,
        metadata: json!({"why": "to try"}),
        secrets: Some(vec![0, 1]),
        timeout: Duration::from_secs(100),
        demand: Demand { cpu_milli: 500, memory },
    };
    world.store.ask_for_sandbox(&new, at(created)).await.expect("asked");
    let key = NewKey {
        id: format!("key of {id}"),
        owner: new.owner,
        name: String::new(),
        scope: Scope::Sandbox,
        hash: format!("hash of {id}"),
        sandbox: Some(id.to_owned()),
    };
    world.store.create_key(&key, at(created)).await.expect("a key");
}

fn request(number: u128, now: i64) -> SandboxClaim {
    SandboxClaim {
        worker: WorkerId { data_dir: Uuid::from_u128(1), owner: Uuid::from_u128(number) },
        token: format!("token {number} {now}"),
        now: at(now),
        until: at(now + 10),
        room: None,
    }
}

async fn claim(world: &World, now: i64) -> Option<HeldSandbox> {
    world.store.claim_sandbox(&request(1, now)).await.expect("a claim")
}

async fn state(world: &World, id: &str) -> (SandboxState, Option<String>) {
    let sandbox = world.store.sandbox(id).await.expect("read").expect("a sandbox");
    (sandbox.state, sandbox.error)
}

async fn has_key(world: &World, id: &str) -> bool {
    world.store.key_by_hash(&format!("hash of {id}")).await.expect("read").is_some()
}

async fn listed(world: &World, filter: SandboxFilter<'_>) -> Vec<String> {
    let listed = world.store.sandboxes(filter, Page::ALL).await.expect("sandboxes");
    listed.items.into_iter().map(|one| one.new.id).collect()
}

async fn a_sandbox_lives_in_a_worker_until_it_ends(world: World) {
    ask(&world, "sb-1", 1, 0).await;
    let asked = world.store.sandbox("sb-1").await.expect("read").expect("a sandbox");
    assert_eq!(
        (asked.state, asked.wanted, asked.worker, asked.expires_at),
        (SandboxState::Creating, true, None, at(101))
    );
    assert_eq!((asked.new.metadata, asked.new.secrets), (json!({"why": "to try"}), None), "secrets are for its worker");
    let held = claim(&world, 2).await.expect("a sandbox");
    assert_eq!((held.sandbox.new.secrets.as_deref(), held.lease.epoch), (Some([0, 1].as_slice()), 1));
    assert_eq!(held.sandbox.worker, Some(request(1, 2).worker));
    assert_eq!(claim(&world, 3).await, None);
    assert!(world.store.sandbox_ready(&held.lease, &json!({"db": {"port": 5432}})).await.expect("ready"));
    let ready = world.store.sandbox("sb-1").await.expect("read").expect("a sandbox");
    assert_eq!((ready.state, ready.services), (SandboxState::Ready, json!({"db": {"port": 5432}})));
    assert_eq!(world.store.heartbeat_sandbox(&held.lease, at(9), at(19)).await.expect("a beat"), Beat::Held);
    assert!(!world.store.release_sandbox(&held.lease, at(9)).await.expect("it was made"));
    assert!(has_key(&world, "sb-1").await);
    assert!(world.store.end_sandbox(&held.lease, None, at(10)).await.expect("ended"));
    assert!(!has_key(&world, "sb-1").await, "its key is for it only");
    let ended = world.store.sandbox("sb-1").await.expect("read").expect("a sandbox");
    assert_eq!((ended.state, ended.ended_at), (SandboxState::Stopped, Some(at(10))));
    assert_eq!(world.number("SELECT count(*) FROM sandboxes WHERE secrets IS NOT NULL").await, 0);
    let counts = world.store.count_sandboxes(None).await.expect("counts");
    assert_eq!(counts, [(SandboxState::Stopped, 1)]);
}

async fn a_sandbox_waits_for_room(world: World) {
    ask(&world, "sb-large", 1, 100).await;
    ask(&world, "sb-small-b", 2, 10).await;
    let room = |memory| SandboxClaim { room: Some(Demand { cpu_milli: 1000, memory }), ..request(1, 3) };
    let small = world.store.claim_sandbox(&room(50)).await.expect("a claim").expect("the one that fits");
    assert_eq!(small.lease.sandbox, "sb-small-b");
    assert_eq!(world.store.claim_sandbox(&room(99)).await.expect("a claim"), None);
    let large = world.store.claim_sandbox(&room(100)).await.expect("a claim").expect("the large one");
    assert!(world.store.release_sandbox(&large.lease, at(3)).await.expect("given back"));
    let again = world.store.claim_sandbox(&request(2, 4)).await.expect("a claim").expect("again");
    assert_eq!((again.lease.epoch, again.sandbox.new.secrets), (2, Some(vec![0, 1])));
    assert!(!world.store.end_sandbox(&large.lease, None, at(5)).await.expect("it is another's"));
    let any = SandboxFilter::default();
    assert_eq!(listed(&world, any).await, ["sb-small-b", "sb-large"], "newest first");
    assert_eq!(listed(&world, SandboxFilter { owner: Some("bob"), ..any }).await, ["sb-small-b"]);
    assert_eq!(listed(&world, SandboxFilter { worker: Some(request(2, 0).worker), ..any }).await, ["sb-large"]);
    world.store.end_sandbox(&small.lease, None, at(6)).await.expect("ended");
    assert_eq!(listed(&world, SandboxFilter { active: true, ..any }).await, ["sb-large"]);
    let counts = world.store.count_sandboxes(Some("ann")).await.expect("counts");
    assert_eq!(counts, [(SandboxState::Creating, 1)]);
}

async fn nobody_gets_a_sandbox_twice(world: World) {
    let other = world.other().await;
    for number in 0..10 {
        ask(&world, &format!("sb-{number}"), 1, 0).await;
        let (one, two) = (request(1, 2), request(2, 2));
        let claims = tokio::join!(world.store.claim_sandbox(&one), other.claim_sandbox(&two));
        let claims = [claims.0.expect("a claim"), claims.1.expect("a claim")];
        assert_eq!(claims.iter().flatten().count(), 1, "{claims:?}");
    }
}

async fn a_sandbox_that_nobody_wants_ends(world: World) {
    ask(&world, "sb-1", 1, 0).await;
    let held = claim(&world, 2).await.expect("a sandbox");
    ask(&world, "sb-2", 3, 0).await;
    for id in ["sb-1", "sb-2"] {
        assert!(world.store.unwant_sandbox(id, at(4)).await.expect("unwanted"));
    }
    assert_eq!(state(&world, "sb-2").await, (SandboxState::Stopped, None), "no worker has it");
    assert_eq!(state(&world, "sb-1").await, (SandboxState::Creating, None), "its worker ends it");
    assert!(!has_key(&world, "sb-2").await && has_key(&world, "sb-1").await);
    assert_eq!(claim(&world, 5).await, None);
    assert_eq!(world.store.heartbeat_sandbox(&held.lease, at(5), at(15)).await.expect("a beat"), Beat::Cancelled);
    assert!(world.store.release_sandbox(&held.lease, at(6)).await.expect("given back"));
    assert_eq!(state(&world, "sb-1").await, (SandboxState::Stopped, None), "nobody else makes it");
    for id in ["sb-1", "sb-2", "sb-3"] {
        assert!(!world.store.unwant_sandbox(id, at(7)).await.expect("unwanted"), "{id} has ended, or never was");
    }
}

async fn a_sandbox_ends_with_its_time(world: World) {
    ask(&world, "sb-1", 1, 0).await;
    ask(&world, "sb-2", 1, 0).await;
    let held = claim(&world, 2).await.expect("a sandbox");
    let beat = async |now| world.store.heartbeat_sandbox(&held.lease, at(now), at(now + 10)).await.expect("a beat");
    assert_eq!(beat(100).await, Beat::Held);
    assert_eq!(world.store.lose_sandboxes(at(100)).await.expect("lost"), Vec::<String>::new());
    assert_eq!(beat(101).await, Beat::Cancelled);
    assert_eq!(claim(&world, 101).await, None, "it is too late");
    assert_eq!(world.store.lose_sandboxes(at(101)).await.expect("lost"), ["sb-2"]);
    let (state, error) = state(&world, "sb-2").await;
    assert!(state == SandboxState::Error && error.is_some_and(|error| error.contains("room")));
}

async fn a_lost_worker_loses_its_sandboxes(world: World) {
    for id in ["sb-1", "sb-2", "sb-3"] {
        ask(&world, id, 1, 0).await;
    }
    let (one, two) = (claim(&world, 2).await.expect("a sandbox"), claim(&world, 2).await.expect("a sandbox"));
    world.store.sandbox_ready(&one.lease, &json!({})).await.expect("ready");
    assert_eq!(world.store.lose_sandboxes(at(12)).await.expect("lost"), Vec::<String>::new());
    world.store.heartbeat_sandbox(&two.lease, at(12), at(22)).await.expect("a beat");
    assert_eq!(world.store.lose_sandboxes(at(13)).await.expect("lost"), ["sb-1"]);
    let (lost, error) = state(&world, "sb-1").await;
    assert!(lost == SandboxState::Error && error.is_some_and(|error| error.contains("worker was lost")));
    assert!(!has_key(&world, "sb-1").await && has_key(&world, "sb-2").await);
    assert_eq!(state(&world, "sb-3").await.0, SandboxState::Creating, "it still waits");
}

async fn a_lease_that_was_lost_changes_nothing(world: World) {
    ask(&world, "sb-1", 1, 0).await;
    let held = claim(&world, 2).await.expect("a sandbox");
    world.store.lose_sandboxes(at(50)).await.expect("lost");
    assert!(!world.store.sandbox_ready(&held.lease, &json!({})).await.expect("too late"));
    assert!(!world.store.end_sandbox(&held.lease, None, at(51)).await.expect("too late"));
    assert_eq!(world.store.heartbeat_sandbox(&held.lease, at(51), at(61)).await.expect("a beat"), Beat::Lost);
    assert_eq!(state(&world, "sb-1").await.0, SandboxState::Error);
}

async fn what_is_not_kept_cannot_be_made(world: World) {
    let new = NewSandbox {
        id: "sb-1".to_owned(),
        owner: String::new(),
        spec_id: "ledger".to_owned(),
        digest: "beef".to_owned(),
        metadata: json!({}),
        secrets: None,
        timeout: Duration::from_secs(1),
        demand: Demand::default(),
    };
    let refused = world.store.ask_for_sandbox(&new, at(1)).await;
    assert!(matches!(refused, Err(StoreError::NotFound(_))), "{refused:?}");
    ask(&world, "sb-2", 1, 0).await;
    world.store.collect(&[]).await.expect("collected");
    let digest = world.store.sandbox("sb-2").await.expect("read").expect("a sandbox").new.digest;
    world.store.spec(&digest).await.expect("a sandbox uses it");
    assert_eq!(world.store.sandbox_digests().await.expect("digests"), [digest]);
}
