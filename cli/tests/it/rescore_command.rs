//! `touchstone rescore` with a spec that asks for something else.

use std::fs;

use crate::place::{Place, THERE, spec};

/// Runs an agent that leaves `out`, and judges that again by another spec.
fn rescored(from: &str, to: &str) -> (i32, String, String) {
    let place = Place::new(&spec("touch out", THERE));
    assert_eq!(place.run_spec(&[]).0, 0);
    let changed = place.path().join("changed.yaml");
    fs::write(&changed, spec("touch out", THERE).replace(from, to)).expect("a spec");
    let changed = changed.display().to_string();
    place.run(&["rescore", "latest", "--spec", &changed])
}

#[test]
fn an_answer_to_another_question_judges_nothing() {
    let (code, stdout, stderr) = rescored("path: out", "path: other");
    assert_eq!(code, 4, "{stdout}{stderr}");
    assert!(stdout.contains("there passed → errored"), "{stdout}");
}

#[test]
fn the_same_question_under_another_name_is_answered() {
    let (code, stdout, stderr) = rescored("{there: {description: x", "{found: {description: y, weight: 2");
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains("found not there → passed"), "{stdout}");
}

#[test]
fn parameters_that_the_run_had_not_are_said() {
    let (code, _, stderr) = rescored("invariants:", "parallelism: {matrix: {name: [out]}}\ninvariants:");
    assert!(code == 2 && stderr.contains("has the parameter `name`"), "{code}: {stderr}");
}
