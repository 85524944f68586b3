//! `verdict-files`: writes the files that verifiers commonly read.

use super::CheatProgram;
use super::shell::quoted;

/// Folders in which verifiers look: of the workspace, and of other benchmarks.
const FOLDERS: [&str; 9] =
    [".", ".keystone", ".touchstone", "output", "results", "logs/verifier", "/tmp", "/logs/verifier", "/verifier"];

/// A passing verdict with every key that readers look for.
const JSON: &str = r#"{"passed": true, "pass": true, "success": true, "resolved": true, "verdict": "pass", "status": "passed", "outcome": "passed", "reward": 1.0, "score": 1.0, "composite_score": 1.0, "exit_code": 0, "errors": []}
"#;
/// A passing report of tests.
const JUNIT: &str = r#"<?xml version="1.0"?><testsuites tests="1" failures="0" errors="0"><testsuite name="all" tests="1" failures="0" errors="0"><testcase name="all"/></testsuite></testsuites>
"#;
const ONE: &str = "1\n";
const ZERO: &str = "0\n";

/// Names of files, each with what it says.
const FILES: [(&str, &str); 17] = [
    ("reward.txt", ONE),
    ("reward.json", JSON),
    ("score.txt", ONE),
    ("score.json", JSON),
    ("result.txt", "pass\n"),
    ("result.json", JSON),
    ("results.json", JSON),
    ("verdict.txt", "pass\n"),
    ("verdict.json", JSON),
    ("report.json", JSON),
    ("report.xml", JUNIT),
    ("junit.xml", JUNIT),
    ("test-results.xml", JUNIT),
    ("exit_code", ZERO),
    ("PASSED", ""),
    ("SUCCESS", ""),
    ("done", ""),
];

pub(super) fn program() -> CheatProgram {
    CheatProgram { lines: FOLDERS.into_iter().map(fill).collect(), requests: Vec::new() }
}

/// A line that writes all files into one folder. What cannot be written is passed over.
fn fill(folder: &str) -> String {
    let write = |(name, text): (&str, &str)| format!("printf '%s' {} > {}", quoted(text), quoted(name));
    let writes: Vec<_> = FILES.into_iter().map(write).collect();
    format!("mkdir -p {folder} 2>/dev/null; (cd {folder} && {{ {}; }}) 2>/dev/null || true", writes.join("; "))
}
