//! Faults of the machine that users meet, provoked: each gets a message with its fix.

use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use crate::place::{IMAGE, Place, THERE, spec};
use crate::{FOREIGN, read};

/// A spec that cannot but pass where there is an engine.
fn place() -> Place {
    Place::new(&spec("touch out", THERE))
}

/// Runs on Docker, started by another program: `before` is that program with its arguments.
fn started_by(place: &Place, before: &[&str], docker_host: Option<&str>) -> (i32, String, String) {
    let mut words = before.iter();
    let mut command = Command::new(words.next().expect("a program"));
    command.args(words);
    for foreign in FOREIGN {
        command.env_remove(foreign);
    }
    command.env("SPEC", place.spec()).env("DATA", place.data()).env("TOUCHSTONE", program());
    if let Some(host) = docker_host {
        command.env("DOCKER_HOST", host);
    }
    read(command.output().expect("a run"))
}

fn program() -> &'static str {
    env!("CARGO_BIN_EXE_touchstone")
}

const RUN: &str = "\"$TOUCHSTONE\" run --backend docker \"$SPEC\" --data-dir \"$DATA\"";

/// Returns true if these tests run as root.
fn is_root() -> bool {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    assert!(is_root || std::env::var_os("TOUCHSTONE_REQUIRE_TOOLS").is_none(), "only root can provoke this");
    is_root
}

#[test]
fn an_engine_that_does_not_answer() {
    let place = place();
    let (code, _, stderr) = started_by(&place, &["sh", "-c", RUN], Some("unix:///nowhere/docker.sock"));
    assert!(code == 4 && stderr.contains("no Docker engine answers") && stderr.contains("DOCKER_HOST"), "{stderr}");
}

#[test]
fn a_socket_that_is_not_open_to_this_user() {
    if !is_root() {
        return;
    }
    let place = place();
    // Where that user can reach it, and write.
    let program = place.path().join("touchstone");
    std::fs::copy(self::program(), &program).expect("a copy");
    let chown = Command::new("chown").args(["-R", "1234:1234"]).arg(place.path()).status();
    assert!(chown.expect("chown").success());
    let run = RUN.replace("\"$TOUCHSTONE\"", &program.display().to_string());
    let become_somebody = ["setpriv", "--reuid", "1234", "--regid", "1234", "--clear-groups", "sh", "-c", &run];
    let (code, _, stderr) = started_by(&place, &become_somebody, None);
    assert!(code == 4 && stderr.contains("is not open to this user") && stderr.contains("join it"), "{stderr}");
}

#[test]
fn an_image_that_is_missing_where_no_registry_answers() {
    let text = spec("touch out", THERE).replace(IMAGE, "registry.invalid/nobody/has-it:1");
    let (code, stdout, stderr) = started_by(&Place::new(&text), &["sh", "-c", RUN], None);
    assert_eq!(code, 4, "{stdout}{stderr}");
    for part in ["`registry.invalid/nobody/has-it:1` is not here", "touchstone images build", "docker load"] {
        let is_told = stdout.lines().any(|line| line.trim_start().starts_with('|') && line.contains(part));
        assert!(is_told, "{part}: {stdout}");
    }
}

#[test]
fn a_disk_that_is_full() {
    if !is_root() {
        return;
    }
    let place = place();
    let full = format!("mkdir \"$DATA\" && mount -t tmpfs -o size=300k none \"$DATA\" && {RUN}");
    let (code, stdout, stderr) = started_by(&place, &["unshare", "--mount", "sh", "-c", &full], None);
    assert!(code == 4 && stderr.contains("the disk is full") && stderr.contains("gc --images"), "{stdout}{stderr}");
}
