//! Removing what nobody needs after some time, and what takes too much room.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use store::{
    Demand, Garbage, NewAlert, NewDelivery, NewExperiment, NewFiring, NewKey, NewSandbox, NewSnapshot, NewTrace,
    NewWorker, Once, Prune, Pruned, Pulse, RunId, SandboxClaim, Scope, SpecContent, StoreError, Submitted, TraceFilter,
    Usage, WorkerId, bundle_key,
};
use uuid::Uuid;

use crate::harness::{LARGE, World, at, complete, evidence};

databases![
    what_is_old_and_ended_goes,
    what_is_young_or_under_way_stays,
    traces_of_no_run_are_bounded,
    bundles_go_when_nothing_uses_them,
    what_takes_too_much_room_goes_oldest_first,
    what_is_pinned_stays,
    what_somebody_uploaded_stays,
];

/// Nothing but what is said.
fn nothing() -> Prune {
    let long_ago = Timestamp::UNIX_EPOCH;
    Prune { before: long_ago, traces_before: long_ago, traces_of_owner: u64::MAX, traces_of_sandbox: u64::MAX }
}

/// Something of each kind at a time; a sandbox, its key, and a message have ended.
async fn something(world: &World, name: &str, second: i64) {
    let store = &world.store;
    let once = Once { owner: "ann", key: name, fingerprint: "f" };
    let new = world.experiment().await;
    let Ok(Submitted::Now(run)) = store.submit_once(once, &new, &world.run(1), at(second)).await else {
        panic!("submitted")
    };
    let id = WorkerId { data_dir: Uuid::nil(), owner: world.uuid() };
    let (host, control, version) = (String::new(), String::new(), String::new());
    let worker = NewWorker { id, host, control, slots: 1, budget: Demand::default(), version };
    store.register_worker(&worker, &Pulse::default(), at(second)).await.expect("registered");
    ended_sandbox(world, name, id, second).await;
    let alert = format!("alert of {name}");
    let rule = NewAlert {
        id: alert.clone(),
        owner: "ann".to_owned(),
        name: String::new(),
        eval_id: None,
        condition: String::new(),
        window: None,
        notify: String::new(),
        webhook_url: None,
        slack_channel: None,
        events: Vec::new(),
    };
    store.create_alert(&rule, at(second)).await.expect("made");
    let message = NewDelivery { id: name.to_owned(), url: String::new(), body: String::new() };
    let firing = NewFiring { alert, run, reason: String::new() };
    store.fire_alert(&firing, Some(&message), at(second)).await.expect("fired");
    let delivery = store.claim_delivery(at(second), at(second)).await.expect("a claim").expect("a message");
    store.delivery_arrived(&delivery, at(second)).await.expect("arrived");
}

async fn ended_sandbox(world: &World, name: &str, worker: WorkerId, second: i64) {
    let spec = world.spec().await;
    let new = NewSandbox {
        id: name.to_owned(),
        owner: "ann".to_owned(),
        spec_id: spec.spec_id,
        digest: spec.digest,
        metadata: json!({}),
        secrets: None,
        timeout: Duration::from_secs(1000),
        demand: Demand::default(),
    };
    world.store.ask_for_sandbox(&new, at(second)).await.expect("asked");
    let key = NewKey {
        id: name.to_owned(),
        owner: "ann".to_owned(),
        name: String::new(),
        scope: Scope::Sandbox,
        hash: name.to_owned(),
        sandbox: Some(name.to_owned()),
    };
    world.store.create_key(&key, at(second)).await.expect("a key");
    let claim = SandboxClaim { worker, token: String::new(), now: at(second), until: at(second + 1), room: None };
    let held = world.store.claim_sandbox(&claim).await.expect("a claim").expect("a sandbox");
    world.store.end_sandbox(&held.lease, None, at(second)).await.expect("ended");
}

