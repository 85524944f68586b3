//! `touchstone baseline` and `touchstone flaky` on what is kept here.

use std::fs;

use serde_json::Value as Json;

use crate::seeded::{Seeded, minute};

/// A data directory with a run that passed, one that failed, and one that is smaller, the newest.
fn seeded() -> (Seeded, [String; 3]) {
    let seeded = Seeded::new();
    let good = seeded.replicated(1, 2, &["hello"; 4], minute(1)).to_string();
    let bad = seeded.replicated(2, 2, &["hello", "goodbye", "hello", "hello"], minute(2)).to_string();
    let small = seeded.experiment(3, ["hello", "hello"], minute(3)).to_string();
    (seeded, [good, bad, small])
}

#[test]
fn a_baseline_is_saved_listed_shown_compared_with_and_removed() {
    let (seeded, [good, ..]) = seeded();
    assert!(seeded.printed(&["baseline", "list"]).contains("`touchstone baseline save NAME` makes one"));
    let saved = seeded.printed(&["baseline", "save", "main", &good, "--reason", "the first"]);
    assert_eq!(saved, format!("main greeting: 4 of 4 replicas passed in 2 cells, from {good}\n"));
    let listed = seeded.json(&["baseline", "list", "--format", "json"]);
    let field = |name: &str| listed[0][name].clone();
    assert_eq!(
        [field("name"), field("branch"), field("spec_id"), field("verdict"), field("reason")],
        ["main".into(), Json::Null, "greeting".into(), "pass".into(), "the first".into()]
    );
    assert_eq!([field("cells"), field("replicas"), field("passed")], [2.into(), 4.into(), Json::from(4)]);
    assert_eq!(seeded.json(&["baseline", "show", "main", "--format", "json"]), listed);
    assert!(seeded.printed(&["baseline", "show", "main"]).contains("the first"));
    let reports: Json =
        serde_json::from_str(&seeded.printed(&["baseline", "show", "main", "--reports"])).expect("JSON");
    assert_eq!(reports["experiments"][0]["experiment_id"], good);
    let (code, stdout, stderr) = seeded.run(&["compare", "baseline:main", "latest"]);
    assert!(code == 0 && stdout.contains("compared with baseline:main: 2 cells compared"), "{stdout}{stderr}");
    assert_eq!(seeded.printed(&["baseline", "rm", "main"]), "removed main\n");
    for arguments in [&["baseline", "rm", "main"][..], &["baseline", "show", "main"], &["compare", "baseline:main"]] {
        let (code, _, stderr) = seeded.run(arguments);
        assert!(code == 2 && stderr.contains("there is no baseline `main`"), "{arguments:?}: {stderr}");
    }
    let (code, _, stderr) = seeded.run(&["baseline", "save", "a b"]);
    assert!(code == 2 && stderr.contains("is no name of a baseline"), "{stderr}");
}

#[test]
fn a_run_that_failed_or_is_smaller_is_refused_unless_it_is_forced() {
    let (seeded, [good, bad, small]) = seeded();
    seeded.printed(&["baseline", "save", "main", &good]);
    for (run, why) in [
        (&bad, "`greeting` did not pass: its verdict is fail"),
        (&small, "`greeting` has 2 replicas where the baseline has 4"),
    ] {
        let (code, stdout, stderr) = seeded.run(&["baseline", "save", "main", run]);
        assert_eq!((code, stdout.as_str()), (1, ""), "{stderr}");
        assert!(stderr.contains(why) && stderr.contains("`--force` keeps it all the same"), "{stderr}");
        let kept = seeded.json(&["baseline", "list", "--format", "json"]);
        assert_eq!(kept[0]["experiment_id"], good);
    }
    let forced = seeded.printed(&["baseline", "save", "main", &bad, "--force"]);
    assert!(
        forced.contains("3 of 4 replicas passed") && forced.contains("by force, although `greeting` did not"),
        "{forced}"
    );
    assert!(seeded.printed(&["baseline", "list"]).contains("by force"));
}

#[test]
fn a_branch_has_its_own_line_and_a_file_is_as_good_as_a_run() {
    let (seeded, [good, _, small]) = seeded();
    seeded.printed(&["baseline", "save", "main", &good]);
    let file = seeded.path().join("report.json");
    fs::write(&file, seeded.printed(&["show", &good, "--format", "json"])).expect("a file");
    seeded.printed(&["baseline", "save", "main", &file.display().to_string(), "--branch", "fix/x"]);
    let listed = seeded.json(&["baseline", "list", "--format", "json"]);
    assert_eq!((&listed[0]["branch"], &listed[1]["branch"]), (&Json::Null, &"fix/x".into()));
    let (code, stdout, stderr) = seeded.run(&["compare", "baseline:main@fix/x", &small]);
    assert!(code == 0 && stdout.contains("compared with baseline:main@fix/x: 2 cells"), "{stdout}{stderr}");
    seeded.printed(&["baseline", "rm", "main@fix/x"]);
    let (code, _, _) = seeded.run(&["compare", "baseline:main@fix/x", &small]);
    assert_eq!(code, 0, "the baseline itself counts where the branch kept nothing");
}

#[test]
fn a_baseline_outlives_retention() {
    let (seeded, [good, ..]) = seeded();
    seeded.printed(&["baseline", "save", "main", &good]);
    let (code, stdout, stderr) = seeded.run(&["gc", "--older-than", "0s", "--keep", "1"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let (code, _, _) = seeded.run(&["show", &good]);
    assert_eq!(code, 2, "its experiment is gone");
    let (code, stdout, _) = seeded.run(&["compare", "baseline:main", "latest"]);
    assert!(code == 0 && stdout.contains("2 cells compared: 0 regressed"), "{stdout}");
}

#[test]
fn what_flips_is_told_with_how_often_and_since_when() {
    let seeded = Seeded::new();
    assert!(seeded.printed(&["flaky"]).contains("no run of a whole spec has ended yet"));
    seeded.experiment(1, ["hello", "hello"], minute(1));
    seeded.experiment(2, ["hello", "goodbye"], minute(2));
    seeded.experiment(3, ["hello", "hello"], minute(3));
    let text = seeded.printed(&["flaky"]);
    assert!(
        text.starts_with("greeting: 1 of 2 cells flaky over the last 3 runs, and 1 invariant of theirs\n"),
        "{text}"
    );
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with("  flaky")).collect();
    assert!(lines.len() == 2 && lines[0].contains("german") && lines[1].contains(": word: ✓✗✓ "), "{text}");
    let told = "flipped in 2 of 2 pairs of runs, replicas differed in 0 of 3 runs; since v1 (";
    assert!(lines[0].contains(told) && lines[0].contains("2026-01-01; the agent or its world"), "{text}");
    assert_eq!(seeded.printed(&["flaky", "--all"]).lines().filter(|line| line.starts_with("  steady")).count(), 4);
    let quarantine = seeded.path().join("q.yaml");
    fs::write(&quarantine, "quarantine: [{scenario: 'greeting/german-*', reason: x, until: 2999-01-01, owner: ann}]")
        .expect("a file");
    let json = seeded.json(&["flaky", "--format", "json", "--quarantine", &quarantine.display().to_string()]);
    assert_eq!(json["specs"][0]["lines"].as_array().map(Vec::len), Some(6));
    assert_eq!((&json["quarantine"][0]["clean_runs"], &json["quarantine"][0]["needed"]), (&1.into(), &10.into()));
    let (code, _, stderr) = seeded.run(&["flaky", "--spec", "greting"]);
    assert!(code == 2 && stderr.contains("no run of all of `greting` has ended"), "{stderr}");
}
