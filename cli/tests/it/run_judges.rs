//! `touchstone run` with judges, and with secrets that are given in a file.

use std::fs;

use crate::judge;
use crate::place::{IMAGE, Place};

fn judged(criteria: &str, threshold: f64) -> String {
    format!(
        "version: 1\nid: trial\nbase: {IMAGE}\ntask: {{prompt: x}}\nagent: {{type: cli, command: echo Dear Ada}}\n\
         resources: {{memory: 64Mi, disk: 16Mi}}\nscoring: {{pass_threshold: 0.5}}\n\
         invariants: {{kind: {{description: x, check: {{type: llm_as_judge, criteria: {criteria}, pass_threshold: {threshold}}}}}}}\n"
    )
}

#[test]
fn a_judge_that_is_not_there_is_said_before_anything_is_run() {
    let place = Place::new(&judged("Kind", 0.7));
    let (code, stdout, stderr) = place.run_spec(&[]);
    assert_eq!(code, 4, "{stdout}{stderr}");
    assert!(
        stderr.contains("`invariants.kind` asks the model `paragon-fast`: there is no alias `paragon-fast` in"),
        "{stderr}"
    );
    fs::write(place.data().join("models.yaml"), "aliases: {paragon-fast: {model: x}}").expect("written");
    let (code, _, stderr) = place.run_spec(&[]);
    assert!(code == 2 && stderr.contains("aliases.paragon-fast: missing field `provider`"), "{code}: {stderr}");
}

#[test]
fn what_a_judge_said_is_judged_again_as_long_as_it_was_asked_the_same() {
    let place = Place::new(&judged("Kind", 0.7));
    judge::provide(&place.data(), 0.8);
    let (code, stdout, stderr) = place.run_spec(&[]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let rescore = |spec: String| {
        let changed = place.path().join("changed.yaml");
        fs::write(&changed, spec).expect("a spec");
        place.run(&["rescore", "latest#1", "--spec", &changed.display().to_string()])
    };
    let (code, stdout, stderr) = rescore(judged("Kind", 0.9));
    assert!(code == 0 && stdout.contains("kind passed (0.800) → failed (0.800)"), "{code}: {stdout}{stderr}");
    let (code, stdout, stderr) = rescore(judged("Polite", 0.7));
    assert!(code == 4 && stdout.contains("kind passed (0.800) → errored"), "{code}: {stdout}{stderr}");
    assert!(stdout.contains("was not asked this"), "{stdout}");
}

#[test]
fn secrets_in_a_file_reach_the_agent_and_nothing_else() {
    const VALUE: &str = "a value of some length";
    let spec = format!(
        "version: 1\nid: trial\nbase: {IMAGE}\ntask: {{prompt: x}}\n\
         agent: {{type: cli, command: 'echo \"it is $TOKEN\"; test -n \"$TOKEN\" && touch out'}}\n\
         resources: {{memory: 64Mi, disk: 16Mi}}\nsecrets: [{{name: TOKEN, source: dashboard}}]\n\
         invariants: {{there: {{description: x, check: {{type: file_exists, path: out}}}}}}\n"
    );
    let place = Place::new(&spec);
    let (code, _, stderr) = place.run_spec(&[]);
    assert!(code == 2 && stderr.contains("the secret `TOKEN` has no value"), "{code}: {stderr}");
    let file = place.path().join("secrets.env");
    fs::write(&file, format!("# given\nTOKEN='{VALUE}'\n")).expect("written");
    let file = file.display().to_string();
    let (code, stdout, stderr) = place.run_spec(&["--secrets-from", &file]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let (_, shown, _) = place.run(&["show", "latest/default-r0", "--evidence"]);
    assert!(shown.contains("it is [redacted:TOKEN:") && !shown.contains(VALUE), "{shown}");
    fs::write(&file, VALUE).expect("written");
    let (code, _, stderr) = place.run_spec(&["--secrets-from", &file]);
    assert!(code == 2 && stderr.contains("line 1 is not NAME=VALUE") && !stderr.contains(VALUE), "{code}: {stderr}");
}

#[test]
fn the_example_needs_nothing_but_an_alias() {
    let place = Place::with_images();
    judge::provide(&place.data(), 0.9);
    let (code, stdout, stderr) = place.run(&["run", "specs/check-llm-as-judge", "--no-pull"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let (code, stdout, stderr) = place.run(&["rescore", "latest"]);
    assert!(code == 0 && stdout.contains("nothing changed"), "{stdout}{stderr}");
    assert!(place.data().join("judgements").is_dir());
}
