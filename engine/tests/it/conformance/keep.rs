//! Sandboxes that are kept for a person to look into.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use engine::attempt::Keep;
use engine::backend::{Reach, Sandbox, ServiceRequest, Swept};
use engine::error::EngineError;
use engine::event::{Event, Events};
use engine::kept::Visitor;
use scenario::evidence::{Evidence, Exit};
use tokio_util::sync::CancellationToken;

use super::isolation::spawn;
use super::{DEBIAN, Sketch, output, suite, until};
use crate::harness::{Harness, connect, small};

const REDIS: &str = "touchstone/redis:7";

suite! {
    a_failed_scenario_is_kept_and_spared_until_the_kept_are_swept,
    services_with_networks_of_their_own_are_kept_too,
    a_passed_scenario_is_not_kept,
    an_error_while_preparing_is_kept,
    a_cancelled_scenario_is_never_kept,
    the_kept_are_swept_while_their_owner_lives_and_the_others_are_not,
    a_kept_sandbox_that_somebody_removed_is_forgotten,
    what_was_made_beside_a_sandbox_is_not_kept,
    a_sandbox_without_its_doorkeeper_is_not_kept;
    also on local:
    a_cancelled_scenario_is_never_kept,
}

/// The owner of everything goes, and another one comes.
async fn change_owner(harness: &mut Harness) {
    harness.backend = Arc::new(connect(&harness.data_dir).await);
}

async fn sweep(harness: &Harness, reach: Reach) -> Swept {
    harness.backend.sweep(reach).await.expect("swept")
}

/// Runs a script as a person who looks into a container.
fn look_into(container: &str, script: &str) -> String {
    output("docker", &["exec", container, "sh", "-c", script])
}

fn is_running(container: &str) -> bool {
    output("docker", &["inspect", "--format", "{{.State.Running}}", container]) == "true"
}

/// The doors of a sandbox, whoever owns it.
fn doors(harness: &Harness, sandbox: &str) -> Vec<PathBuf> {
    let owners = std::fs::read_dir(harness.data_dir.path().join("doors")).expect("a folder");
    let doors = owners.map(|owner| owner.expect("an entry").path().join(sandbox));
    doors.filter(|door| door.exists()).collect()
}

fn kept_events(harness: &Harness) -> Vec<String> {
    let events = harness.events.lock().expect("events");
    let kept = events.iter().filter_map(|event| match event {
        Event::SandboxKept { name } => Some(name.clone()),
        Event::SandboxDestroyed { .. } => panic!("{events:?}"),
        _ => None,
    });
    kept.collect()
}

fn has_failed(evidence: &Evidence) -> bool {
    evidence.agent.exit != Some(Exit::Code(0))
}

async fn a_failed_scenario_is_kept_and_spared_until_the_kept_are_swept(harness: &mut Harness) {
    let yaml = Sketch::acting("echo content > note; setsid sleep 4321 & exit 3")
        .with(&format!("services: [{{name: cache, image: '{REDIS}'}}, {{name: mail, type: http_mock}}]"))
        .yaml();
    let (_, evidence) =
        harness.try_keep(&yaml, Keep::When(&has_failed), &CancellationToken::new()).await.expect("evidence");
    let name = evidence.world.sandbox.clone();
    assert_eq!(kept_events(harness), [name.as_str()]);
    let note = evidence.notes.iter().find(|note| note.contains(&name)).expect("a note");
    assert!(note.contains(&format!("`touchstone shell {name}`")) && note.contains("mocks are gone"), "{note}");
    assert!(note.contains("`touchstone sweep --kept`"), "{note}");

    change_owner(harness).await;
    let swept = sweep(harness, Reach::Gone).await;
    assert_eq!((swept.containers, swept.volumes, swept.folders, swept.kept), (0, 0, 0, 1));
    assert_eq!(doors(harness, &name).len(), 1, "its files are mounted");
    assert_eq!(look_into(&name, "cat /workspace/note"), "content");
    assert_eq!(look_into(&name, "grep -c cache /etc/hosts"), "2");
    assert!(!output("docker", &["top", &name, "-eo", "pid,args"]).contains("sleep 4321"), "the agent is gone");
    let service = format!("{name}-cache");
    assert_eq!(look_into(&service, "redis-cli ping"), "PONG");
    assert_eq!(
        output("docker", &["exec", &name, "bash", "-c", "echo > /dev/tcp/cache/6379 && echo reached"]),
        "reached"
    );

    let swept = sweep(harness, Reach::GoneAndKept).await;
    assert_eq!((swept.containers, swept.kept), (2, 0));
    assert!(swept.volumes > 0 && doors(harness, &name).is_empty());
    harness.assert_nothing_is_left();
    assert_eq!(sweep(harness, Reach::GoneAndKept).await, Swept::default());
}

