//! Tests that nothing stays behind, however a scenario or its worker ends.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use engine::backend::{Backend as _, Identity, Reach, SandboxRequest, ServiceRequest};
use engine::data_dir::DataDir;
use engine::entropy;
use engine::error::EngineError;
use engine::event::{Event, Events, Phase};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::isolation::spawn;
use super::{DEBIAN, Sketch, output, suite, until};
use crate::harness::{Harness, connect, left_of, small};

const REDIS: &str = "touchstone/redis:7";

suite! {
    a_service_that_does_not_come_up_is_an_error_with_its_last_lines,
    a_service_that_ends_at_once_is_not_waited_for,
    a_cancelled_preparation_leaves_nothing,
    a_scenario_that_is_cancelled_at_any_moment_leaves_nothing,
    a_cancelled_agent_leaves_nothing,
    a_cancelled_probe_leaves_nothing,
    a_probe_that_takes_too_long_leaves_nothing,
    a_sandbox_can_be_destroyed_twice_and_its_services_go_with_it,
    what_a_gone_owner_left_is_swept_by_another,
    one_that_cannot_be_removed_does_not_keep_the_others;
    also on local:
    a_scenario_that_is_cancelled_at_any_moment_leaves_nothing,
    a_sandbox_can_be_destroyed_twice_and_its_services_go_with_it,
    a_service_that_ends_at_once_is_not_waited_for,
    a_cancelled_agent_leaves_nothing,
    a_cancelled_probe_leaves_nothing,
    a_probe_that_takes_too_long_leaves_nothing,
}

async fn a_service_that_does_not_come_up_is_an_error_with_its_last_lines(harness: &mut Harness) {
    let services = format!(
        "services: [{{name: slow, image: '{DEBIAN}', ports: [4444], wait_timeout: 1s, command: [sh, -c, 'echo not today; sleep 1000']}}]"
    );
    let error = harness.try_run(&Sketch::acting("true").with(&services).yaml(), &CancellationToken::new()).await;
    let error = error.expect_err("an error");
    let EngineError::ServiceNotReady { service, output, .. } = &error else { panic!("{error:?}") };
    assert_eq!(service, "slow");
    assert!(output.contains("not today"), "{error}");
    harness.assert_nothing_is_left();
}

async fn a_service_that_ends_at_once_is_not_waited_for(harness: &mut Harness) {
    let services = "services: [{name: db, image: 'touchstone/postgres:15', wait_timeout: 100s}]";
    let started = tokio::time::Instant::now();
    let error = harness.try_run(&Sketch::acting("true").with(services).yaml(), &CancellationToken::new()).await;
    let message = error.expect_err("no password is no start").to_string();
    assert!(message.contains("its container ended") && message.contains("password"), "{message}");
    assert!(started.elapsed() < Duration::from_secs(30));
    harness.assert_nothing_is_left();
}

