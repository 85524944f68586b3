//! Limits: each that fires is named, makes the scenario a fail, and leaves the invariants evaluated.

use std::time::Duration;

use engine::error::EngineError;
use engine::event::Event;
use scenario::evidence::{Answer, Evidence, Limit};
use scenario::result::{RowStatus, ScenarioResult};
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Sketch, answer, assert_failed_by, fired, is_met, suite};
use crate::harness::Harness;

suite! {
    a_process_that_takes_too_much_memory_is_named,
    memory_that_is_left_full_is_a_fail_and_no_error,
    an_agent_that_starts_too_many_processes_is_named,
    an_agent_that_does_not_end_is_ended,
    the_whole_time_ends_an_agent_too,
    an_agent_that_prints_too_much_is_ended,
    a_full_workspace_is_named_even_when_it_was_emptied_again,
    writing_over_the_image_ends_the_agent,
    writing_over_the_image_is_found_while_others_make_room,
    more_requests_than_are_kept_are_counted_and_named,
    a_check_that_does_not_end_is_ended_and_named,
    a_world_that_is_not_ready_in_time_is_an_error,
    an_agent_within_its_limits_fires_none;
    also on local:
    an_agent_that_does_not_end_is_ended,
    the_whole_time_ends_an_agent_too,
    an_agent_that_prints_too_much_is_ended,
    a_full_workspace_is_named_even_when_it_was_emptied_again,
    writing_over_the_image_ends_the_agent,
    writing_over_the_image_is_found_while_others_make_room,
    more_requests_than_are_kept_are_counted_and_named,
    a_check_that_does_not_end_is_ended_and_named,
    a_world_that_is_not_ready_in_time_is_an_error,
    an_agent_within_its_limits_fires_none;
    on local as root:
    a_process_that_takes_too_much_memory_is_named,
    memory_that_is_left_full_is_a_fail_and_no_error,
    an_agent_that_starts_too_many_processes_is_named,
}

/// Takes so many megabytes.
fn take(megabytes: u32) -> String {
    format!("perl -e '$x = \"x\" x ({megabytes} << 20); print length($x) >> 20'")
}

async fn a_process_that_takes_too_much_memory_is_named(harness: &mut Harness) {
    let script = format!("{}; echo code $?; touch after", take(120));
    let sketch = Sketch::acting(&script)
        .with("resources: {memory: 64Mi, disk: 4Mi}")
        .must("after", json!({"type": "file_exists", "path": "after"}))
        .must_succeed("still_works", "test -f after");
    let (result, evidence) = sketch.run(harness).await;
    assert_failed_by(Limit::Memory, &result, &evidence);
    assert_eq!(evidence.agent.stdout.head, "code 137\n", "the rest of the agent lives on: {evidence:#?}");
    assert!(is_met(&result, "after") && is_met(&result, "still_works"), "{result:#?}");
    assert!(evidence.limits[0].detail.contains("MiB"), "{:?}", evidence.limits);
}

/// A doorkeeper that is killed while the agent acts: by the kernel when nothing else is left to end, or by somebody outside.
#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_that_dies_is_a_fail_when_its_memory_was_used_up_and_an_error_otherwise() {
    let harness = Harness::docker().await;
    let (result, evidence) = killed(&harness, &take(120), "kill").await.expect("evidence");
    assert_eq!((result.status, fired(&evidence)), (RowStatus::Fail, vec![Limit::Memory]), "{evidence:#?}");
    let Answer::Unavailable { reason, .. } = answer(&evidence, "asked") else { panic!("{evidence:#?}") };
    assert!(reason.contains("the sandbox ended"), "{reason}");
    for how in ["kill", "stop"] {
        let error = killed(&harness, "true", how).await.expect_err("an error");
        assert!(error.is_retryable(), "{how}: {error}");
        assert!(error.to_string().contains("somebody outside ended the container"), "{how}: {error}");
    }
    harness.assert_nothing_is_left();
}

