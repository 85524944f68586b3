//! The real binary, used as a person would.

mod approvals;
mod attacks;
mod backend_choice;
mod baseline_command;
mod boundaries;
mod certify;
mod ci_command;
mod ci_commands;
mod commands;
mod compare_command;
mod compared_everywhere;
mod contract_catalogue;
mod contract_server;
mod contracts;
mod debugging;
mod doctor_command;
mod drop_root;
mod fault_crash;
mod faults;
mod fields;
mod gate_story;
mod generated;
mod guides;
mod help;
mod history;
mod import_command;
mod inconclusive;
mod judge;
mod links;
mod memory_limits;
mod module_cycles;
mod mutations;
mod pipelines;
mod place;
mod remote;
mod remote_outage;
mod replays;
mod rescore_command;
mod run_command;
mod run_crash;
mod run_examples;
mod run_held;
mod run_honest;
mod run_judges;
mod run_many;
mod run_together;
mod same_evidence;
mod seeded;
mod serving;
mod slips;
mod stored_secrets;
mod suites;
mod terminal;
mod tool_contracts;
mod tool_sessions;
mod tools_command;
mod try_command;
mod validate;
mod watching;

use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;

/// Variables that users may have set, and no test should see.
const FOREIGN: [&str; 16] = [
    "CI",
    "GITHUB_ACTIONS",
    "TF_BUILD",
    "TEAMCITY_VERSION",
    "NO_COLOR",
    "TOUCHSTONE_URL",
    "TOUCHSTONE_API_KEY",
    "TOUCHSTONE_DATA_DIR",
    "TOUCHSTONE_CONFIG",
    "TOUCHSTONE_BACKEND",
    "TOUCHSTONE_BASELINE",
    "TOUCHSTONE_BRANCH",
    "TOUCHSTONE_QUARANTINE",
    "KEYSTONE_BASE_URL",
    "KEYSTONE_API_KEY",
    "GITHUB_STEP_SUMMARY",
];

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a parent").to_owned()
}

/// The binary, started in the root of the repository.
fn touchstone(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("touchstone").expect("the binary");
    command.current_dir(root()).args(arguments);
    for foreign in FOREIGN {
        command.env_remove(foreign);
    }
    command
}

/// Returns the output of a run, and its exit code.
fn run(arguments: &[&str]) -> (i32, String, String) {
    read(touchstone(arguments).output().expect("the binary ran"))
}

/// The same with a text on standard input.
fn run_with(arguments: &[&str], stdin: &str) -> (i32, String, String) {
    read(touchstone(arguments).write_stdin(stdin).output().expect("the binary ran"))
}

fn read(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}