async fn services_with_networks_of_their_own_are_kept_too(harness: &mut Harness) {
    let services = format!("services: [{{name: one, image: '{REDIS}'}}, {{name: two, image: '{REDIS}'}}]");
    let yaml = Sketch::acting("true").with(&services).yaml();
    let (_, evidence) = harness.try_keep(&yaml, Keep::Always, &CancellationToken::new()).await.expect("evidence");
    let name = evidence.world.sandbox;
    change_owner(harness).await;
    assert_eq!(sweep(harness, Reach::Gone).await, Swept { kept: 1, ..Swept::default() });
    for service in ["one", "two"] {
        assert_eq!(look_into(&format!("{name}-{service}"), "redis-cli ping"), "PONG");
        let holder = format!("{name}_net-{service}");
        assert!(is_running(&holder) && doors(harness, &holder).len() == 1);
    }
    assert_eq!(sweep(harness, Reach::GoneAndKept).await.containers, 5);
}

async fn a_passed_scenario_is_not_kept(harness: &mut Harness) {
    let yaml = Sketch::acting("true").yaml();
    let (_, evidence) =
        harness.try_keep(&yaml, Keep::When(&has_failed), &CancellationToken::new()).await.expect("evidence");
    assert!(evidence.notes.is_empty(), "{:?}", evidence.notes);
    let destroyed = Event::SandboxDestroyed { name: evidence.world.sandbox };
    assert!(harness.events.lock().expect("events").contains(&destroyed));
    harness.assert_nothing_is_left();
}

async fn an_error_while_preparing_is_kept(harness: &mut Harness) {
    let yaml = Sketch::acting("true").with("setup: {commands: ['echo half > half; sleep 4321 & false']}").yaml();
    for keep in [Keep::Always, Keep::When(&|_| false)] {
        harness.events.lock().expect("events").clear();
        let error = harness.try_keep(&yaml, keep, &CancellationToken::new()).await.expect_err("an error");
        assert!(matches!(error, EngineError::WrongSpec { .. }), "{error:?}");
        let names = kept_events(harness);
        let [name] = names.as_slice() else { panic!("{names:?}") };
        let told =
            |event: &Event| matches!(event, Event::Note(note) if note.contains(&format!("touchstone shell {name}")));
        assert!(harness.events.lock().expect("events").iter().any(told), "there is no evidence to say it");
        change_owner(harness).await;
        assert_eq!(sweep(harness, Reach::Gone).await.kept, 1);
        assert_eq!(look_into(name, "cat /workspace/half"), "half");
        assert!(!output("docker", &["top", name, "-eo", "pid,args"]).contains("sleep 4321"));
        assert_eq!(sweep(harness, Reach::GoneAndKept).await.containers, 1);
        harness.assert_nothing_is_left();
    }
}

