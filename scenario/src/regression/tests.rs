//! Comparisons of real reports: the agent becomes worse, better, or only unlucky.

use super::{Change, Gate, Measure, RunComparison};
use crate::evidence::{AgentRecord, Answer, Captured, CommandAnswer, Evidence, Exit, ImageRecord};
use crate::plan::{PlanOptions, expand};
use crate::report::{AgentIdentity, Header, Provenance, Report, json_value, read};
use crate::result::{RanIn, ScenarioResult};
use crate::score::ScoreOptions;
use crate::spec::load;
use crate::verdict::ErrorKind;

const SPEC: &str = "
version: 1
id: greeting
base: debian
task: {prompt: greet}
agent: {type: noop}
invariants: {word: {description: it greets, check: {type: command_exit, command: grep hello out}}}
parallelism: {matrix: {language: [english, german]}}
scoring: {replica_aggregation: any}
";

/// What becomes of each replica of a cell: `+` passes, `-` fails, `?` cannot be judged.
fn report(english: &str, german: &str) -> Report {
    let spec = load(SPEC, None).spec.expect("a spec");
    let options = PlanOptions { replicas: Some(english.len()), ..PlanOptions::default() };
    let plan = expand(&spec, options).expect("a plan");
    let outcomes = english.chars().chain(german.chars());
    let results = plan.scenarios.iter().zip(outcomes).map(|(scenario, outcome)| match outcome {
        '?' => ScenarioResult::failed_to_run(scenario, ErrorKind::Infrastructure, "no engine"),
        other => ScenarioResult::judge(&spec, scenario, &evidence(i32::from(other == '-'))),
    });
    let results = results.collect();
    Report::new(header(), &spec, &plan, results, ScoreOptions::default())
}

fn header() -> Header {
    Header {
        experiment_id: "e".to_owned(),
        run: 1,
        spec_file: "s.yaml".to_owned(),
        ran_at: jiff::Timestamp::UNIX_EPOCH,
        parameters: Vec::new(),
        replicas: None,
        agent: None,
        backend: None,
        server: None,
    }
}

/// A report of so many cells that need all of their replicas; `fails` says of each scenario whether it does.
fn report_of_cells(cells: usize, replicas: usize, fails: impl Fn(u64) -> bool) -> Report {
    let names: Vec<_> = (0..cells).map(|cell| format!("l{cell}")).collect();
    let text = SPEC.replace("english, german", &names.join(", ")).replace("any", "all");
    let spec = load(&text, None).spec.expect("a spec");
    let plan = expand(&spec, PlanOptions { replicas: Some(replicas), ..PlanOptions::default() }).expect("a plan");
    let outcomes = plan.scenarios.iter().zip(0..).map(|(scenario, at)| (scenario, i32::from(fails(at))));
    let results = outcomes.map(|(scenario, exit)| ScenarioResult::judge(&spec, scenario, &evidence(exit))).collect();
    Report::new(header(), &spec, &plan, results, ScoreOptions::default())
}

fn evidence(exit: i32) -> Evidence {
    let answer = CommandAnswer {
        exit: Some(Exit::Code(exit)),
        stdout: Captured::default(),
        stderr: Captured::default(),
        image_changes: Vec::new(),
    };
    Evidence {
        agent: AgentRecord { exit: Some(Exit::Code(0)), ..AgentRecord::default() },
        answers: [("word".to_owned(), vec![Answer::Command(answer)])].into(),
        ..Evidence::default()
    }
}

/// The findings as lines.
fn told(before: [&str; 2], now: [&str; 2]) -> Vec<String> {
    let comparison = RunComparison::of("base.json", &[report(before[0], before[1])], &[report(now[0], now[1])]);
    comparison
        .findings
        .iter()
        .map(|finding| {
            let words = finding.change.words();
            format!("{words}: {} {} → {}: {}", finding.place(), finding.before, finding.now, finding.why)
        })
        .collect()
}

#[test]
fn the_same_again_is_no_finding() {
    assert_eq!(told(["++", "+-"], ["++", "+-"]), Vec::<String>::new());
    assert_eq!(told(["++", "+-"], ["++", "++"]), Vec::<String>::new(), "a little better is not worth a word");
}

#[test]
fn a_missed_bar_that_chance_can_explain_is_no_regression() {
    let comparison = RunComparison::of("b", &[report("+", "+")], &[report("-", "+")]);
    assert!(!comparison.regressed(), "{:#?}", comparison.findings);
    insta::assert_snapshot!(told(["+", "+"], ["-", "+"]).join("\n"));
}

#[test]
fn a_drop_that_chance_can_explain_is_called_so() {
    insta::assert_snapshot!(told(["+++", "+++"], ["++-", "+++"]).join("\n"));
}

