//! Renderings for people, with an agent that tries to break them.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Header, Report};
use crate::checks::testing::{files, text_file};
use crate::evidence::{
    AgentRecord, Answer, CallTrace, CallTraceRecorder, Captured, CommandAnswer, Evidence, Exit, Fired, ImageRecord,
    Leak, Limit, ToolProposal, ToolReport, Usage, World,
};
use crate::plan::{Plan, PlanOptions, expand};
use crate::result::ScenarioResult;
use crate::score::ScoreOptions;
use crate::spec::{Spec, load};
use crate::verdict::ErrorKind;

const SPEC: &str = "
version: 1
id: refund-agent
base: debian
task: {prompt: Refund order 7}
agent: {type: noop}
secrets: [API_KEY]
forbidden: {secrets_in_logs: deny}
invariants:
  tests_pass:
    description: All tests pass
    gate: true
    check: {type: command_exit, command: make test}
  note_written:
    description: A note is left
    weight: 0.5
    check: {type: file_content, path: note.txt, contains: refunded}
scoring: {pass_threshold: 0.6}
parallelism: {replicas: 2, matrix: {model: [small, large]}}
";

/// Text that would clear a screen, reverse a line, close a tag, end a code block and ping a team.
pub(crate) const HOSTILE: &str = "\u{1b}[2J\u{202e}]]></system-out></details> ``` @team\n```` <script>alert(1)</script> | [x](http://evil.example)\u{0}";

fn spec() -> (Spec, Plan) {
    let loaded = load(SPEC, None);
    let spec = loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let plan = expand(&spec, PlanOptions::default()).expect("a plan");
    (spec, plan)
}

pub(crate) fn evidence(exit: i32, note: &str, stderr: &str) -> Evidence {
    let command = CommandAnswer {
        exit: Some(Exit::Code(exit)),
        stdout: Captured::default(),
        stderr: Captured::from(stderr),
        image_changes: Vec::new(),
    };
    Evidence {
        agent: AgentRecord {
            exit: Some(Exit::Code(0)),
            stdout: Captured::from("done\n"),
            stderr: Captured::default(),
            wall_ms: 1250,
            started_at: None,
            used: None,
        },
        answers: BTreeMap::from([
            ("tests_pass".to_owned(), vec![Answer::Command(command)]),
            ("note_written".to_owned(), vec![files([text_file("note.txt", note)])]),
        ]),
        usage: Usage {
            calls: 2,
            input_tokens: 900,
            output_tokens: 100,
            model: "small".to_owned(),
            cost_usd: Some(0.0125),
            ..Usage::default()
        },
        marker_key: Some("k1".to_owned()),
        call_trace: call_trace(),
        ..Evidence::default()
    }
}

/// Four calls of a tool, of which one failed.
fn call_trace() -> CallTrace {
    let mut recorder = CallTraceRecorder::default();
    for number in 0..4 {
        let arguments = recorder.read_arguments("{}");
        let (id, tool) = (number.to_string(), "read".to_owned());
        let proposal = recorder.add_proposal(ToolProposal { at_ms: 1, model_call: 0, id, tool, arguments });
        recorder
            .add_report(proposal, ToolReport { at_ms: 2, model_call: 1, result: String::new(), is_error: number == 0 });
    }
    recorder.finish()
}

/// One scenario that passes, one that fails with hostile output, one that leaks, and one that could not run.
pub(crate) fn report() -> Report {
    let (spec, plan) = spec();
    let passing = evidence(0, "refunded", "");
    let failing = Evidence {
        agent: AgentRecord { stdout: Captured::from(HOSTILE), ..evidence(0, "", "").agent },
        limits: vec![Fired { limit: Limit::AgentTimeout, detail: "stopped after 60s".to_owned() }],
        ..evidence(2, "nothing", HOSTILE)
    };
    let leaking = Evidence {
        leaks: vec![Leak { secret: "API_KEY".to_owned(), place: "stdout".to_owned(), count: 1 }],
        ..evidence(0, "refunded", "")
    };
    let results = vec![
        ScenarioResult::judge(&spec, &plan.scenarios[1], &failing),
        ScenarioResult::judge(&spec, &plan.scenarios[0], &passing),
        ScenarioResult::judge(&spec, &plan.scenarios[2], &leaking),
        ScenarioResult::failed_to_run(&plan.scenarios[3], ErrorKind::Infrastructure, "the engine did not answer"),
    ];
    Report::new(header("specs/my refund/spec.yaml"), &spec, &plan, results, ScoreOptions::default())
}