/// Runs an agent whose sandbox is ended from outside while it acts.
async fn killed(harness: &Harness, before: &str, how: &str) -> Result<(ScenarioResult, Evidence), EngineError> {
    harness.events.lock().expect("events").clear();
    let sketch = Sketch::acting(&format!("{before}; touch now; sleep 50"))
        .with("resources: {memory: 64Mi, disk: 4Mi}")
        .must_succeed("asked", "true");
    let yaml = sketch.yaml();
    let ending = async {
        let mut name = None;
        super::until("there is a sandbox", || {
            name = created(harness);
            name.is_some()
        })
        .await;
        let name = name.expect("a name");
        let docker = |words: &[&str]| std::process::Command::new("docker").args(words).output().expect("docker");
        let looks = || docker(&["exec", &name, "test", "-e", "/workspace/now"]).status.success();
        super::until("it is time", looks).await;
        docker(&[how, &name]);
    };
    let cancel = CancellationToken::new();
    tokio::join!(harness.try_run(&yaml, &cancel), ending).0
}

/// The name of the sandbox that was made.
fn created(harness: &Harness) -> Option<String> {
    let events = harness.events.lock().expect("events");
    events.iter().find_map(|event| match event {
        Event::SandboxCreated { name } => Some(name.clone()),
        _ => None,
    })
}

async fn memory_that_is_left_full_is_a_fail_and_no_error(harness: &mut Harness) {
    // In ever smaller pieces, so that there is no room for what comes after.
    let script = "for size in 16M 4M 1M; do for i in 1 2 3 4 5 6 7 8; do \
                  head -c $size /dev/zero > /dev/shm/$size.$i 2> /dev/null; done; done; true";
    let sketch = Sketch::acting(script)
        .agent("timeout", json!("20s"))
        .with("resources: {memory: 32Mi, disk: 1Mi}")
        .must("files", json!({"type": "file_exists", "path": "."}))
        .must_succeed("command", &take(8));
    let (result, evidence) = sketch.run(harness).await;
    assert_eq!(result.status, RowStatus::Fail, "{result:#?}");
    assert!(is_met(&result, "files") && is_met(&result, "command"), "looking has room of its own: {result:#?}");
    assert!(fired(&evidence).contains(&Limit::Memory), "{evidence:#?}");
}

async fn an_agent_that_starts_too_many_processes_is_named(harness: &mut Harness) {
    let script = "perl -e 'for (1..200) { my $p = fork; last unless defined $p; if (!$p) { sleep 60; exit } } print \"no more\\n\"'";
    let sketch = Sketch::acting(script).with("resources: {pids: 24}").must_succeed("still_works", "true");
    let (result, evidence) = sketch.run(harness).await;
    assert_failed_by(Limit::Pids, &result, &evidence);
    assert_eq!(evidence.agent.stdout.head, "no more\n");
    assert!(is_met(&result, "still_works"), "what it started is gone: {result:#?}");
    assert!(evidence.limits[0].detail.contains("24"), "{:?}", evidence.limits);
}

async fn an_agent_that_does_not_end_is_ended(harness: &mut Harness) {
    // Neither a signal nor another session saves it.
    let script = "trap '' TERM INT HUP; setsid sleep 1000 & echo begun; touch begun; sleep 1000 & wait; sleep 1000";
    let sketch = Sketch::acting(script)
        .agent("timeout", json!("1s"))
        .must("begun", json!({"type": "file_exists", "path": "begun"}))
        .must_succeed("gone", "! grep -l sleep /proc/[0-9]*/comm");
    let (result, evidence) = sketch.run(harness).await;
    assert_failed_by(Limit::AgentTimeout, &result, &evidence);
    assert_eq!((evidence.agent.stdout.head.as_str(), evidence.agent.exit), ("begun\n", None));
    assert!(is_met(&result, "begun") && is_met(&result, "gone"), "{result:#?}");
}

