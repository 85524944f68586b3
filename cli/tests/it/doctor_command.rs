//! `touchstone doctor`, on this machine and on one without Docker.

use serde_json::Value as Json;

use crate::place::Place;
use crate::read;

/// Address without an engine.
const NOWHERE: &str = "unix:///nowhere/docker.sock";

fn doctor(place: &Place, nowhere: bool, arguments: &[&str]) -> (i32, Json) {
    let mut command = place.command(&[&["doctor", "--format", "json"], arguments].concat());
    if nowhere {
        command.env("DOCKER_HOST", NOWHERE);
    }
    let (code, stdout, stderr) = read(command.output().expect("a run"));
    (code, serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}")))
}

fn state<'a>(report: &'a Json, what: &str) -> (&'a str, &'a str) {
    let findings = report["findings"].as_array().expect("findings");
    let finding = findings.iter().find(|finding| finding["what"] == what);
    let finding = finding.unwrap_or_else(|| panic!("nothing about {what}: {report:#}"));
    (finding["state"].as_str().expect("a state"), finding["found"].as_str().expect("what was found"))
}

#[test]
fn everything_that_is_needed_is_looked_at() {
    let place = Place::new("");
    let (code, report) = doctor(&place, false, &[]);
    assert_eq!(code, 0, "{report:#}");
    for what in [
        "disk",
        "database",
        "docker engine",
        "images",
        "namespaces",
        "sandboxes",
        "postgres",
        "mariadb or mysql",
        "redis",
        "libfaketime",
        "models",
        "keys of models",
        "user namespaces",
        "overlay",
        "control groups",
        "seccomp",
        "landlock",
        "clock",
    ] {
        assert_ne!(state(&report, what).0, "fail", "{report:#}");
    }
    let findings = report["findings"].as_array().expect("findings");
    assert!(findings.iter().all(|finding| (finding["state"] == "ok") == finding["fix"].is_null()), "{report:#}");
    let (_, text, _) = place.run(&["doctor"]);
    assert!(text.contains("ok    database           answers; nothing was run yet\n"), "{text}");
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn without_docker_it_is_a_warning_unless_docker_is_insisted_on() {
    let place = Place::new("");
    let (code, report) = doctor(&place, true, &[]);
    assert_eq!((code, &report["ok"]), (0, &Json::Bool(true)), "{report:#}");
    let (told, found) = state(&report, "docker engine");
    assert!(told == "warn" && found.contains(NOWHERE), "{found}");
    assert!(state(&report, "sandboxes").1.contains("`local`"), "{report:#}");
    let (code, report) = doctor(&place, true, &["--backend", "docker"]);
    assert_eq!((code, state(&report, "sandboxes").0), (4, "fail"), "{report:#}");
}

#[test]
fn what_is_broken_fails_with_what_to_do() {
    let place = Place::new("");
    let file = place.path().join("file");
    std::fs::write(&file, "x").expect("a file");
    let (code, stdout, _) = crate::run(&["doctor", "--data-dir", &file.display().to_string()]);
    assert!(code == 4 && stdout.contains("fail  data directory") && stdout.contains("--data-dir FOLDER"), "{stdout}");
    let models = place.path().join("models.yaml");
    std::fs::write(&models, "aliases: 7\n").expect("a file");
    let (code, report) = doctor(&place, true, &["--models", &models.display().to_string()]);
    assert_eq!((code, state(&report, "models").0), (4, "fail"), "{report:#}");
    let (code, report) = doctor(&place, true, &["--url", "http://127.0.0.1:1"]);
    let (told, found) = state(&report, "server");
    assert!(code == 4 && told == "fail" && found.contains("does not answer"), "{report:#}");
    let (code, report) = doctor(&place, true, &["--database-url", "mongodb://x"]);
    assert_eq!((code, state(&report, "database").0), (4, "fail"), "{report:#}");
}

#[test]
fn what_cannot_be_opened_is_told_by_what_was_chosen() {
    let place = Place::new("");
    std::fs::create_dir_all(place.data()).expect("a folder");
    std::fs::write(place.data().join("touchstone.db"), "no database at all, but long enough to be read as one")
        .expect("a file");
    for (arguments, told) in [
        (&[][..], "restore `touchstone.db` of the data directory"),
        (&["--artifacts", "s3://"], "look at `--artifacts`"),
        (&["--database-url", "mongodb://x"], "look at `--database-url`"),
    ] {
        let (code, report) = doctor(&place, true, arguments);
        assert!(code == 4 && report.to_string().contains(told), "{arguments:?}: {report:#}");
    }
}
