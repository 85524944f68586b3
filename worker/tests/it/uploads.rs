//! Agents that were uploaded.

use scenario::plan::{AgentOverride, SnapshotAgent};
use scenario::result::RowStatus;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use store::{Clock as _, NewSnapshot, Settings, bundle_key};
use worker::{Snapshots as _, StoredSnapshots, Unavailable};

use crate::harness::{Submission, World};

databases![an_agent_is_found_by_what_its_owner_calls_it, a_job_has_its_uploaded_agent, a_job_without_it_says_so];

const TEXT: &str = "version: 1\nid: test\nbase: x\ntask: {prompt: x}\nagent: {type: snapshot, snapshot: greeter}\n\
    invariants: {fine: {description: x, check: {type: command_exit, command: 'true'}}}\n";

/// Uploads an agent; the id of the snapshot.
async fn upload(world: &World, owner: &str, name: &str, tag: &str, content: &[u8]) -> String {
    let digest: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    let digest = format!("sha256:{digest}");
    world.store.artifacts().put(&bundle_key(&digest), content.to_vec()).await.unwrap();
    let id = format!("snap_{owner}{name}{tag}{}", content.len());
    let new = NewSnapshot {
        id: id.clone(),
        owner: owner.to_owned(),
        name: name.to_owned(),
        tag: tag.to_owned(),
        digest,
        size: content.len() as u64,
        runtime: "python3".to_owned(),
        entrypoint: vec!["python3".to_owned(), "agent.py".to_owned()],
        auth: json!({ "required_env": ["KEY"], "config_files": [{ "path": "a", "template": "b" }], "egress": {} }),
    };
    world.store.add_snapshot(&new, world.clock.now()).await.unwrap();
    id
}

fn named(snapshot: &str, version: Option<i64>, tag: Option<&str>) -> SnapshotAgent {
    SnapshotAgent { snapshot: snapshot.to_owned(), version, tag: tag.map(str::to_owned) }
}

async fn an_agent_is_found_by_what_its_owner_calls_it(world: World) {
    let first = upload(&world, "anna", "greeter", "stable", b"one").await;
    upload(&world, "anna", "greeter", "", b"three").await;
    upload(&world, "bert", "greeter", "", b"another").await;
    let snapshots = StoredSnapshots::new(world.store.clone());
    let found = async |agent: SnapshotAgent| snapshots.find("anna", &agent).await.map(|found| found.version);
    assert_eq!(found(named("greeter", None, None)).await, Ok(2));
    assert_eq!(found(named("greeter", Some(1), None)).await, Ok(1));
    assert_eq!(found(named("greeter", None, Some("stable"))).await, Ok(1));
    assert_eq!(found(named(&first, None, None)).await, Ok(1));
    for missing in [named("greeter", Some(7), None), named("greeter", None, Some("x")), named("other", None, None)] {
        assert!(matches!(found(missing).await, Err(Unavailable::Missing(_))));
    }
    let stolen = snapshots.find("bert", &named(&first, None, None)).await;
    assert!(matches!(stolen, Err(Unavailable::Missing(_))), "{stolen:?}");
    let whole = snapshots.find("anna", &named(&first, None, None)).await.unwrap();
    assert_eq!((&*whole.archive, whole.entrypoint.len()), (b"one".as_slice(), 2));
    assert_eq!(
        (whole.required_env.as_slice(), whole.config_files[0].template.as_str()),
        (["KEY".to_owned()].as_slice(), "b")
    );
    world.store.artifacts().put(&bundle_key(&whole.digest), b"changed".to_vec()).await.unwrap();
    let again = StoredSnapshots::new(world.store.clone()).find("anna", &named(&first, None, None)).await;
    assert!(again.is_err_and(|lack| lack.to_string().contains("not what was uploaded")));
}

async fn a_job_has_its_uploaded_agent(world: World) {
    let first = upload(&world, "", "greeter", "", b"one").await;
    upload(&world, "", "greeter", "", b"three").await;
    let submission = || Submission { text: Some(TEXT), ..Submission::default() };
    world.submit_with(submission()).await;
    world.work(world.worker(1)).await;
    // What was submitted with one version keeps it.
    world.submit_with(Submission { snapshot: Some(first), ..submission() }).await;
    world.work(world.worker(1)).await;
    // Somebody else acts.
    let settings = Settings { agent: Some(AgentOverride::Noop.into()), ..Settings::default() };
    world.submit_with(Submission { settings, ..submission() }).await;
    world.work(world.worker(1)).await;
    let used: Vec<_> = world.fake.seen().into_iter().map(|seen| seen.snapshot).collect();
    assert_eq!(used, [Some(("greeter".to_owned(), 2, 5)), Some(("greeter".to_owned(), 1, 3)), None]);
}

async fn a_job_without_it_says_so(world: World) {
    let run = world.submit_with(Submission { text: Some(TEXT), ..Submission::default() }).await;
    world.work(world.worker(1)).await;
    let result = world.results(run).await.remove(0);
    assert_eq!(result.status, RowStatus::Error);
    assert!(result.error.unwrap().message.contains("the agent `greeter` is not there"));
    assert!(world.fake.seen().is_empty());
}
