//! Benchmarks of the pure core: reading the largest example, planning and judging 10,000 scenarios.
//!
//! `cargo bench -p scenario`; the figures are in `docs/benchmarks.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use divan::{Bencher, black_box};
use jiff::Timestamp;
use scenario::evidence::{
    AgentRecord, Answer, Blob, Captured, CommandAnswer, Evidence, Exit, FileEntry, FileKind, Files,
};
use scenario::plan::{Plan, PlanOptions, expand};
use scenario::report::{Header, Report};
use scenario::result::ScenarioResult;
use scenario::score::{ScoreOptions, score};
use scenario::spec::{Bundle, Spec, load};

fn main() {
    divan::main();
}

/// A spec with two checks, run 10,000 times.
const MANY: &str = "
version: 1
id: many
base: debian
task: {prompt: Refund order 7}
agent: {type: noop}
invariants:
  tests_pass: {description: All tests pass, gate: true, check: {type: command_exit, command: make test}}
  note_written: {description: A note is left, weight: 0.5, check: {type: file_content, path: note.txt, contains: refunded, pattern: '(?m)^order [0-9]+$'}}
scoring: {replica_aggregation: majority}
parallelism: {replicas: 100, matrix: {model: [a, b, c, d, e, f, g, h, i, j], prompt: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}}
";

fn many() -> (Spec, Plan) {
    let spec = load(MANY, None).spec.expect("a spec");
    let plan = expand(&spec, PlanOptions::default()).expect("a plan");
    assert_eq!(plan.scenarios.len(), 10_000);
    (spec, plan)
}

/// The text of the largest example, and the files beside it.
fn largest_example() -> (String, Bundle) {
    let specs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs");
    let folders = fs::read_dir(specs).expect("the examples").map(|entry| entry.expect("an entry").path());
    let folder = folders
        .filter(|path| path.join("spec.yaml").is_file())
        .max_by_key(|path| fs::metadata(path.join("spec.yaml")).expect("a file").len())
        .expect("an example");
    let mut files = Vec::new();
    collect(&folder, &folder, &mut files);
    (
        fs::read_to_string(folder.join("spec.yaml")).expect("a text"),
        Bundle::new(files).expect("a bundle").with_texts(|path| fs::read(folder.join(path)).ok()),
    )
}

fn collect(root: &Path, folder: &PathBuf, files: &mut Vec<(String, u64)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            files.push((path.strip_prefix(root).expect("below the root").to_string_lossy().into_owned(), 1));
        }
    }
}

fn evidence(passes: bool) -> Evidence {
    let exit = Some(Exit::Code(i32::from(!passes)));
    let command = CommandAnswer {
        exit,
        stdout: Captured::from("ran 12 tests\n"),
        stderr: Captured::default(),
        image_changes: Vec::new(),
    };
    let content = Blob::from("refunded\norder 7\n");
    let file = FileEntry {
        path: "note.txt".to_owned(),
        kind: FileKind::File,
        size: 17,
        sha256: None,
        content: Some(content),
        problem: None,
    };
    Evidence {
        agent: AgentRecord {
            started_at: None,
            used: None,
            exit: Some(Exit::Code(0)),
            stdout: Captured::from("done\n"),
            stderr: Captured::default(),
            wall_ms: 1200,
        },
        answers: BTreeMap::from([
            ("tests_pass".to_owned(), vec![Answer::Command(command)]),
            ("note_written".to_owned(), vec![Answer::Files(Files { entries: vec![file], incomplete: false })]),
        ]),
        ..Evidence::default()
    }
}

fn results(spec: &Spec, plan: &Plan) -> Vec<ScenarioResult> {
    let kinds = [evidence(true), evidence(false)];
    plan.scenarios
        .iter()
        .enumerate()
        .map(|(index, scenario)| ScenarioResult::judge(spec, scenario, &kinds[usize::from(index % 7 == 0)]))
        .collect()
}

#[divan::bench]
fn load_and_validate_the_largest_example(bencher: Bencher<'_, '_>) {
    let (text, bundle) = largest_example();
    assert!(load(&text, Some(&bundle)).spec.is_some());
    bencher.bench(|| load(black_box(&text), Some(&bundle)));
}

#[divan::bench(sample_count = 20)]
fn plan_10_000_scenarios(bencher: Bencher<'_, '_>) {
    let (spec, _) = many();
    bencher.bench(|| expand(black_box(&spec), PlanOptions::default()));
}

#[divan::bench(sample_count = 20)]
fn judge_and_score_10_000_scenarios(bencher: Bencher<'_, '_>) {
    let (spec, plan) = many();
    bencher.bench(|| score(&plan, &spec, black_box(&results(&spec, &plan)), ScoreOptions::default()));
}

#[divan::bench(sample_count = 10)]
fn render_10_000_scenarios_as_json(bencher: Bencher<'_, '_>) {
    let (spec, plan) = many();
    let header = Header {
        experiment_id: "exp-1".to_owned(),
        run: 1,
        spec_file: "many.yaml".to_owned(),
        ran_at: Timestamp::UNIX_EPOCH,
        parameters: Vec::new(),
        replicas: None,
        agent: None,
        agent_files: None,
        backend: None,
        server: None,
    };
    let report = Report::new(header, &spec, &plan, results(&spec, &plan), ScoreOptions::default());
    bencher.bench(|| scenario::report::json(black_box(&report)));
}