/// Cancels as soon as something happens.
async fn cancelled_when(harness: &Harness, yaml: &str, happens: impl Fn(&[Event]) -> bool) {
    let cancel = CancellationToken::new();
    let running = harness.try_run(yaml, &cancel);
    let cancelling = async {
        until("it is time to cancel", || happens(&harness.events.lock().expect("events"))).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(running, cancelling);
    assert!(matches!(outcome, Err(EngineError::Cancelled)), "{outcome:?}");
    harness.assert_nothing_is_left();
}

async fn a_cancelled_preparation_leaves_nothing(harness: &mut Harness) {
    let services = format!(
        "services: [{{name: slow, image: '{DEBIAN}', ports: [4444], command: [sleep, '1000']}}, {{name: cache, image: '{REDIS}'}}]"
    );
    let yaml = Sketch::acting("true").with(&services).yaml();
    cancelled_when(harness, &yaml, |events| events.iter().any(|event| matches!(event, Event::ServiceReady { .. })))
        .await;
}

async fn a_scenario_that_is_cancelled_at_any_moment_leaves_nothing(harness: &mut Harness) {
    let services = format!("services: [{{name: one, image: '{REDIS}'}}, {{name: two, image: '{REDIS}'}}]");
    let yaml = Sketch::acting("sleep 1000").with(&services).yaml();
    for milliseconds in [0, 30, 90, 180, 300, 450, 700] {
        let cancel = CancellationToken::new();
        let cancelling = async {
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            cancel.cancel();
        };
        let (outcome, ()) = tokio::join!(harness.try_run(&yaml, &cancel), cancelling);
        assert!(matches!(outcome, Err(EngineError::Cancelled)), "{outcome:?}");
        harness.assert_nothing_is_left();
    }
}

async fn a_cancelled_agent_leaves_nothing(harness: &mut Harness) {
    let yaml = Sketch::acting("sleep 1000").yaml();
    cancelled_when(harness, &yaml, |events| events.contains(&Event::AgentStarted)).await;
}

async fn a_cancelled_probe_leaves_nothing(harness: &mut Harness) {
    for verify in ["sandbox", "fresh"] {
        let sketch = Sketch::acting("true")
            .must("a_first", json!({"type": "file_exists", "path": "."}))
            .must("b_hangs", json!({"type": "command_exit", "command": "sleep 1000", "verify": verify}));
        let first = |event: &Event| matches!(event, Event::Probed { invariant } if invariant == "a_first");
        harness.events.lock().expect("events").clear();
        cancelled_when(harness, &sketch.yaml(), |events| {
            events.contains(&Event::PhaseStarted(Phase::Probe)) && events.iter().any(first)
        })
        .await;
    }
    // And once the second sandbox is there.
    let sketch = Sketch::acting("true")
        .must("hangs", json!({"type": "command_exit", "command": "sleep 1000", "verify": "fresh"}));
    let is_box = |thing: &&String| thing.starts_with("container") || thing.starts_with("box");
    let two = || harness.left().iter().filter(is_box).count() == 2;
    cancelled_when(harness, &sketch.yaml(), |_| two()).await;
}

async fn a_probe_that_takes_too_long_leaves_nothing(harness: &mut Harness) {
    let sketch = Sketch::acting("true")
        .must("hangs", json!({"type": "command_exit", "command": "sleep 1000", "verify": "fresh", "timeout": "1s"}));
    sketch.run(harness).await;
}

async fn a_sandbox_can_be_destroyed_twice_and_its_services_go_with_it(harness: &mut Harness) {
    let sandbox = harness.sandbox(DEBIAN, small()).await;
    let fresh = sandbox.fresh().await.expect("another");
    for (name, own_network) in [("one", false), ("two", true)] {
        sandbox.start_service(redis(harness, name, own_network).await).await.expect("a service");
    }
    fresh.destroy().await.expect("removed");
    assert!(harness.left().len() >= 3, "{:?}", harness.left());
    sandbox.destroy().await.expect("removed");
    harness.assert_nothing_is_left();
    sandbox.destroy().await.expect("nothing to do");
    let late = sandbox.start_service(redis(harness, "late", false).await).await;
    assert!(late.is_err(), "a sandbox that is gone starts nothing");
    assert!(sandbox.fresh().await.is_err());
    assert!(sandbox.door().spawn(spawn(&["/bin/true"])).await.is_err());
    harness.assert_nothing_is_left();
}

async fn redis(harness: &Harness, name: &str, own_network: bool) -> ServiceRequest {
    let image = harness.backend.image(REDIS, &Events::nowhere()).await.expect("the image");
    ServiceRequest {
        name: name.to_owned(),
        image,
        command: None,
        environment: Default::default(),
        own_network,
        restarts: false,
        shim: None,
    }
}

async fn what_a_gone_owner_left_is_swept_by_another(harness: &mut Harness) {
    let living = harness.sandbox(DEBIAN, small()).await;
    let gone = connect(&harness.data_dir).await;
    let image = gone.image(DEBIAN, &Events::nowhere()).await.expect("the image");
    let identity = Identity { experiment: "e".to_owned(), scenario: "s".to_owned(), job: entropy::uuid(), attempt: 1 };
    let request = SandboxRequest {
        identity,
        image,
        limits: small(),
        hosts: Vec::new(),
        name_server: None,
        read_only: false,
        has_tools: false,
    };
    let dropped = gone.create(request).await.expect("a sandbox");
    let name = dropped.name().to_owned();
    let nothing = harness.backend.sweep(Reach::Gone).await.expect("swept");
    assert_eq!((nothing.containers, nothing.volumes), (0, 0), "its owner lives");
    drop(dropped);
    drop(gone);
    let swept = harness.backend.sweep(Reach::Gone).await.expect("swept");
    assert_eq!((swept.containers, swept.volumes, swept.folders), (1, 1, 1));
    let left =
        output("docker", &["container", "ls", "-a", "--filter", &format!("name={name}"), "--format", "{{.Names}}"]);
    assert_eq!(left, "");
    living.door().spawn(spawn(&["/bin/true"])).await.expect("the living are spared");
    living.destroy().await.expect("removed");
}

/// A container of somebody else, removed with the test.
struct Stranger(String);

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = Command::new("docker").args(["rm", "--force", &self.0]).output();
    }
}