#[test]
fn a_drop_that_chance_cannot_explain_has_regressed() {
    let lines = told(["++++++++++", "++++++++++"], ["+---------", "++++++++++"]);
    assert!(lines.iter().all(|line| line.starts_with("regressed: greeting")), "{lines:#?}");
    assert_eq!(lines.len(), 3, "the cell, its invariant, and both cells together: {lines:#?}");
}

#[test]
fn what_could_not_be_judged_is_no_regression() {
    let comparison = RunComparison::of("b", &[report("+", "+")], &[report("?", "+")]);
    assert!(!comparison.regressed());
    assert_eq!(comparison.count(Change::InsufficientEvidence), 1, "{:#?}", comparison.findings);
}

#[test]
fn what_was_mended_is_told_last() {
    let lines = told(["-", "+"], ["+", "-"]);
    assert!(lines[0].starts_with("insufficient") && lines.last().is_some_and(|line| line.starts_with("improved")));
}

#[test]
fn nothing_in_common_is_said_so() {
    let comparison = RunComparison::of("b", &[], &[report("+", "+")]);
    assert_eq!((comparison.cells, comparison.only_now.as_slice()), (0, &["greeting".to_owned()][..]));
    assert!(comparison.summary().contains("nothing was compared"));
}

#[test]
fn two_runs_of_one_agent_are_not_called_a_regression() {
    // 100 scenarios of which five fail, each time others: a cell that misses its bar is no evidence.
    let runs: Vec<_> = (0..5_u64).map(|run| report_of_cells(20, 5, |at| (at * 31 + run * 17) % 100 >= 95)).collect();
    for pair in runs.windows(2) {
        let comparison = RunComparison::of("b", &pair[..1], &pair[1..]);
        assert!(!comparison.regressed(), "{:#?}", comparison.regressions());
        assert!(comparison.count(Change::InsufficientEvidence) > 0, "and the missed bars are told");
    }
}

#[test]
fn what_was_removed_is_named_and_fails_where_it_may_not_be_missing() {
    let (baseline, mut now) = (report("+", "-"), report("+", "-"));
    let german = baseline.score.cells[1].id.clone();
    now.rows.retain(|row| row.result.scenario.cell != german);
    now.score.cells.retain(|cell| cell.id != german);
    for (candidate, removed) in [
        (vec![], "greeting".to_owned()),
        (vec![now], format!("greeting/{german}")),
        (vec![renamed(report("+", "-"))], format!("greeting/{}: word", baseline.score.cells[0].id)),
    ] {
        let comparison = RunComparison::of("b", std::slice::from_ref(&baseline), &candidate);
        assert_eq!(comparison.removed[0], removed);
        assert!(!comparison.fails(), "whoever only compares is told");
        let comparison = comparison.without_removal();
        assert!(comparison.fails() && !comparison.regressed());
        let message = comparison.removal_message();
        assert!(message.contains(&removed) && message.contains("--allow-removed"), "{message}");
    }
    let unjudged = RunComparison::of("b", &[baseline], &[report("?", "?")]).without_removal();
    assert!(!unjudged.fails(), "what could not be judged is not removed: {:?}", unjudged.removed);
}

/// The same report, with the invariant under another name.
fn renamed(mut report: Report) -> Report {
    for invariant in report.rows.iter_mut().flat_map(|row| &mut row.result.invariants) {
        invariant.name = "other".to_owned();
    }
    report
}

/// A report of cells that all end alike, in this world.
fn report_in(outcomes: &str, backend: &str, name: &str, digest: &str) -> Report {
    let mut report = report(outcomes, outcomes);
    let image = ImageRecord { reference: "debian".to_owned(), name: name.to_owned(), digest: digest.to_owned() };
    for row in &mut report.rows {
        row.result.ran_in =
            Some(RanIn { backend: backend.to_owned(), images: vec![image.clone()], scoring_version: None });
    }
    report
}

#[test]
fn a_drop_between_two_worlds_is_no_regression() {
    let before = report_in("++++++", "docker", "debian", "sha256:1");
    let compared = |backend, name, digest| {
        RunComparison::of("b", std::slice::from_ref(&before), &[report_in("------", backend, name, digest)])
    };
    for (backend, name, told) in [
        ("local", "host: Debian 12", "backend: docker → local"),
        ("docker", "touchstone/debian", "image debian: debian → touchstone/debian"),
    ] {
        let comparison = compared(backend, name, "sha256:1");
        assert!(comparison.worlds.contains(&told.to_owned()) && !comparison.regressed(), "{comparison:#?}");
        assert!(
            comparison
                .findings
                .iter()
                .all(|finding| finding.change == Change::DifferentWorld && finding.why.contains(told))
        );
        assert!(comparison.summary().ends_with("5 different world"), "{}", comparison.summary());
    }
    let updated = compared("docker", "debian", "sha256:2");
    assert_eq!(updated.worlds, ["image debian: another version of it"]);
    assert!(updated.regressed(), "another version of the same image is told, and no excuse");
    assert!(compared("docker", "debian", "sha256:1").worlds.is_empty());
    let unknown = RunComparison::of("b", &[report("++++++", "++++++")], &[report_in("------", "local", "host", "")]);
    assert!(unknown.regressed() && unknown.worlds.is_empty(), "what was not recorded differs from nothing");
}

