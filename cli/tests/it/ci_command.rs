//! `touchstone ci`: one command for a pipeline.

use std::fs;

use serde_json::Value as Json;

use crate::place::{Place, THERE, local_spec};
use crate::read;
use crate::serving::Served;

/// A place whose agent leaves the file, or does not.
fn place(agent: &str) -> Place {
    Place::new(&local_spec(agent, THERE))
}

/// Runs `ci` on the place's spec, without Docker.
fn ci(place: &Place, arguments: &[&str]) -> (i32, String, String) {
    let spec = place.spec().display().to_string();
    read(place.command(&[&["ci", "--backend", "local", &spec], arguments].concat()).output().expect("a run"))
}

fn change(place: &Place, agent: &str) {
    fs::write(place.spec().join("spec.yaml"), local_spec(agent, THERE)).expect("a spec");
}

#[test]
fn everything_is_written_in_one_go() {
    let place = place("touch out");
    let file = |name: &str| place.path().join(name).display().to_string();
    let (json, xml, lines, comment) =
        (file("r.json"), file("r.xml"), format!("ndjson:{}", file("lines")), file("c.md"));
    let arguments = ["-o", &json, "-o", &xml, "-o", &lines, "--comment", &comment, "--comment-key", "nightly"];
    let (code, stdout, stderr) = ci(&place, &arguments);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let read = |name: &str| fs::read_to_string(place.path().join(name)).expect("a file");
    let report: Json = serde_json::from_str(&read("r.json")).expect("JSON");
    assert_eq!(report["verdict"], "pass");
    assert!(read("r.xml").contains("<testsuite name=\"trial\""));
    assert!(
        read("lines").lines().last().is_some_and(|line| line.starts_with("{\"type\":\"end\",\"verdict\":\"pass\""))
    );
    assert!(
        read("c.md").starts_with("<!-- touchstone:nightly -->\n### Touchstone: `trial` passed"),
        "{}",
        read("c.md")
    );
}

#[test]
fn a_regression_fails_the_pipeline_and_is_told_everywhere() {
    let place = place("touch out");
    let file = |name: &str| place.path().join(name).display().to_string();
    let (baseline, summary) = (file("baseline.json"), file("summary.md"));
    assert_eq!(ci(&place, &["-o", &baseline]).0, 0);
    let (code, stdout, stderr) = ci(&place, &["--baseline", &baseline]);
    assert!(code == 0 && stdout.contains("1 cell compared: 0 regressed"), "{stdout}{stderr}");
    change(&place, "true");
    let spec = place.spec().display().to_string();
    let mut command =
        place.command(&["ci", "--backend", "local", &spec, "--baseline", &baseline, "--format", "github"]);
    let (code, stdout, stderr) = read(command.env("GITHUB_STEP_SUMMARY", &summary).output().expect("a run"));
    assert_eq!(code, 1, "{stdout}{stderr}");
    assert!(stdout.lines().all(|line| line.starts_with("::")), "{stdout}");
    let told = "::error title=regressed::trial/default: 1/1 → 0/1; it reached its bar, and does not any more";
    assert!(stdout.contains(told), "{stdout}");
    assert!(stdout.contains("::error title=regressed::trial/default: there: 1/1 → 0/1"), "{stdout}");
    let summary = fs::read_to_string(&summary).expect("a summary");
    assert!(summary.contains("#### Compared with `baseline.json`") && summary.contains("| regressed |"), "{summary}");
}