/// A report with the results of as many scenarios as there are pieces of evidence.
pub(crate) fn report_of(evidence: &[Evidence]) -> Report {
    let (spec, plan) = spec();
    let results = plan.scenarios.iter().zip(evidence);
    let results = results.map(|(scenario, evidence)| ScenarioResult::judge(&spec, scenario, evidence)).collect();
    Report::new(header("s.yaml"), &spec, &plan, results, ScoreOptions::default())
}

pub(super) fn header(spec_file: &str) -> Header {
    Header {
        experiment_id: "exp-1".to_owned(),
        run: 2,
        spec_file: spec_file.to_owned(),
        ran_at: "2026-01-31T09:00:00Z".parse().expect("a moment"),
        parameters: Vec::new(),
        replicas: None,
        agent: None,
        agent_files: None,
        backend: None,
        server: None,
    }
}

#[test]
fn the_json_has_the_shape_that_sdks_read() {
    let text = super::json(&report());
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for counter in ["total_scenarios", "passed", "failed", "flaky", "errors", "seed"] {
        assert!(json[counter].is_u64(), "{counter}");
    }
    for integer in ["mean_wall_ms", "p95_wall_ms", "mean_tokens", "side_effect_violations"] {
        assert!(json["metrics"][integer].is_u64(), "{integer}");
    }
    let rows = json["scenarios"].as_array().expect("rows");
    assert!(rows.iter().all(|row| row["wall_ms"].is_u64() && row["exit_code"].is_i64() && row["tool_calls"].is_u64()));
    assert_eq!(rows[1]["agent_output"], HOSTILE, "clients get exactly what was written");
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{0}']), "and the file is safe to look at");
    assert_eq!(
        json["passed"].as_u64().map(|n| n
            + json["failed"].as_u64().unwrap_or(9)
            + json["flaky"].as_u64().unwrap_or(9)
            + json["errors"].as_u64().unwrap_or(9)),
        json["total_scenarios"].as_u64()
    );
    insta::assert_snapshot!(text);
}

#[test]
fn the_junit_report_tells_errors_from_failures() {
    let xml = super::junit(&report());
    assert!(!xml.contains(['\u{1b}', '\u{202e}', '\u{0}']) && xml.matches("</system-out>").count() == 3);
    insta::assert_snapshot!(xml);
}

#[test]
fn the_markdown_report_cannot_be_broken_out_of() {
    let text = super::markdown(&report());
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{0}']));
    insta::assert_snapshot!(text);
}

#[test]
fn the_terminal_report_shows_the_first_reason() {
    let text = super::terminal(&report(), 110);
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\u{0}']));
    insta::assert_snapshot!(text);
}

#[test]
fn a_long_comment_is_cut_between_scenarios() {
    let (spec, mut plan) = spec();
    plan = expand(&spec, PlanOptions { replicas: Some(500), ..PlanOptions::default() }).unwrap_or(plan);
    let failing = evidence(2, "nothing", &"x\n".repeat(5000));
    let results = plan.scenarios.iter().map(|scenario| ScenarioResult::judge(&spec, scenario, &failing)).collect();
    let text = super::markdown(&Report::new(header("s.yaml"), &spec, &plan, results, ScoreOptions::default()));
    assert!(text.len() < 65_536, "{}", text.len());
    assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    assert!(text.contains("980 more scenarios did not pass."), "{text}");
}

#[test]
fn judging_the_same_evidence_again_gives_the_same_bytes() {
    assert_eq!(super::json(&report()), super::json(&report()));
    let (spec, plan) = spec();
    let kept = serde_json::to_string(&evidence(2, "nothing", HOSTILE)).expect("JSON");
    let read: Evidence = serde_json::from_str(&kept).expect("evidence");
    assert_eq!(
        ScenarioResult::judge(&spec, &plan.scenarios[0], &read),
        ScenarioResult::judge(&spec, &plan.scenarios[0], &evidence(2, "nothing", HOSTILE))
    );
}

