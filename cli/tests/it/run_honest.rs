//! No verdict is lost in the output: not by a reader that closed it, a file that cannot be written, or a closed
//! terminal.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use store::{AttemptOutcome, RunState};

use crate::place::{Place, Started, THERE, spec};
use crate::run;

fn failing() -> Place {
    Place::new(&spec("exit 0", THERE))
}

#[test]
fn a_reader_that_went_away_does_not_make_a_failure_pass() {
    let place = failing();
    let mut command = Command::new(env!("CARGO_BIN_EXE_touchstone"));
    command.args(["run", "--no-pull", "--format", "json", "--data-dir"]).arg(place.data()).arg(place.spec());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("its end").code(), Some(1));
}

#[test]
fn a_report_that_cannot_be_written_hides_no_failure_and_is_no_success() {
    let place = failing();
    let file = place.path().join("full.json");
    symlink("/dev/full", &file).expect("a link");
    let file = file.display().to_string();
    let (code, stdout, stderr) = place.run_spec(&["-o", &file]);
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("full.json`: No space left"), "{stderr}");
    assert!(stdout.contains("trial FAILED"), "{stdout}");
    let passing = Place::new(&spec("touch out", THERE));
    let (code, _, stderr) = passing.run_spec(&["-o", &file]);
    assert!(code == 4 && stderr.contains("full.json"), "{code}: {stderr}");
}

#[test]
fn a_closed_terminal_cancels_and_cleans_up() {
    let place = Place::new(&spec("sleep 30; touch out", THERE));
    // Also where the tests themselves are to outlive their terminal.
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_touchstone"), "run", "--no-pull", "--verbose"]);
    command.arg(place.spec()).arg("--data-dir").arg(place.data()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut run = Started::watch(command.spawn().expect("the binary"));
    assert!(run.wait_for("the agent acts"), "{}", run.told);
    run.signal("HUP");
    let (status, told) = run.end();
    assert_eq!(status.code(), Some(130), "{told}");
    let (state, attempts) = place.only_run();
    assert_eq!(state, RunState::Cancelled);
    assert!(attempts.iter().all(|(_, outcome)| *outcome == AttemptOutcome::Cancelled), "{attempts:?}");
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn what_a_living_process_is_about_to_report_is_no_garbage() {
    let place = Place::new(&spec("sleep 30", THERE));
    let quick = place.path().join("quick.yaml");
    fs::write(&quick, spec("touch out", THERE).replace("id: trial", "id: quick")).expect("a spec");
    let mut run = place.start(&[&quick.display().to_string()]);
    assert!(run.wait_for("pass  quick/default-r0"), "{}", run.told);
    let (code, stdout, stderr) = place.run(&["gc", "--older-than", "0s", "--keep", "0"]);
    assert!(code == 0 && stdout.starts_with("removed 0 experiments,"), "{stdout}{stderr}");
    run.signal("INT");
    assert_eq!(run.end().0.code(), Some(130));
    let (code, stdout, stderr) = place.run(&["gc", "--older-than", "0s", "--keep", "0"]);
    assert!(code == 0 && stdout.starts_with("removed 2 experiments,"), "{stdout}{stderr}");
}

#[test]
fn without_its_secrets_nothing_is_begun_again() {
    let place = Place::new(&spec("sleep 30", &format!("secrets: [{{name: KEY, source: 'file:/tmp/none'}}]\n{THERE}")));
    let file = place.path().join("key");
    let text = fs::read_to_string(place.spec().join("spec.yaml")).expect("a spec");
    fs::write(place.spec().join("spec.yaml"), text.replace("/tmp/none", &file.display().to_string())).expect("a spec");
    fs::write(&file, "a long value").expect("a file");
    let mut run = place.start(&[]);
    assert!(run.wait_for("the agent acts"), "{}", run.told);
    run.kill();
    fs::remove_file(&file).expect("removed");
    for arguments in [["run", "--no-pull", "--resume", "latest"].as_slice(), &["rerun", "--no-pull", "latest"]] {
        let (code, stdout, stderr) = place.run(arguments);
        assert!(code == 2 && stderr.contains("the secret `KEY` has no value"), "{code}: {stdout}{stderr}");
        assert_eq!(place.only_run().0, RunState::Open, "it can still be finished");
    }
    assert_eq!(place.run(&["cancel", "latest"]).0, 0);
    assert_eq!(place.run(&["sweep"]).0, 0);
}

#[test]
fn only_files_with_plain_names_belong_to_a_spec() {
    let place = failing();
    let validate = || run(&["validate", &place.spec().display().to_string()]);
    let odd = place.spec().join(OsStr::from_bytes(b"odd\xff"));
    fs::write(&odd, "x").expect("a file");
    let (code, stdout, _) = validate();
    assert!(code == 3 && stdout.contains("not UTF-8; rename it"), "{stdout}");
    fs::remove_file(odd).expect("removed");
    let _socket = UnixListener::bind(place.spec().join("socket")).expect("a socket");
    let (code, stdout, _) = validate();
    assert!(code == 3 && stdout.contains("`socket` in the spec's folder is a pipe, a socket or a device"), "{stdout}");
}
