//! The doorkeeper: `doorkeeper SOCKET [WATCHED]` connects to the worker's socket and does what it asks for.
//! `doorkeeper --box` reads a plan from standard input, and does so in a box that it makes itself; with `--spare`, it makes a
//! part of it before there is a plan.

mod keeper;
mod sys;
mod walls;

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let argument = std::env::args_os().nth(1).unwrap_or_default();
    if argument == doorkeeper::plan::BOX || argument == doorkeeper::plan::SPARE {
        return match walls::raise(argument == doorkeeper::plan::SPARE) {
            walls::End::NoBox(problem) => {
                complain(&problem);
                ExitCode::FAILURE
            }
            walls::End::Watched(code) => ExitCode::from(code),
            walls::End::Kept(kept) => ended(kept),
        };
    }
    ended(keeper::keep(std::env::args_os().skip(1)))
}

fn ended(kept: Result<(), keeper::Ending>) -> ExitCode {
    match kept {
        Ok(()) => ExitCode::SUCCESS,
        Err(ending) => {
            complain(&ending);
            ending.exit_code()
        }
    }
}

fn complain(problem: &impl std::fmt::Display) {
    // There is nobody else to tell when standard error is closed.
    let _ = writeln!(std::io::stderr(), "doorkeeper: {problem}");
}