#[test]
fn a_report_can_be_made_while_scenarios_still_run() {
    let (spec, plan) = spec();
    let first = ScenarioResult::judge(&spec, &plan.scenarios[0], &evidence(2, "nothing", ""));
    for results in [Vec::new(), vec![first]] {
        let ended = results.len() as u64;
        let report = Report::new(header("s.yaml"), &spec, &plan, results, ScoreOptions::default());
        let json: serde_json::Value = serde_json::from_str(&super::json(&report)).expect("JSON");
        let count = |counter: &str| json[counter].as_u64().expect("an integer");
        assert_eq!(
            (count("total_scenarios"), count("passed") + count("failed") + count("flaky") + count("errors")),
            (4, ended)
        );
        assert_eq!(json["verdict"], "pending");
        assert_eq!(report.score.exit_code(), 4);
        let not_run = format!("not run {}", 4 - ended);
        assert!(
            super::markdown(&report).contains(&format!("\n{not_run}\n"))
                && super::terminal(&report, 80).contains(&not_run)
        );
        assert!(super::junit(&report).contains(&format!("name=\"not_run\" value=\"{}\"", 4 - ended)));
    }
}

#[test]
fn reproducers_are_quoted_for_a_shell() {
    let report = report();
    insta::assert_snapshot!(report.reproducer(&report.rows[1]), @"touchstone run 'specs/my refund/spec.yaml' --seed 524928120719981 --filter small-8b7ca09a1e75-r1");
}

