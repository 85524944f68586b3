//! Every example is run for real: by its own agent, by its own solution, and by nobody.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tempfile::TempDir;

use crate::{read, root, touchstone};

/// Examples that this version cannot run yet, and why it says so.
const NOT_YET: [(&str, &str); 5] = [
    ("check-forbidden", "audit.db_writes"),
    ("check-llm-as-judge", "a model as judge"),
    ("email-agent-renewal", "audit.db_writes"),
    ("reconciliation-pipeline", "audit.db_writes"),
    ("support-agent-scripted-model", "the model gateway"),
];
/// Examples whose first scenario may pass or fail: that is what they show.
const EITHER: [&str; 1] = ["flaky-agent"];
/// How many examples run at once.
const AT_ONCE: usize = 3;

/// A data directory in which the stand-in images are known.
fn data_dir() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let output = touchstone(&["images", "build", "--data-dir"]).arg(folder.path()).output().expect("a run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

fn examples() -> Vec<PathBuf> {
    let folders = fs::read_dir(root().join("specs")).expect("specs").map(|entry| entry.expect("an entry").path());
    let mut examples: Vec<_> = folders.filter(|folder| folder.join("spec.yaml").is_file()).collect();
    examples.sort();
    examples
}

fn name(folder: &Path) -> String {
    folder.file_name().expect("a name").to_string_lossy().into_owned()
}

/// Runs all examples, a few at once; what each came to.
fn run_all(data_dir: &Path, arguments: &[&str]) -> BTreeMap<String, (i32, String)> {
    let waiting = Mutex::new(examples());
    let results = Mutex::new(BTreeMap::new());
    let work = || {
        while let Some(folder) = waiting.lock().expect("examples").pop() {
            let mut command = touchstone(&["try", "--no-pull"]);
            command.arg(&folder).args(arguments).arg("--data-dir").arg(data_dir);
            let (code, stdout, stderr) = read(command.output().expect("a run"));
            results.lock().expect("results").insert(name(&folder), (code, stdout + &stderr));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(work);
        }
    });
    results.into_inner().expect("results")
}

fn expected_to_fail(example: &str) -> bool {
    let spec = fs::read_to_string(root().join("specs").join(example).join("spec.yaml")).expect("a spec");
    spec.lines().any(|line| line == "expect: fail")
}

/// Checks what each example came to, but for those that cannot be run yet: they say so.
fn check(arguments: &[&str], expected: impl Fn(&str) -> Option<i32>) {
    let data_dir = data_dir();
    let not_yet: BTreeMap<_, _> = NOT_YET.into_iter().collect();
    let mut wrong = Vec::new();
    for (example, (code, said)) in run_all(data_dir.path(), arguments) {
        let right = match (not_yet.get(example.as_str()), expected(&example)) {
            (Some(why), _) => code == 4 && said.contains(why) && said.contains("by this version"),
            (None, Some(expected)) => code == expected,
            (None, None) => code == 0 || code == 1,
        };
        if !right {
            wrong.push(format!("{example}: exit code {code}\n{said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let left = left(data_dir.path());
    assert!(left.is_empty(), "left behind: {left}");
}

/// The containers and volumes of this test's data directory.
fn left(data_dir: &Path) -> String {
    let id = fs::read_to_string(data_dir.join("id")).expect("an id");
    let label = format!("label=touchstone.data={}", id.trim());
    let list = |arguments: &[&str]| {
        let output = std::process::Command::new("docker").args(arguments).args(["--filter", &label]).output();
        String::from_utf8_lossy(&output.expect("docker").stdout).into_owned()
    };
    list(&["ps", "-aq"]) + &list(&["volume", "ls", "-q"])
}

#[test]
fn every_agent_comes_to_what_its_spec_expects() {
    check(&[], |example| match example {
        _ if EITHER.contains(&example) => None,
        _ if expected_to_fail(example) => Some(1),
        _ => Some(0),
    });
}

#[test]
fn every_solution_passes() {
    check(&["--agent", "oracle"], |_| Some(0));
}

#[test]
fn nobody_passes_without_doing_anything() {
    check(&["--agent", "noop"], |_| Some(1));
}
