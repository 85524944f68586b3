//! `touchstone certify`: doing nothing fails, the solution passes, cheats fail, and what nothing notices is listed.

use std::fs;

use serde_json::Value as Json;

use crate::place::Place;
use crate::root;

/// Examples that are certified each time: files, requests and output.
const SAMPLE: [&str; 9] = [
    "specs/api-response-validator",
    "specs/check-file-content",
    "specs/check-file-exists",
    "specs/check-http-mock",
    "specs/check-output",
    "specs/contract-refund",
    "specs/hello-world",
    "specs/limits",
    "specs/tests-pass-gate",
];

/// A spec with this task and these invariants, without Docker.
fn spec(task: &str, check: &str) -> String {
    format!(
        "version: 1\nid: tried\nbase: debian:bookworm-slim\nagent: {{ type: noop }}\ntask: {{ prompt: Write x to out.txt., {task} }}\n\
         invariants:\n  written: {{ description: It is written, check: {check} }}\n"
    )
}

/// Certifies the place's spec; the exit code, the only certificate, and what was told.
fn certify(place: &Place, arguments: &[&str]) -> (i32, Json, String) {
    let path = place.spec().display().to_string();
    let usual = ["certify", "--backend", "local", "--format", "json", "--replicas", "2", &path];
    let (code, stdout, stderr) = place.run(&[&usual, arguments].concat());
    let json: Json = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
    assert_eq!(place.left(), Vec::<String>::new());
    (code, json["certificates"][0].clone(), stderr)
}

const EXACT: &str = "{ type: file_content, path: out.txt, pattern: '^x$' }";

#[test]
fn examples_tell_right_answers_from_none_and_from_pretended_ones() {
    let place = Place::with_images();
    let paths = SAMPLE.map(|path| root().join(path).display().to_string());
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let usual = ["certify", "--backend", "local", "--replicas", "1"];
    let (code, stdout, stderr) = place.run(&[&usual, paths.as_slice()].concat());
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(stdout.contains("9 of 9 specs certified"), "{stdout}");
    assert_eq!(place.left(), Vec::<String>::new());
}

#[test]
fn a_pipeline_asks_for_certificates_of_exactly_these_specs() {
    let place = Place::new(&spec("solution: printf x > out.txt", EXACT));
    let ci = |more: &[&str]| {
        let path = place.spec().display().to_string();
        place.run(&[&["ci", "--backend", "local", "--certified", "--agent", "oracle", &path], more].concat())
    };
    let (code, _, stderr) = ci(&[]);
    assert!(code == 1 && stderr.contains("not certified yet") && stderr.contains("touchstone certify"), "{stderr}");
    let file = place.path().join("certificates.json").display().to_string();
    let (code, certificate, stderr) = certify(&place, &["--mutate", "-o", &file]);
    assert_eq!((code, certificate["verdict"].as_str()), (0, Some("certified")), "{stderr}");
    assert_eq!(certificate["oracle"], serde_json::json!({"as_expected": 2, "runs": 2}));
    assert_eq!((&certificate["strength"]["tried"], &certificate["strength"]["noticed"]), (&3.into(), &3.into()));
    for more in [&[][..], &["--certificates", &file]] {
        let (code, stdout, stderr) = ci(more);
        assert_eq!(code, 0, "{stdout}{stderr}");
    }
    let changed = spec("solution: printf x > out.txt", "{ type: file_exists, path: out.txt }");
    fs::write(place.spec().join("spec.yaml"), changed).expect("a spec");
    for more in [&[][..], &["--certificates", &file]] {
        let (code, _, stderr) = ci(more);
        assert!(code == 1 && stderr.contains("certified for an earlier version of the spec"), "{stderr}");
    }
}

#[test]
fn a_cheat_that_passes_is_named_with_what_it_met() {
    let own = "solution: printf x > out.txt, cheats: [{ name: own-one, script: 'printf x > out.txt' }]";
    let (code, certificate, stderr) = certify(&Place::new(&spec(own, EXACT)), &[]);
    assert_eq!((code, certificate["verdict"].as_str()), (1, Some("not_certified")), "{stderr}");
    let reason = &certificate["reasons"][0];
    assert_eq!(
        (reason["agent"].as_str(), &reason["invariants"]),
        (Some("cheat:own-one"), &serde_json::json!(["written"]))
    );
    assert_eq!(certificate["reasons"].as_array().map(Vec::len), Some(1), "{certificate:#}");
    let place = Place::new(&spec(own, EXACT));
    let (code, _, stderr) = place.run_spec(&["--backend", "local", "--agent", "cheat:own-one"]);
    assert_eq!(code, 0, "{stderr}");
    let (code, _, stderr) = place.run_spec(&["--backend", "local", "--agent", "cheat:other"]);
    assert!(code != 0 && stderr.contains("the spec has no cheat `other`"), "{stderr}");
}

#[test]
fn a_flaky_world_is_no_agents_failure() {
    let flaky = spec("solution: 'test {{ replica }} = 0 && printf x > out.txt'", EXACT);
    let (code, certificate, stderr) = certify(&Place::new(&flaky), &["--mutate"]);
    assert_eq!((code, certificate["verdict"].as_str()), (4, Some("flaky_world")), "{stderr}");
    assert!(certificate["strength"].is_null(), "only what is certified is broken");
}

#[test]
fn what_nothing_notices_is_listed_with_an_invariant_that_would() {
    let weak =
        spec("solution: printf 'x and much more' > out.txt", "{ type: file_content, path: out.txt, contains: x and }");
    let place = Place::new(&weak);
    let (_, certificate, stderr) = certify(&place, &["--mutate"]);
    let unnoticed = &certificate["strength"]["unnoticed"];
    assert_eq!(unnoticed[0]["change"], "out.txt is cut in half", "{certificate:#}{stderr}");
    assert!(unnoticed[0]["suggestion"].as_str().is_some_and(|yaml| yaml.contains("x and much more")), "{unnoticed:#}");
}
