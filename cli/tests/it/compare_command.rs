//! `touchstone compare` on what is kept here.

use std::fs;

use serde_json::Value as Json;

use crate::seeded::{SPEC, Seeded, minute};

/// Writes the report of an experiment to a file, as if each of its cells had this number of replicas with the same
/// result.
fn repeated(seeded: &Seeded, experiment: &str, replicas: usize) -> String {
    let mut report = seeded.json(&["show", experiment, "--format", "json"]);
    let scenarios = report["scenarios"].as_array().expect("scenarios").clone();
    let repeat = |(scenario, replica): (&Json, usize)| {
        let mut scenario = scenario.clone();
        let id = scenario["scenario_id"].as_str().expect("an id").replace("-r0", &format!("-r{replica}"));
        (scenario["scenario_id"], scenario["replica"]) = (id.into(), replica.into());
        scenario
    };
    let all = scenarios.iter().flat_map(|scenario| (0..replicas).map(move |replica| (scenario, replica))).map(repeat);
    report["scenarios"] = all.collect();
    let file = seeded.path().join(format!("{experiment}.json"));
    fs::write(&file, report.to_string()).expect("a file");
    file.display().to_string()
}

#[test]
fn what_became_worse_is_told_and_makes_the_exit_code() {
    let seeded = Seeded::new();
    let good = seeded.experiment(1, ["hello", "hello"], minute(1)).to_string();
    let bad = seeded.experiment(2, ["hello", "goodbye"], minute(2)).to_string();
    let (good, bad) = (repeated(&seeded, &good, 6), repeated(&seeded, &bad, 6));
    let (code, stdout, stderr) = seeded.run(&["compare", &good, &bad]);
    assert_eq!((code, stderr.as_str()), (1, ""), "{stdout}");
    insta::assert_snapshot!(stdout.replace(&good, "GOOD"));
    let (code, stdout, _) = seeded.run(&["compare", &bad, &good]);
    assert!(code == 0 && stdout.contains("0 regressed, 0 insufficient evidence, 2 improved"), "{stdout}");
    let (code, stdout, _) = seeded.run(&["compare", &good, &bad, "--format", "json"]);
    let json: Json = serde_json::from_str(&stdout).expect("JSON");
    assert!(
        code == 1 && json["regressed"] == true && json["details"]["findings"][0]["change"] == "regressed",
        "{json:#}"
    );
    let (_, markdown, _) = seeded.run(&["compare", &good, &bad, "--format", "markdown"]);
    assert!(markdown.starts_with("#### Compared with `") && markdown.contains("| regressed |"), "{markdown}");
}

#[test]
fn a_missed_bar_that_chance_explains_is_no_regression() {
    let seeded = Seeded::new();
    let good = seeded.experiment(1, ["hello", "hello"], minute(1)).to_string();
    let bad = seeded.experiment(2, ["hello", "goodbye"], minute(2)).to_string();
    let (code, stdout, _) = seeded.run(&["compare", &good, &bad]);
    assert!(code == 0 && stdout.contains("2 cells compared: 0 regressed, 3 insufficient evidence"), "{stdout}");
    assert!(
        stdout.contains("which fails the run, but chance alone would do this in 50 of 100 comparisons"),
        "{stdout}"
    );
    let json = seeded.json(&["compare", &good, &bad, "--format", "json"]);
    assert_eq!((&json["regressed"], &json["details"]["findings"][0]["replicas_to_tell"]), (&false.into(), &3.into()));
}

#[test]
fn the_newest_experiment_is_compared_with_the_one_before_it_and_not_with_itself() {
    let seeded = Seeded::new();
    seeded.experiment(1, ["hello", "hello"], minute(1));
    let (code, _, stderr) = seeded.run(&["compare", "latest~1"]);
    assert!(code == 2 && stderr.contains("there is no experiment `latest~1`: there is only one"), "{stderr}");
    let newest = seeded.experiment(2, ["hello", "goodbye"], minute(2)).to_string();
    let (code, stdout, stderr) = seeded.run(&["compare", "latest~1"]);
    assert!(code == 0 && stdout.contains("compared with latest~1: 2 cells compared: 0 regressed"), "{stdout}{stderr}");
    for itself in ["latest", &newest, "latest#1"] {
        let (code, stdout, stderr) = seeded.run(&["compare", itself]);
        assert_eq!((code, stdout.as_str()), (2, ""), "{itself}");
        assert!(stderr.contains("are the same run; `touchstone compare latest~1`"), "{stderr}");
    }
}

