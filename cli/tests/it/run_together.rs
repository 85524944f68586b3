//! Processes beside each other: on one data directory, and on two.

use std::process::Command;

use store::{AttemptOutcome, RunState};

use crate::place::{Place, THERE, spec};

#[test]
fn two_processes_on_one_data_directory_do_not_disturb_each_other() {
    let place = Place::new(&spec("sleep 0.5; touch out", &format!("parallelism: {{replicas: 4}}\n{THERE}")));
    // A database that is not there yet is made by whoever comes first.
    let runs = [place.start(&["--max-concurrent", "2"]), place.start(&["--max-concurrent", "2"])];
    for run in runs {
        let (status, told) = run.end();
        assert_eq!(status.code(), Some(0), "{told}");
        assert!(!told.contains("left unfinished") && !told.contains("retry"), "{told}");
    }
    let runs = place.runs();
    assert_eq!(runs.len(), 2);
    for (run, attempts) in runs {
        assert_eq!((run.state, run.ended), (RunState::Finished, 4));
        assert!(attempts.iter().all(|attempt| attempt.number == 1 && attempt.outcome == AttemptOutcome::Judged));
    }
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn the_sweep_of_another_data_directory_touches_nothing() {
    let place = Place::new(&spec("until [ -e go ]; do sleep 0.1; done; touch out", THERE));
    let mut run = place.start(&[]);
    assert!(run.wait_for("the agent acts"), "{}", run.told);
    let before = place.left();
    let other = Place::new(&spec("touch out", THERE));
    assert_eq!(other.run_spec(&[]).0, 0, "a run sweeps");
    let (code, _, stderr) = other.run(&["sweep", "--kept"]);
    assert_eq!(code, 0, "{stderr}");
    let (code, _, stderr) = place.run(&["sweep"]);
    assert_eq!(code, 0, "{stderr}: a sweep of its own data directory spares the living");
    let containers = |left: Vec<String>| left.into_iter().filter(|thing| !thing.contains('/')).collect::<Vec<_>>();
    assert_eq!(containers(place.left()), containers(before));
    let container = run.told.split("sandbox ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a name");
    let go = Command::new("docker").args(["exec", container, "touch", "/workspace/go"]).output().expect("docker");
    assert!(go.status.success(), "{go:?}");
    let (status, told) = run.end();
    assert_eq!(status.code(), Some(0), "{told}");
    assert_eq!(place.left(), Vec::<String>::new());
}