#[test]
fn reproducers_repeat_what_was_given() {
    let mut report = report();
    let parameters = [("model", json!("it's")), ("model", json!("7")), ("size", json!(7)), ("strict", json!(true))];
    report.header.parameters = parameters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    report.header.replicas = Some(3);
    (report.header.agent, report.header.backend) = (Some("noop".to_owned()), Some("local".to_owned()));
    insta::assert_snapshot!(report.reproducer(&report.rows[1]), @r#"touchstone run 'specs/my refund/spec.yaml' --seed 524928120719981 --param 'model=it'\''s' --param 'model="7"' --param size=7 --param strict=true --replicas 3 --agent noop --backend local --filter small-8b7ca09a1e75-r1"#);
}

#[test]
fn reproducers_choose_profiles_that_the_spec_does_not_have() {
    let mut report = report();
    for (chaos, option) in [("no-chaos", " --chaos no-chaos"), ("api_outage", " --chaos api_outage"), ("own-cell", "")]
    {
        chaos.clone_into(&mut report.rows[1].result.scenario.chaos);
        let command = report.reproducer(&report.rows[1]);
        assert!(
            command.ends_with(&format!(" --seed 524928120719981{option} --filter small-8b7ca09a1e75-r1")),
            "{command}"
        );
    }
}

/// Checks the XML with xmllint; without the tool, only `scripts/test` insists.
pub(crate) fn assert_form(xml: &str) {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/src/report/junit.xsd");
    let started = Command::new("xmllint")
        .args(["--noout", "--nonet", "--schema", schema, "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut xmllint = match started {
        Ok(child) => child,
        Err(error) => {
            assert!(
                std::env::var_os("TOUCHSTONE_REQUIRE_TOOLS").is_none(),
                "xmllint is needed (run scripts/setup): {error}"
            );
            eprintln!("passed over: xmllint is not installed");
            return;
        }
    };
    xmllint.stdin.take().expect("a pipe").write_all(xml.as_bytes()).expect("written");
    let output = xmllint.wait_with_output().expect("xmllint ended");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_junit_report_has_the_form_that_ci_systems_read() {
    assert_form(&super::junit(&report()));
}

#[test]
fn what_is_wrong_with_many_is_told_once() {
    let text = super::terminal(&report_of(&vec![evidence(2, "nothing", ""); 4]), 120);
    assert_eq!(text.matches("  again: ").count(), 1, "{text}");
    assert!(text.contains("  the same is wrong with 3 more scenarios: small-8b7ca09a1e75-r1, large-"), "{text}");
}

/// A report of one cell of five replicas that needs three: one failed, and one passed on an image that its agent changed.
pub(super) fn tolerant(passes: usize) -> Report {
    let text = SPEC
        .replace("{pass_threshold: 0.6}", "{pass_threshold: 0.6, min_pass_rate: 0.6}")
        .replace("{replicas: 2, matrix: {model: [small, large]}}", "{replicas: 5}");
    let spec = load(&text, None).spec.expect("a spec");
    let plan = expand(&spec, PlanOptions::default()).expect("a plan");
    let image =
        ImageRecord { reference: "debian".to_owned(), name: "host: Debian 12".to_owned(), ..ImageRecord::default() };
    let world = World { backend: "local".to_owned(), images: vec![image], ..World::default() };
    let results = plan.scenarios.iter().enumerate().map(|(index, scenario)| {
        let mut evidence =
            Evidence { world: world.clone(), ..evidence(i32::from(index >= passes), "refunded", HOSTILE) };
        if let (0, Some([Answer::Command(command)])) =
            (index, evidence.answers.get_mut("tests_pass").map(Vec::as_mut_slice))
        {
            command.image_changes = vec!["/usr/bin/pytest".to_owned()];
        }
        ScenarioResult::judge(&spec, scenario, &evidence)
    });
    let results = results.collect();
    Report::new(header("s.yaml"), &spec, &plan, results, ScoreOptions::default())
}

#[test]
fn a_failed_replica_of_a_passed_cell_is_no_failure_anywhere() {
    let report = tolerant(4);
    assert_eq!((report.score.exit_code(), report.score.flaky, report.score.failed), (0, 1, 0));
    let xml = super::junit(&report);
    assert!(xml.contains("failures=\"0\"") && !xml.contains("failures=\"1\""), "{xml}");
    assert!(
        !xml.contains("<failure") && xml.contains("name=\"flakyFailure\"") && xml.contains("flaky in the cell"),
        "{xml}"
    );
    assert_form(&xml);
    let github = super::github(&report);
    assert!(!github.contains("::error") && github.contains("::notice"), "{github}");
    assert!(github.contains("flaky (within its cell's bar)"), "{github}");
    let text = super::terminal(&report, 110);
    assert!(text.contains("cells 1, passed 1, failed 0; scenarios 5, passed 4, failed 0, flaky 1"), "{text}");
    assert!(text.contains("its cell passed all the same: 4 of 5 replicas passed"), "{text}");
    assert!(super::markdown(&report).contains("flaky (within its cell's bar)"));
    let rows = super::json_value(&report)["scenarios"].as_array().expect("rows").clone();
    assert_eq!((&rows[4]["status"], &rows[4]["tolerated"]), (&json!("flaky"), &json!(true)));
}

#[test]
fn a_failed_replica_of_a_failed_cell_is_a_failure_everywhere() {
    let report = tolerant(2);
    assert_eq!((report.score.exit_code(), report.score.flaky), (1, 3));
    assert_eq!(super::junit(&report).matches("<failure").count(), 3);
    assert_eq!(super::github(&report).matches("::error file=").count(), 3);
    let text = super::terminal(&report, 110);
    assert!(text.contains("FAILED: cells 1, passed 0, failed 1; scenarios 5, passed 2, failed 0, flaky 3"), "{text}");
}

#[test]
fn caveats_stand_beside_the_verdict_in_every_rendering() {
    let report = tolerant(4);
    let modified = "`tests_pass` passed on an image that the agent changed (/usr/bin/pytest)";
    let stood_in = "`debian` was not used: `host: Debian 12` (local) stood in for it (5 scenarios)";
    let reports = super::Reports { reports: vec![report.clone(), super::tests::report()], ..super::Reports::default() };
    for text in [super::terminal(&report, 110), super::terminal_all(&reports, 110), super::github(&report)] {
        assert!(text.contains(modified) && text.contains(stood_in), "{text}");
    }
    for text in [super::junit(&report), super::markdown(&report), super::json(&report), super::ndjson(&report)] {
        assert!(text.contains(modified) && text.contains(stood_in), "{text}");
    }
    assert_eq!(super::junit(&report).matches("caveat: ").count(), 6, "and each test case has its own");
    let read = super::read(super::json_value(&report)).expect("a report");
    assert_eq!(super::json(&read), super::json(&report));
}