#[test]
fn a_report_in_a_file_is_as_good_as_an_experiment() {
    let seeded = Seeded::new();
    seeded.experiment(1, ["hello", "hello"], minute(1));
    let file = seeded.path().join("report.json");
    fs::write(&file, seeded.printed(&["show", "latest", "--format", "json"])).expect("a file");
    let (code, stdout, stderr) = seeded.run(&["compare", &file.display().to_string(), "latest"]);
    assert!(code == 0 && stdout.contains("2 cells compared: 0 regressed"), "{stdout}{stderr}");
    for (arguments, told) in [
        (["compare", "latest/english", "latest"], "leave `/SCENARIO` away"),
        (["compare", "ffffffff", "latest"], "there is no experiment"),
    ] {
        let (code, _, stderr) = seeded.run(&arguments);
        assert!(code == 2 && stderr.contains(told), "{stderr}");
    }
    fs::write(&file, "no report").expect("a file");
    let (code, _, stderr) = seeded.run(&["compare", &file.display().to_string()]);
    assert!(code == 2 && stderr.contains("is no baseline: this is no JSON"), "{stderr}");
}

#[test]
fn a_gate_and_a_margin_can_be_asked_for_and_what_is_missing_fails() {
    let seeded = Seeded::new();
    let good = seeded.experiment(1, ["hello", "hello"], minute(1)).to_string();
    let (fast, slow) = (repeated(&seeded, &good, 8), seeded.path().join("slow.json").display().to_string());
    let mut report: Json = serde_json::from_str(&fs::read_to_string(&fast).expect("a file")).expect("JSON");
    for (scenario, at) in report["scenarios"].as_array_mut().expect("scenarios").iter_mut().zip(0_u64..) {
        scenario["wall_ms"] = (100_000 + at).into();
    }
    fs::write(&slow, report.to_string()).expect("a file");
    let (code, stdout, _) = seeded.run(&["compare", &fast, &slow]);
    assert!(code == 0 && stdout.contains("\n  worse: time "), "told: {stdout}");
    let (code, stdout, _) = seeded.run(&["compare", &fast, &slow, "--gate", "cost,time"]);
    assert!(code == 1 && stdout.contains("0 regressed, 0 insufficient evidence, 0 improved; worse: time "), "{stdout}");
    let json = seeded.json(&["compare", &fast, &fast, "--format", "json", "--margin", "0.1"]);
    assert_eq!((&json["details"]["suite"]["margin"], &json["regressed"]), (&0.1.into(), &false.into()));
    for (arguments, told) in
        [(["--gate", "luck"], "possible values: composite, cost, time"), (["--margin", "2"], "no share from 0 to 1")]
    {
        let (code, _, stderr) = seeded.run(&[&["compare", &fast, &slow][..], &arguments].concat());
        assert!(code == 2 && stderr.contains(told), "{stderr}");
    }
    report["scenarios"].as_array_mut().expect("scenarios").truncate(8);
    report["cells"].as_array_mut().expect("cells").truncate(1);
    fs::write(&slow, report.to_string()).expect("a file");
    let (code, stdout, _) = seeded.run(&["compare", &fast, &slow]);
    assert!(code == 1 && stdout.contains("REMOVED greeting/german"), "{stdout}");
    assert_eq!(seeded.run(&["compare", &fast, &slow, "--allow-removed"]).0, 0);
}

#[test]
fn a_plan_says_how_many_replicas_tell_a_drop_and_what_they_cost() {
    let seeded = Seeded::new();
    let spec = seeded.path().join("spec.yaml").display().to_string();
    fs::write(&spec, SPEC).expect("a spec");
    let power = ["plan", &spec, "--power", "--from", "0.9", "--to", "0.5"];
    let (code, stdout, stderr) = seeded.run(&power);
    assert!(code == 0 && stdout.contains("no history yet") && stdout.contains(" enough"), "{stdout}{stderr}");
    seeded.experiment(1, ["hello", "goodbye"], minute(1));
    let json = seeded.json(&[&power[..], &["--format", "json"]].concat());
    let (one, both) = (&json["rows"][0], &json["rows"][1]);
    let needed = |row: &Json| row["replicas"].as_u64().expect("a number");
    assert_eq!((&one["for"], &both["for"], &both["cells"]), (&"one cell alone".into(), &"greeting".into(), &2.into()));
    assert!(needed(one) < 19, "fewer than Fisher's test needs: {json:#}");
    assert!(needed(both) > needed(one) && both["scenarios"] == needed(both) * 2, "{json:#}");
    assert!(both["cost"]["wall_ms"].is_u64() && one["cost"].is_null(), "{json:#}");
    assert!(both["curve"].as_array().is_some_and(|curve| curve.len() == 10), "{json:#}");
    let (code, _, stderr) = seeded.run(&["plan", &spec, "--power", "--from", "0.5", "--to", "0.9"]);
    assert!(code == 2 && stderr.contains("no drop between two rates"), "{stderr}");
}