async fn the_whole_time_ends_an_agent_too(harness: &mut Harness) {
    let sketch = Sketch::acting("sleep 1000").with("resources: {timeout: 3s}").must_succeed("asked", "true");
    let (result, evidence) = sketch.run(harness).await;
    assert_failed_by(Limit::Timeout, &result, &evidence);
    assert!(is_met(&result, "asked"), "there is time to look: {result:#?}");
}

async fn an_agent_that_prints_too_much_is_ended(harness: &mut Harness) {
    let script = "echo begin; touch begun; while true; do head -c 100000 /dev/zero | tr '\\0' x; done";
    let sketch = Sketch::acting(script)
        .with("resources: {output: 2Mi}")
        .must("begun", json!({"type": "file_exists", "path": "begun"}));
    let (result, evidence) = sketch.run(harness).await;
    assert_failed_by(Limit::Output, &result, &evidence);
    assert!(evidence.agent.stdout.head.starts_with("begin\nxxx"));
    assert!(evidence.agent.stdout.dropped_bytes > 0 && is_met(&result, "begun"), "{:?}", evidence.limits);
}

async fn a_full_workspace_is_named_even_when_it_was_emptied_again(harness: &mut Harness) {
    let script = "head -c 9M /dev/zero > big || echo full; sleep 0.3; rm big; touch after";
    let sketch = Sketch::acting(script)
        .with("resources: {disk: 8Mi}")
        .must("after", json!({"type": "file_exists", "path": "after"}));
    let (result, evidence) = sketch.run(harness).await;
    assert_failed_by(Limit::Disk, &result, &evidence);
    assert_eq!(evidence.agent.stdout.head, "full\n", "{evidence:#?}");
    assert!(is_met(&result, "after"));
    // What is still full is answered too: probes need no room in it.
    let sketch =
        Sketch::acting("head -c 9M /dev/zero > big; for i in $(seq 20000); do : > $i || break; done 2> /dev/null")
            .with("resources: {disk: 8Mi}\naudit: {file_writes: true}")
            .must("big", json!({"type": "file_exists", "path": "big"}))
            .must_succeed("command", "test -s big")
            .must("fresh", json!({"type": "command_exit", "command": "test -s big", "verify": "fresh"}));
    let (result, evidence) = sketch.run(harness).await;
    assert_failed_by(Limit::Disk, &result, &evidence);
    assert!(["big", "command", "fresh"].iter().all(|name| is_met(&result, name)), "{result:#?}");
}

async fn writing_over_the_image_ends_the_agent(harness: &mut Harness) {
    let started = Instant::now();
    let sketch = Sketch::acting("touch begun; head -c 40M /dev/urandom > /.touchstone/big; sleep 50")
        .with("resources: {disk: 16Mi}")
        .must("begun", json!({"type": "file_exists", "path": "begun"}));
    let (result, evidence) = sketch.run(harness).await;
    assert_failed_by(Limit::Disk, &result, &evidence);
    assert!(evidence.limits[0].detail.contains("outside the workspace"), "{:?}", evidence.limits);
    assert!(is_met(&result, "begun") && started.elapsed() < Duration::from_secs(40), "it was not waited for");
}

async fn writing_over_the_image_is_found_while_others_make_room(harness: &mut Harness) {
    let room = tempfile::NamedTempFile::new_in("/var/tmp").expect("a file");
    std::fs::write(room.path(), vec![1; 96 << 20]).expect("written");
    room.as_file().sync_all().expect("on the disk");
    let sketch = Sketch::acting("sleep 1; head -c 40M /dev/urandom > /var/big")
        .with("resources: {disk: 16Mi}\nsetup: {commands: ['head -c 20M /dev/urandom > /var/tmp/setup']}");
    let yaml = sketch.yaml();
    let running = harness.run(&yaml);
    let removing = async {
        let begun = || harness.events.lock().expect("events").contains(&Event::AgentStarted);
        super::until("the agent acts", begun).await;
        drop(room);
    };
    let ((result, evidence), ()) = tokio::join!(running, removing);
    assert_failed_by(Limit::Disk, &result, &evidence);
}

