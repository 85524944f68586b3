//! `touchstone ci`: one command for a pipeline.

use std::fs;

use serde_json::Value as Json;

use crate::place::{Place, THERE, local_spec};
use crate::read;
use crate::serving::Served;

/// A place whose agent leaves the file, or does not.
fn place(agent: &str) -> Place {
    place_of(agent, THERE)
}

fn place_of(agent: &str, more: &str) -> Place {
    Place::new(&local_spec(agent, more))
}

/// Five replicas of what [`THERE`] asks for.
fn five() -> String {
    format!("parallelism: {replicas}\n{THERE}", replicas = "{replicas: 5}")
}

/// Runs `ci` on the place's spec, without Docker.
fn ci(place: &Place, arguments: &[&str]) -> (i32, String, String) {
    let spec = place.spec().display().to_string();
    read(place.command(&[&["ci", "--backend", "local", &spec], arguments].concat()).output().expect("a run"))
}

fn change(place: &Place, agent: &str) {
    change_to(place, agent, THERE);
}

fn change_to(place: &Place, agent: &str, more: &str) {
    fs::write(place.spec().join("spec.yaml"), local_spec(agent, more)).expect("a spec");
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
    let place = place_of("touch out", &five());
    let file = |name: &str| place.path().join(name).display().to_string();
    let (baseline, summary) = (file("baseline.json"), file("summary.md"));
    assert_eq!(ci(&place, &["-o", &baseline]).0, 0);
    let (code, stdout, stderr) = ci(&place, &["--baseline", &baseline]);
    assert!(code == 0 && stdout.contains("1 cell compared: 0 regressed"), "{stdout}{stderr}");
    change_to(&place, "true", &five());
    let spec = place.spec().display().to_string();
    let mut command =
        place.command(&["ci", "--backend", "local", &spec, "--baseline", &baseline, "--format", "github"]);
    let (code, stdout, stderr) = read(command.env("GITHUB_STEP_SUMMARY", &summary).output().expect("a run"));
    assert_eq!(code, 1, "{stdout}{stderr}");
    assert!(stdout.lines().all(|line| line.starts_with("::")), "{stdout}");
    let told = "::error title=regressed::trial/default: 5/5 → 0/5; chance alone would do this in less than 1 of 100 comparisons";
    assert!(stdout.contains(told), "{stdout}");
    assert!(stdout.contains("::error title=regressed::trial/default: there: 5/5 → 0/5"), "{stdout}");
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
fn a_missed_bar_fails_the_run_and_is_no_regression_while_chance_explains_it() {
    let place = place("touch out");
    let baseline = place.path().join("baseline.json").display().to_string();
    assert_eq!(ci(&place, &["-o", &baseline]).0, 0);
    change(&place, "true");
    let (code, stdout, stderr) = ci(&place, &["--baseline", &baseline]);
    assert_eq!(code, 1, "{stdout}{stderr}");
    let told = "insufficient evidence  trial/default: 1/1 → 0/1; it reached its bar, and does not any more, which fails the run";
    assert!(stdout.contains("1 cell compared: 0 regressed") && stdout.contains(told), "{stdout}");
}

#[test]
fn what_a_baseline_has_may_not_go_missing() {
    const MATRIX: &str = "parallelism: {matrix: {x: [good, bad]}}";
    const TWO: &str = "invariants: {there: {description: x, check: {type: file_exists, path: out}}, more: {description: x, check: {type: file_exists, path: more}}}";
    let place = place_of("touch out", &format!("{MATRIX}\n{TWO}"));
    let other = place.path().join("other");
    fs::create_dir(&other).expect("a folder");
    fs::write(other.join("spec.yaml"), local_spec("touch out", THERE).replace("id: trial", "id: failing"))
        .expect("a spec");
    let (other, baseline) = (other.display().to_string(), place.path().join("b.json").display().to_string());
    assert_eq!(ci(&place, &[&other, "-o", &baseline]).0, 1, "`more` is missed");
    let good = format!("{MATRIX}\n{THERE}");
    change_to(&place, "touch out", &good);
    let compared = |arguments: &[&str]| ci(&place, &[arguments, &["--baseline", &baseline]].concat());
    // An invariant is gone.
    let (code, stdout, stderr) = compared(&[&other]);
    assert!(code == 1 && stdout.contains("REMOVED trial/good-") && stdout.contains(": more"), "{stdout}{stderr}");
    assert!(stdout.contains("allow it with `--allow-removed`"), "{stdout}");
    // A cell is gone: left out by a filter, or by the matrix.
    let (code, stdout, _) = compared(&[&other, "--filter", "x=good", "--filter", "failing"]);
    assert!(code == 1 && stdout.contains("trial/bad-"), "{stdout}");
    // A spec is gone.
    let (code, stdout, _) = compared(&["--format", "github"]);
    assert!(code == 1 && stdout.contains("::error title=removed since the baseline::failing, "), "{stdout}");
    let xml = place.path().join("r.xml");
    let (code, stdout, _) = compared(&["--allow-removed", "-o", &xml.display().to_string()]);
    assert!(code == 0 && stdout.contains("only in the baseline: failing") && !stdout.contains("REMOVED"), "{stdout}");
    let xml = fs::read_to_string(&xml).expect("a file");
    assert!(xml.contains("<testcase name=\"failing\"") && !xml.contains("<failure"), "{xml}");
}

#[test]
fn a_failed_replica_within_the_bar_is_a_failure_nowhere() {
    let more = "parallelism: {replicas: 5}\nscoring: {min_pass_rate: 0.6}\n";
    let place = place_of("case {{ replica }} in 1) true;; *) touch out;; esac", &format!("{more}{THERE}"));
    let file = |name: &str| place.path().join(name).display().to_string();
    let (xml, markdown) = (file("r.xml"), file("r.md"));
    let (code, stdout, stderr) = ci(&place, &["-o", &xml, "-o", &markdown, "--max-concurrent", "1"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    assert!(
        stdout.contains("trial passed: cells 1, passed 1, failed 0; scenarios 5, passed 4, failed 0, flaky 1"),
        "{stdout}"
    );
    for text in [&stdout, &stderr] {
        assert!(!text.lines().any(|line| line.starts_with("FAIL")), "{text}");
    }
    assert!(stderr.contains("FLAKY trial/default-r1"), "the stream has the same word: {stderr}");
    let xml = fs::read_to_string(&xml).expect("a file");
    assert!(xml.contains("failures=\"0\"") && !xml.contains("<failure") && xml.contains("flakyFailure"), "{xml}");
    let markdown = fs::read_to_string(&markdown).expect("a file");
    assert!(markdown.contains("flaky (within its cell's bar)"), "{markdown}");
    let (code, stdout, _) = ci(&place, &["--format", "github"]);
    assert!(code == 0 && !stdout.contains("::error") && stdout.contains("::notice file="), "{stdout}");
    let (_, shown, _) = place.run(&["show", "latest/default-r1"]);
    assert!(shown.contains("default-r1 FLAKY, score") && !shown.contains("FAILED"), "{shown}");
    // The first of them fails: what it is called waits for the second.
    change_to(&place, "case {{ replica }} in 0) true;; *) touch out;; esac", &format!("{more}{THERE}"));
    let (code, lines, stderr) = ci(&place, &["--format", "ndjson", "--max-concurrent", "1"]);
    assert_eq!(code, 0, "{lines}{stderr}");
    let settled = lines.lines().find(|line| line.contains("\"type\":\"settled\"")).expect("a line");
    assert!(settled.contains("default-r0") && settled.contains("\"status\":\"flaky\""), "{settled}");
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
    assert!(code == 1 && stdout.contains("which fails the run"), "{stdout}{stderr}");
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