async fn what_is_old_and_ended_goes(world: World) {
    something(&world, "old", 1).await;
    something(&world, "new", 50).await;
    let pruned = world.store.prune(Prune { before: at(10), ..nothing() }).await.expect("pruned");
    assert_eq!(pruned, Pruned { replies: 1, deliveries: 1, sandboxes: 1, workers: 1, traces: 0 });
    assert_eq!(world.store.sandbox("old").await.expect("read"), None);
    assert!(world.store.sandbox("new").await.expect("read").is_some());
    assert!(world.store.delivery("new").await.expect("read").is_some());
    assert_eq!(world.number("SELECT count(*) FROM api_keys").await, 1);
    assert_eq!(world.store.prune(Prune { before: at(10), ..nothing() }).await.expect("pruned"), Pruned::default());
}

async fn what_is_young_or_under_way_stays(world: World) {
    something(&world, "s", 50).await;
    let pruned = world.store.prune(Prune { before: at(50), ..nothing() }).await.expect("pruned");
    assert_eq!(pruned, Pruned::default());
}

fn trace(owner: &str, sandbox: Option<&str>, run: Option<RunId>, second: i64) -> NewTrace {
    NewTrace {
        owner: owner.to_owned(),
        run,
        scenario: None,
        sandbox: sandbox.map(ToOwned::to_owned),
        agent: String::new(),
        self_reported: true,
        at: at(second),
        event_type: String::new(),
        tool: second.to_string(),
        phase: String::new(),
        status: String::new(),
        span_id: String::new(),
        parent_span_id: String::new(),
        root_span_id: String::new(),
        duration_ms: None,
        body: json!({}),
    }
}

async fn tools(world: &World, owner: &str) -> Vec<String> {
    let filter = TraceFilter { owner: Some(owner), ..TraceFilter::default() };
    let traces = world.store.traces(&filter, None, u64::MAX).await.expect("traces");
    traces.into_iter().map(|one| one.trace.tool).collect()
}

async fn traces_of_no_run_are_bounded(world: World) {
    let run = world.submitted(1).await;
    let mut traces = vec![trace("ann", None, Some(run), 0)];
    traces.extend((1..=5).map(|second| trace("ann", Some("sb-1"), None, second)));
    traces.extend((6..=8).map(|second| trace("ann", None, None, second)));
    traces.extend((1..=3).map(|second| trace("bob", None, None, second)));
    world.store.add_traces(&traces).await.expect("added");
    let prune = async |prune| world.store.prune(prune).await.expect("pruned").traces;
    assert_eq!(prune(nothing()).await, 0);
    assert_eq!(prune(Prune { traces_before: at(2), ..nothing() }).await, 2);
    assert_eq!(tools(&world, "ann").await, ["0", "2", "3", "4", "5", "6", "7", "8"], "a run keeps its own");
    assert_eq!(prune(Prune { traces_of_sandbox: 2, ..nothing() }).await, 2);
    assert_eq!(tools(&world, "ann").await, ["0", "4", "5", "6", "7", "8"]);
    assert_eq!(prune(Prune { traces_of_owner: 2, ..nothing() }).await, 3);
    assert_eq!(
        (tools(&world, "ann").await, tools(&world, "bob").await.len()),
        (vec!["0".into(), "7".into(), "8".into()], 2)
    );
    assert_eq!(prune(Prune { traces_of_owner: 0, ..nothing() }).await, 4);
}

fn snapshot(id: &str, digest: &str) -> NewSnapshot {
    NewSnapshot {
        id: id.to_owned(),
        owner: "ann".to_owned(),
        name: "coder".to_owned(),
        tag: String::new(),
        digest: digest.to_owned(),
        size: 3,
        runtime: String::new(),
        entrypoint: Vec::new(),
        auth: json!({}),
    }
}

async fn bundles_go_when_nothing_uses_them(world: World) {
    let artifacts = world.store.artifacts().clone();
    world.store.claim_artifacts().await.expect("its own place");
    for digest in ["sha256:aa", "sha256:bb"] {
        artifacts.put(&bundle_key(digest), "foo").await.expect("a bundle");
    }
    for (id, digest) in [("s1", "sha256:aa"), ("s2", "sha256:aa"), ("s3", "sha256:bb")] {
        world.store.add_snapshot(&snapshot(id, digest), at(0)).await.expect("added");
    }
    assert_eq!(world.store.usage().await.expect("usage"), Usage { evidence: 0, bundles: 6 });
    for id in ["s1", "s3"] {
        world.store.remove_snapshot(id).await.expect("removed");
    }
    let young = world.store.prune_bundles(nothing().before).await.expect("pruned");
    assert_eq!(young, 0, "somebody may be about to use it");
    assert_eq!(world.store.prune_bundles(Timestamp::MAX).await.expect("pruned"), 1);
    assert_eq!(artifacts.size(&bundle_key("sha256:aa")).await.expect("found"), Some(3), "s2 uses it");
    let gone = world.store.add_snapshot(&snapshot("s4", "sha256:bb"), at(0)).await;
    assert!(matches!(gone, Err(StoreError::NotFound(_))), "{gone:?}");
}