async fn one_that_cannot_be_removed_does_not_keep_the_others(harness: &mut Harness) {
    let dead = entropy::uuid();
    let data = format!("touchstone.data={}", harness.data_dir.id());
    let owner = format!("touchstone.owner={dead}");
    let labels = ["--label", &data, "--label", &owner];
    let stuck = output("docker", &[["volume", "create"].as_slice(), &labels].concat());
    let mount = format!("{stuck}:/held");
    let held = ["create", "--label", "touchstone=test", "--volume", &mount, "touchstone/busybox:1", "true"];
    let stranger = Stranger(output("docker", &held));
    for _ in 0..6 {
        output("docker", &[["create"].as_slice(), &labels, &["touchstone/busybox:1", "true"]].concat());
        output("docker", &[["volume", "create"].as_slice(), &labels].concat());
    }
    for folder in ["doors", "scratch"] {
        let folder = harness.data_dir.path().join(folder).join(dead.to_string());
        std::fs::create_dir_all(folder.join("something")).expect("a folder");
    }
    let error = harness.backend.sweep(Reach::Gone).await.expect_err("somebody uses a volume");
    assert!(error.to_string().contains(&stuck), "{error}");
    assert_eq!(harness.left(), [format!("volume {stuck}")]);
    assert!(!harness.data_dir.path().join("doors").join(dead.to_string()).exists());
    assert!(!harness.data_dir.path().join("scratch").join(dead.to_string()).exists());
    drop(stranger);
    let swept = harness.backend.sweep(Reach::Gone).await.expect("swept");
    assert_eq!((swept.containers, swept.volumes, swept.folders, swept.kept), (0, 1, 0, 0));
}

/// The folder with the data directory of a worker that is to be killed.
const VICTIM: &str = "TOUCHSTONE_TEST_VICTIM";

/// A worker in a process of its own, ended with the test.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_leaves_nothing_that_a_sweep_does_not_find() {
    if let Some(folder) = std::env::var_os(VICTIM) {
        return live_until_killed(PathBuf::from(folder)).await;
    }
    let harness = Harness::docker().await;
    let elsewhere = tempfile::tempdir().expect("a folder");
    let elsewhere = DataDir::resolve(Some(elsewhere.path().join("data"))).expect("a data directory");
    let stranger = connect(&elsewhere).await;
    let sibling = harness.sandbox(DEBIAN, small()).await;
    let siblings = harness.left();
    let mut victim = start_victim(&harness);
    let ready = harness.folder.path().join("ready");
    until("the worker has its sandbox", || ready.exists()).await;
    let name = std::fs::read_to_string(&ready).expect("a name");
    victim.0.kill().expect("killed");
    victim.0.wait().expect("its end");
    // Its doorkeeper sees that nobody is there any more.
    let state = || output("docker", &["inspect", "--format", "{{.State.Running}}", &name]);
    until("the sandbox has ended by itself", || state() == "false").await;
    let swept = stranger.sweep(Reach::Gone).await.expect("swept");
    assert_eq!((swept.containers, swept.volumes), (0, 0), "another data directory is none of its business");
    let second = connect(&harness.data_dir).await;
    let swept = second.sweep(Reach::Gone).await.expect("swept");
    assert_eq!((swept.containers, swept.folders), (4, 1), "the sandbox, two services and a network");
    assert_eq!(harness.left(), siblings, "what a living sibling has stays");
    sibling.door().spawn(spawn(&["/bin/true"])).await.expect("the sibling lives");
    sibling.destroy().await.expect("removed");
    harness.assert_nothing_is_left();
    assert_eq!(left_of(&elsewhere), Vec::<String>::new());
    let locks = std::fs::read_dir(harness.data_dir.path().join("owners")).expect("a folder").count();
    assert_eq!(locks, 2, "the dead owner is forgotten");
}

/// Starts this very test in a process of its own.
fn start_victim(harness: &Harness) -> Victim {
    let module = module_path!().split_once("::").expect("a crate and a module").1;
    let test = format!("{module}::a_worker_that_is_killed_leaves_nothing_that_a_sweep_does_not_find");
    let child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", &test, "--nocapture"])
        .env(VICTIM, harness.folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    Victim(child.expect("a process"))
}

/// Acts as the worker that is killed.
async fn live_until_killed(folder: PathBuf) {
    let data_dir = DataDir::resolve(Some(folder.join("data"))).expect("a data directory");
    let backend = connect(&data_dir).await;
    let image = backend.image(DEBIAN, &Events::nowhere()).await.expect("the image");
    let identity = Identity { experiment: "e".to_owned(), scenario: "s".to_owned(), job: entropy::uuid(), attempt: 1 };
    let request = SandboxRequest {
        identity,
        image,
        limits: small(),
        hosts: Vec::new(),
        name_server: None,
        read_only: false,
        has_tools: false,
    };
    let sandbox = backend.create(request).await.expect("a sandbox");
    let redis = backend.image(REDIS, &Events::nowhere()).await.expect("the image");
    for (name, own_network) in [("one", false), ("two", true)] {
        let request = ServiceRequest {
            shim: None,
            restarts: false,
            name: name.to_owned(),
            image: redis.clone(),
            command: None,
            environment: Default::default(),
            own_network,
        };
        sandbox.start_service(request).await.expect("a service");
    }
    let _agent = sandbox.door().spawn(spawn(&["/bin/sleep", "1000"])).await.expect("an agent");
    let ready = folder.join("ready");
    std::fs::write(folder.join("almost"), sandbox.name()).expect("written");
    std::fs::rename(folder.join("almost"), ready).expect("written");
    tokio::time::sleep(Duration::from_secs(100)).await;
    sandbox.destroy().await.expect("removed");
}