async fn a_cancelled_scenario_is_never_kept(harness: &mut Harness) {
    let yaml = Sketch::acting("sleep 1000").yaml();
    let cancel = CancellationToken::new();
    let cancelling = async {
        until("the agent acts", || harness.events.lock().expect("events").contains(&Event::AgentStarted)).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(harness.try_keep(&yaml, Keep::Always, &cancel), cancelling);
    assert!(matches!(outcome, Err(EngineError::Cancelled)), "{outcome:?}");
    harness.assert_nothing_is_left();
}

async fn the_kept_are_swept_while_their_owner_lives_and_the_others_are_not(harness: &mut Harness) {
    let (kept, living) = (harness.sandbox(DEBIAN, small()).await, harness.sandbox(DEBIAN, small()).await);
    kept.keep(&Visitor::default()).await.expect("kept");
    let other = connect(&harness.data_dir).await;
    let spared = engine::backend::Backend::sweep(&other, Reach::Gone).await.expect("swept");
    assert_eq!(spared, Swept { kept: 1, ..Swept::default() });
    assert!(is_running(kept.name()));
    assert!(kept.door().spawn(spawn(&["/bin/true"])).await.is_err(), "nothing can be asked of it any more");
    kept.destroy().await.expect("nothing to do");
    assert!(is_running(kept.name()), "it is no more the owner's to remove");
    let swept = engine::backend::Backend::sweep(&other, Reach::GoneAndKept).await.expect("swept");
    assert_eq!((swept.containers, swept.volumes, swept.folders), (1, 1, 1));
    living.door().spawn(spawn(&["/bin/true"])).await.expect("the living are spared");
    living.destroy().await.expect("removed");
}

async fn a_kept_sandbox_that_somebody_removed_is_forgotten(harness: &mut Harness) {
    let sandbox = harness.sandbox(DEBIAN, small()).await;
    sandbox.keep(&Visitor::default()).await.expect("kept");
    output("docker", &["rm", "--force", sandbox.name()]);
    drop(sandbox);
    change_owner(harness).await;
    let swept = sweep(harness, Reach::Gone).await;
    assert_eq!((swept.containers, swept.volumes, swept.kept), (0, 1, 0));
    harness.assert_nothing_is_left();
}

async fn what_was_made_beside_a_sandbox_is_not_kept(harness: &mut Harness) {
    let sandbox = harness.sandbox(DEBIAN, small()).await;
    let fresh = sandbox.fresh().await.expect("another");
    sandbox.keep(&Visitor::default()).await.expect("kept");
    let containers = harness.left().iter().filter(|thing| thing.starts_with("container")).count();
    assert_eq!(containers, 1, "{:?}", harness.left());
    assert!(sandbox.keep(&Visitor::default()).await.is_err(), "once is enough");
    assert!(late_service(harness, &*sandbox).await.is_err(), "a kept sandbox starts nothing");
    drop(fresh);
    assert_eq!(sweep(harness, Reach::GoneAndKept).await.containers, 1);
}

async fn late_service(harness: &Harness, sandbox: &dyn Sandbox) -> Result<(), EngineError> {
    let image = harness.backend.image(REDIS, &Events::nowhere()).await.expect("the image");
    let request = ServiceRequest {
        shim: None,
        restarts: false,
        name: "late".to_owned(),
        image,
        command: None,
        environment: Default::default(),
        own_network: false,
    };
    sandbox.start_service(request).await.map(|_| ())
}

async fn a_sandbox_without_its_doorkeeper_is_not_kept(harness: &mut Harness) {
    let sandbox = harness.sandbox(DEBIAN, small()).await;
    let killed = Command::new("docker").args(["kill", sandbox.name()]).output().expect("docker");
    assert!(killed.status.success(), "{killed:?}");
    until("the door is closed", || sandbox.door().is_closed()).await;
    sandbox.keep(&Visitor::default()).await.expect_err("nobody can look inside");
    assert_eq!(sweep(harness, Reach::Gone).await.kept, 0);
    sandbox.destroy().await.expect("removed like any other");
    harness.assert_nothing_is_left();
}