/// An experiment with large evidence.
async fn ended(world: &World, second: i64) -> RunId {
    let run = world.submit(&world.run(1), at(second)).await;
    let held = world.claim(second).await.expect("a job");
    complete(&world.store, &held, &evidence(LARGE), second).await;
    run
}

async fn what_takes_too_much_room_goes_oldest_first(world: World) {
    let runs = [ended(&world, 1).await, ended(&world, 2).await, ended(&world, 3).await];
    world.submit(&world.run(1), at(0)).await;
    let each = world.store.usage().await.expect("usage").evidence / 3;
    assert!(each > LARGE as u64);
    let garbage = async |before, keep, most_bytes| {
        let garbage = Garbage { before: at(before), keep, most_bytes };
        world.store.garbage(garbage).await.expect("garbage")
    };
    let ids = runs.map(|run| run.experiment);
    assert_eq!(garbage(0, 0, None).await, []);
    assert_eq!(garbage(0, 0, Some(3 * each)).await, []);
    assert_eq!(garbage(0, 0, Some(3 * each - 1)).await, ids[..1]);
    assert_eq!(garbage(0, 0, Some(each)).await, ids[..2]);
    assert_eq!(garbage(0, 0, Some(0)).await, ids, "and what has not ended stays");
    assert_eq!(garbage(0, 2, Some(0)).await, ids[..1], "and the newest");
    assert_eq!(garbage(2, 0, Some(2 * each)).await, ids[..1], "old ones make room too");
    assert_eq!(garbage(3, 0, Some(2 * each)).await, ids[..2]);
    world.store.collect(&ids[..1]).await.expect("collected");
    assert_eq!(world.store.usage().await.expect("usage").evidence, 2 * each);
}

async fn what_is_pinned_stays(world: World) {
    let (pinned, other) = (ended(&world, 1).await.experiment, ended(&world, 2).await.experiment);
    world.store.pin_experiment(pinned, true).await.expect("pinned");
    assert!(world.store.experiment(pinned).await.expect("the experiment").pinned);
    let everything = Garbage { before: at(99), keep: 0, most_bytes: Some(0) };
    assert_eq!(world.store.garbage(everything).await.expect("garbage"), [other]);
    let removed = world.store.collect(&[pinned, other]).await.expect("collected");
    assert_eq!(removed.experiments, 1, "it was pinned meanwhile");
    world.store.pin_experiment(pinned, false).await.expect("not pinned");
    assert_eq!(world.store.garbage(everything).await.expect("garbage"), [pinned]);
    let nobody = world.store.pin_experiment(other, true).await;
    assert!(matches!(nobody, Err(StoreError::NotFound(_))));
}

async fn what_somebody_uploaded_stays(world: World) {
    let keep = async |owner: &str, text: &str| {
        let content = SpecContent { text: text.to_owned(), files: Vec::new() };
        world.store.keep_spec(owner, "ledger", &content, at(0)).await.expect("kept")
    };
    let (older, newest, own) = (keep("ann", "1").await, keep("ann", "2").await, keep("", "3").await);
    assert_eq!(world.store.kept_specs().await.expect("digests"), [own.digest.as_str()]);
    assert_eq!(world.store.collect(&[]).await.expect("collected").specs, 1);
    assert!(matches!(world.store.spec(&own.digest).await, Err(StoreError::NotFound(_))));
    world.store.spec(&older.digest).await.expect("an older version");
    let new = NewExperiment { owner: "ann".to_owned(), spec: newest, ..world.experiment().await };
    world.store.create_experiment(&new, at(1)).await.expect("it can be run");
}