#[test]
fn a_drop_that_chance_explains_is_called_insufficient_evidence_and_fails_nothing() {
    let more = format!("parallelism: {{replicas: 3}}\nscoring: {{replica_aggregation: any}}\n{THERE}");
    let place = Place::new(&local_spec("touch out", &more));
    let baseline = place.path().join("baseline.json").display().to_string();
    assert_eq!(ci(&place, &["-o", &baseline]).0, 0);
    let unlucky = local_spec("case {{ replica }} in 0) true;; *) touch out;; esac", &more);
    fs::write(place.spec().join("spec.yaml"), unlucky).expect("a spec");
    let (code, stdout, stderr) = ci(&place, &["--baseline", &baseline]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(
        stdout.contains("insufficient evidence  trial/default: 3/3 → 2/3; chance alone would do this in 50"),
        "{stdout}"
    );
    assert!(stdout.contains("replicas on either side would tell"), "{stdout}");
}

#[test]
fn mistakes_end_it_before_anything_is_run() {
    let place = place("touch out");
    let nowhere = place.path().join("nowhere.json").display().to_string();
    let (code, _, stderr) = ci(&place, &["--baseline", &nowhere]);
    assert!(
        code == 2 && stderr.contains("there is no baseline") && stderr.contains("--allow-missing-baseline"),
        "{stderr}"
    );
    let (code, _, stderr) = ci(&place, &["--comment", "/nowhere/c.md"]);
    assert!(code == 2 && stderr.contains("cannot be written"), "{stderr}");
    let wrong = place.path().join("wrong.json");
    fs::write(&wrong, "{}").expect("a file");
    let (code, _, stderr) = ci(&place, &["--baseline", &wrong.display().to_string()]);
    assert!(code == 2 && stderr.contains("this is no report"), "{stderr}");
    assert!(!place.data().join("touchstone.db").exists(), "nothing was run");
    let (code, stdout, stderr) = ci(&place, &["--baseline", &nowhere, "--allow-missing-baseline"]);
    assert!(code == 0 && stderr.contains("there is no baseline"), "{stdout}{stderr}");
    fs::write(place.spec().join("spec.yaml"), "version: 1\n").expect("a spec");
    let (code, stdout, _) = ci(&place, &[]);
    assert!(code == 3 && stdout.contains("missing"), "{stdout}");
    let (code, stdout, _) = ci(&place, &["--format", "github"]);
    assert!(code == 3 && stdout.lines().all(|line| line.starts_with("::")), "{stdout}");
    let unused = format!("secrets: [{{name: UNUSED}}]\n{THERE}");
    fs::write(place.spec().join("spec.yaml"), local_spec("touch out", &unused)).expect("a spec");
    let (code, stdout, _) = ci(&place, &["--deny-warnings"]);
    assert!(code == 3 && stdout.contains("warning[secret-source]"), "{stdout}");
}

#[test]
fn a_server_runs_it_when_there_is_one() {
    let place = place("touch out");
    let served = Served::start(&place, &["--backend", "local"]);
    let (spec, baseline) = (place.spec().display().to_string(), place.path().join("b.json").display().to_string());
    let ci = |arguments: &[&str]| {
        let mut command = crate::touchstone(&[&["ci", &spec], arguments].concat());
        command.env("TOUCHSTONE_URL", &served.url).env("TOUCHSTONE_API_KEY", served.key.as_deref().expect("a key"));
        read(command.output().expect("a run"))
    };
    let (code, stdout, stderr) = ci(&["-o", &baseline]);
    assert!(code == 0 && stderr.contains("submitted trial as "), "{stdout}{stderr}");
    change(&place, "true");
    let (code, stdout, stderr) = ci(&["--baseline", &baseline]);
    assert!(code == 1 && stdout.contains("regressed"), "{stdout}{stderr}");
    let (code, _, stderr) = ci(&["--seed", "7", "--param", "x=1"]);
    assert!(code == 2 && stderr.contains("there is no parameter `x`"), "{stderr}");
}

#[test]
fn what_an_earlier_run_wrote_is_not_left_for_one_that_could_not_begin() {
    let place = place("touch out");
    let file = |name: &str| place.path().join(name).display().to_string();
    let (json, xml, comment) = (file("r.json"), file("r.xml"), file("c.md"));
    let arguments = ["-o", &json, "-o", &xml, "--comment", &comment];
    assert_eq!(ci(&place, &arguments).0, 0);
    let texts = || [&json, &xml, &comment].map(|path| fs::read_to_string(path).expect("a file"));
    let good = texts();
    fs::write(place.spec().join("spec.yaml"), "version: 1\n").expect("a spec");
    assert_eq!(ci(&place, &arguments).0, 3);
    for (before, now) in good.iter().zip(texts()) {
        assert!(*before != now && now.contains("a spec is not valid, so nothing was run"), "{now}");
        assert!(!now.contains("passed: 1") && !now.contains("\"verdict\": \"pass\""), "{now}");
    }
    let baseline = file("baseline.json");
    fs::write(&baseline, &good[0]).expect("a baseline");
    assert_eq!(ci(&place, &["--baseline", &baseline, "-o", &baseline]).0, 3);
    assert_eq!(fs::read_to_string(&baseline).expect("a file"), good[0], "what is compared with stays");
    change(&place, "touch out");
    assert_eq!(ci(&place, &[&arguments[..], &["--rootfs", "nowhere"]].concat()).0, 4);
    let [json, _, comment] = texts();
    let report: Json = serde_json::from_str(&json).expect("JSON");
    assert!(report["verdict"] == "error" && comment.contains("could not be judged"), "{json}{comment}");
}