async fn more_requests_than_are_kept_are_counted_and_named(harness: &mut Harness) {
    let script = r#"
        perl -MIO::Socket::INET -e '
            my $socket = IO::Socket::INET->new("mail:80") or die;
            my $piece = "GET /x HTTP/1.1\r\nHost: mail\r\n\r\n" x 100;
            if (!fork) { for (1..105) { print $socket $piece } exit }
            my ($all, $got) = ("", 0);
            while ($got < 10500 and sysread $socket, $all, 65536) { $got += () = $all =~ /HTTP\/1.1 /g }
            print "answered\n"'
    "#;
    let sketch = Sketch::acting(script)
        .with("services: [{name: mail, type: http_mock, record: true}]")
        .must("all", json!({"type": "http_mock_assertions", "service": "mail", "assertions": [{"field": "request_count", "equals": 10500}]}));
    let (result, evidence) = sketch.run(harness).await;
    assert_failed_by(Limit::Requests, &result, &evidence);
    let journal = &evidence.journals["mail"];
    let counted = journal.overflow.as_ref().map_or(0, scenario::evidence::Overflow::total);
    assert_eq!(journal.exchanges.len() as u64 + counted, 10_500, "{:?}", evidence.agent);
    assert!(is_met(&result, "all"), "counts stay right: {:?}", result.invariants);
}

async fn a_check_that_does_not_end_is_ended_and_named(harness: &mut Harness) {
    let sketch = Sketch::acting("true")
        .must(
            "a_hangs",
            json!({"type": "command_exit", "command": "echo said; sleep 1000 & sleep 1000", "timeout": "1s"}),
        )
        .must_succeed("b_after", "! grep -l sleep /proc/[0-9]*/comm");
    let (result, evidence) = sketch.run(harness).await;
    let Answer::Command(hangs) = answer(&evidence, "a_hangs") else { panic!("{evidence:#?}") };
    assert_eq!((hangs.exit, hangs.stdout.head.as_str()), (None, "said\n"));
    assert_eq!(result.status, RowStatus::Fail);
    assert!(is_met(&result, "b_after"), "what a check leaves is ended: {result:#?}");
    let shown = serde_json::to_string(&result).expect("JSON");
    assert!(shown.contains("check.timeout"), "{shown}");
}

async fn a_world_that_is_not_ready_in_time_is_an_error(harness: &mut Harness) {
    let yaml = Sketch::acting("true").with("resources: {timeout: 2s}\nsetup: {commands: [sleep 1000]}").yaml();
    let error = harness.try_run(&yaml, &CancellationToken::new()).await.expect_err("an error and no fail");
    assert!(matches!(&error, EngineError::PrepareTimeout { seconds: 2, step } if step == "setup"), "{error:?}");
    harness.assert_nothing_is_left();
}

async fn an_agent_within_its_limits_fires_none(harness: &mut Harness) {
    let script = format!(
        "{}; head -c 3M /dev/zero > file; head -c 3M /dev/zero > /var/file; for i in $(seq 20); do sleep 0.1 & done; wait; head -c 900000 /dev/zero | tr '\\0' x",
        take(20)
    );
    let sketch = Sketch::acting(&script)
        .with("resources: {memory: 64Mi, disk: 4Mi, pids: 48, output: 1Mi}")
        .must_succeed("there", "test -s file");
    let (result, evidence) = sketch.run(harness).await;
    assert_eq!((result.status, fired(&evidence)), (RowStatus::Pass, Vec::new()), "{result:#?}");
    assert_eq!(evidence.offences, Vec::<String>::new());
}
