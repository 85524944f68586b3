//! The real binary, used as a person would.

mod backend_choice;
mod boundaries;
mod commands;
mod fields;
mod generated;
mod history;
mod judge;
mod place;
mod rescore_command;
mod run_command;
mod run_crash;
mod run_examples;
mod run_honest;
mod run_judges;
mod run_many;
mod run_together;
mod same_evidence;
mod seeded;
mod serving;
mod try_command;
mod validate;

use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a parent").to_owned()
}

/// The binary, started in the root of the repository.
fn touchstone(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("touchstone").expect("the binary");
    command.current_dir(root()).env_remove("NO_COLOR").args(arguments);
    command
}

/// What a run printed, and its exit code.
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
