//! `touchstone run` of many scenarios: none is missing or doubled, and nothing is left of any.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value as Json;
use tempfile::TempDir;

use crate::{read, touchstone};

/// Number of scenarios.
const COUNT: usize = 100;
/// Number of concurrent scenarios.
const AT_ONCE: &str = "4";

/// The spec of many scenarios that do next to nothing.
fn spec() -> String {
    format!(
        "version: 1\nid: many\nbase: touchstone/busybox:1\ntask: {{prompt: x}}\n\
         agent: {{type: cli, command: [touch, out.txt]}}\nresources: {{memory: 64Mi, disk: 16Mi, pids: 64}}\n\
         parallelism: {{replicas: {COUNT}}}\n\
         invariants: {{there: {{description: x, check: {{type: file_exists, path: out.txt}}}}}}\n"
    )
}

/// Lists the leftovers of a data directory in Docker, and in its folders for temporary things.
fn left(data_dir: &Path) -> Vec<String> {
    let id = fs::read_to_string(data_dir.join("id")).expect("an id");
    let label = format!("label=touchstone.data={}", id.trim());
    let mut left = Vec::new();
    for listing in [["ps", "-aq"].as_slice(), &["volume", "ls", "-q"], &["network", "ls", "-q"]] {
        let output = std::process::Command::new("docker").args(listing).args(["--filter", &label]).output();
        let output = output.expect("docker");
        assert!(output.status.success(), "docker {}: {}", listing.join(" "), String::from_utf8_lossy(&output.stderr));
        left.extend(String::from_utf8_lossy(&output.stdout).lines().map(|line| format!("{} {line}", listing[0])));
    }
    for folder in ["doors", "scratch", "owners"] {
        let entries = fs::read_dir(data_dir.join(folder)).expect("a folder");
        left.extend(entries.map(|entry| entry.expect("an entry").path().display().to_string()));
    }
    left
}

#[test]
fn a_hundred_scenarios_are_all_there_once_and_leave_nothing() {
    let folder = TempDir::new().expect("a folder");
    let data_dir = folder.path().join("data");
    fs::create_dir(folder.path().join("spec")).expect("a folder");
    fs::write(folder.path().join("spec/spec.yaml"), spec()).expect("a spec");
    let mut command = touchstone(&["run", "--no-pull", "--max-concurrent", AT_ONCE, "--format", "json"]);
    command.arg(folder.path().join("spec")).arg("--data-dir").arg(&data_dir);

    let (code, stdout, stderr) = read(command.output().expect("a run"));

    assert_eq!(code, 0, "{stderr}");
    let report: Json = serde_json::from_str(&stdout).expect("JSON");
    let experiment = &report["experiments"][0];
    assert_eq!((&experiment["total_scenarios"], &experiment["passed"]), (&COUNT.into(), &COUNT.into()), "{stderr}");
    let rows = experiment["scenarios"].as_array().expect("rows");
    assert_eq!(rows.len(), COUNT);
    let distinct = |key: &str| rows.iter().map(|row| row[key].to_string()).collect::<BTreeSet<_>>().len();
    assert_eq!((distinct("scenario_id"), distinct("sandbox_id"), distinct("seed")), (COUNT, COUNT, COUNT));
    assert!(rows.iter().all(|row| row["status"] == "pass"), "{stderr}");
    assert_eq!(stderr.lines().filter(|line| line.starts_with("pass ")).count(), COUNT, "{stderr}");
    assert!(!stderr.contains("retry ") && !stderr.contains("problem: "), "{stderr}");
    assert_eq!(left(&data_dir), Vec::<String>::new());
}
