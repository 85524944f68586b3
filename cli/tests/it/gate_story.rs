//! A gate from end to end: a baseline on main, a branch that regresses, one with noise, and a quarantine that ends.

use std::fs;

use crate::place::{Place, THERE, local_spec};
use crate::read;

/// Eight replicas, of which three of four must leave the file.
fn spec(agent: &str) -> String {
    local_spec(agent, &format!("parallelism: {{replicas: 8}}\nscoring: {{min_pass_rate: 0.75}}\n{THERE}"))
}

/// Runs `ci` in the place's folder, without Docker.
fn ci(place: &Place, agent: &str, arguments: &[&str]) -> (i32, String) {
    fs::write(place.spec().join("spec.yaml"), spec(agent)).expect("a spec");
    let folder = place.spec().display().to_string();
    let mut command = place.command(&[&["ci", "--backend", "local", &folder], arguments].concat());
    let (code, stdout, stderr) = read(command.current_dir(place.path()).output().expect("a run"));
    (code, format!("{stdout}{stderr}"))
}

fn quarantine(place: &Place, until: &str) {
    let text = format!("quarantine:\n  - {{scenario: trial, reason: a slow disk, until: {until}, owner: ann}}\n");
    fs::write(place.path().join("quarantine.yaml"), text).expect("a quarantine");
}

#[test]
fn a_regression_is_stopped_noise_is_not_and_a_quarantine_ends() {
    const WORKS: &str = "touch out";
    const BROKEN: &str = "true";
    const NOISY: &str = "case {{ replica }} in 3) true;; *) touch out;; esac";
    let place = Place::new(&spec(WORKS));
    let (code, told) = ci(&place, WORKS, &["--baseline", "main"]);
    assert!(code == 2 && told.contains("there is no baseline `main`, neither a file nor one that is kept"), "{told}");
    let (code, told) =
        ci(&place, WORKS, &["--baseline", "main", "--allow-missing-baseline", "--save-baseline", "main"]);
    assert!(code == 0 && told.contains("kept 1 run as the baseline `main`"), "{told}");

    let (code, told) = ci(&place, BROKEN, &["--baseline", "main", "--branch", "broken", "--save-baseline", "main"]);
    assert!(code == 1 && told.contains("regressed") && told.contains("trial/default: 8/8 → 0/8"), "{told}");
    assert!(told.contains("the baseline `main` stays as it is, because this run did not pass"), "{told}");
    let (code, told) = ci(&place, NOISY, &["--baseline", "main", "--branch", "noisy"]);
    assert!(code == 0 && told.contains("0 regressed") && told.contains("insufficient evidence"), "{told}");
    let (_, flaky, _) = place.run(&["flaky"]);
    assert!(flaky.contains("replicas differed in 1 of 3 runs"), "{flaky}");

    quarantine(&place, "2999-12-31");
    let (code, told) = ci(&place, BROKEN, &["--baseline", "main"]);
    assert!(code == 0 && told.contains("quarantined trial: 8 of 8 scenarios did not pass"), "{told}");
    assert!(
        told.contains("passed: experiments 1, passed 1, failed 0") && told.contains("quarantined 8 scenarios"),
        "{told}"
    );
    quarantine(&place, "2020-01-01");
    let (code, told) = ci(&place, BROKEN, &["--baseline", "main"]);
    assert!(code == 1 && told.contains("QUARANTINE EXPIRED trial: its quarantine ended on 2020-01-01"), "{told}");

    // Nothing of all that became the baseline.
    let (_, listed, _) = place.run(&["baseline", "list", "--format", "json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    assert_eq!((&listed[0]["passed"], listed.as_array().map(Vec::len)), (&8.into(), Some(1)));
}

#[test]
fn a_quarantine_that_cannot_be_read_stops_a_pipeline_before_anything_is_run() {
    let place = Place::new("");
    fs::write(place.path().join("quarantine.yaml"), "quarantine: [{scenario: trial, reson: x}]").expect("a file");
    let (code, told) = ci(&place, "true", &[]);
    assert!(code == 2 && told.contains("did you mean `reason`?") && told.contains("so nothing was run"), "{told}");
    let (code, told) = ci(&place, "true", &["--quarantine", "nowhere.yaml"]);
    assert!(code == 2 && told.contains("the quarantine `nowhere.yaml` cannot be read"), "{told}");
}