#[test]
fn many_comparisons_ask_more_of_each() {
    // Alone, 4 of 4 to 0 of 4 would be a drop that chance does not explain; here the bar `any` still holds elsewhere.
    let lines = told(["++++++", "++++++"], ["+-----", "+++++-"]);
    assert!(lines.iter().any(|line| line.starts_with("insufficient evidence")), "{lines:#?}");
}

#[test]
fn what_made_the_runs_is_compared_by_digest_and_told() {
    let before = report("++++++", "++++++");
    let changed = |change: fn(&mut Provenance)| {
        let mut now = report("------", "------");
        change(&mut now.provenance);
        let mut before = before.clone();
        before.provenance.scoring_version = Some(1);
        before.provenance.models = ["small".to_owned()].into();
        RunComparison::of("b", &[before], &[now])
    };
    let told = |change| {
        let comparison = changed(change);
        assert!(comparison.regressed(), "it is told, and no excuse: {:?}", comparison.worlds);
        comparison.worlds
    };
    assert_eq!(told(|_| ()), [""; 0], "what was not recorded differs from nothing");
    let spec = told(|now| now.spec_digest = Some("0123456789abcdef".to_owned()));
    assert!(spec[0].starts_with("spec: version ") && spec[0].ends_with(" → 0123456789ab"), "{spec:?}");
    let agent = told(|now| now.agent = Some(AgentIdentity { kind: "cli".to_owned(), digest: "feed".to_owned() }));
    assert!(agent[0].starts_with("agent: noop ") && agent[0].ends_with(" → cli feed"), "{agent:?}");
    assert_eq!(told(|now| now.models = ["large".to_owned()].into()), ["model: small → large"]);
    let rescored = changed(|now| now.scoring_version = Some(2));
    assert_eq!(rescored.worlds, ["scoring: version 1 → 2"]);
    assert!(!rescored.regressed() && rescored.count(Change::DifferentWorld) > 0, "numbers that cannot be compared");
}

#[test]
fn a_report_says_what_made_it_and_reads_it_back() {
    let value = json_value(&report("+", "+"));
    let provenance = &value["provenance"];
    assert_eq!(provenance["agent"]["kind"], "noop");
    assert!(provenance["spec_digest"].as_str().is_some_and(|digest| digest.len() == 64), "{provenance}");
    assert_eq!(read(value.clone()).expect("a report").provenance, report("+", "+").provenance);
    let mut old = value;
    old.as_object_mut().expect("fields").remove("provenance");
    assert_eq!(read(old).expect("an old report").provenance, Provenance::default());
}

#[test]
fn many_specs_that_each_drop_a_little_have_regressed_together() {
    let named = |name: usize, mut report: Report| {
        report.spec_id = format!("spec-{name}");
        report
    };
    let suite = |outcomes: &str| (0..8).map(|name| named(name, report(outcomes, outcomes))).collect::<Vec<_>>();
    let comparison = RunComparison::of("b", &suite("+++++"), &suite("+++--"));
    assert_eq!(comparison.count(Change::Regressed), 0, "no cell can tell: {:#?}", comparison.findings);
    assert!(comparison.regressed() && comparison.fails());
    assert_eq!(comparison.regressions().len(), 1, "{:?}", comparison.regressions());
    assert!(comparison.summary().contains("; worse: mean pass rate of 8 specs"), "{}", comparison.summary());
    let lost = RunComparison::of("b", &suite("+++++"), &suite("+++++"));
    assert!(!lost.regressed() && lost.suite.is_some_and(|suite| !suite.regressed()));
}

#[test]
fn a_measure_fails_a_run_only_where_that_is_asked_for() {
    let slow = |wall_ms: u64| {
        let mut report = report("++++++++", "++++++++");
        report.rows.iter_mut().zip(0_u64..).for_each(|(row, at)| row.result.wall_ms = wall_ms + at);
        report
    };
    let gate = Gate { measures: vec![Measure::Time], ..Gate::default() };
    let told = RunComparison::of("b", &[slow(1000)], &[slow(2000)]);
    let gated = RunComparison::gated("b", &[slow(1000)], &[slow(2000)], &gate);
    assert!(!told.regressed() && told.told_sums().iter().any(|line| line.starts_with("worse: time")), "{told:#?}");
    assert!(gated.regressed() && gated.regressions()[0].starts_with("worse: time"));
    assert!(!RunComparison::gated("b", &[slow(2000)], &[slow(1000)], &gate).regressed(), "faster is no regression");
}
