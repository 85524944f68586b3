//! The doorkeeper: `doorkeeper SOCKET [WATCHED]` connects to the worker's socket and serves its requests. `doorkeeper
//! --box` reads a plan from standard input, and does so in a box that it makes itself; with `--spare`, it makes a part
//! of it before there is a plan. Under the name `touchstone-tool` it is a program for agents: it calls their tools.

mod keeper;
mod sys;
mod tool;
mod walls;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let name = std::env::args_os().next().unwrap_or_default();
    if Path::new(&name).file_name().is_some_and(|name| name == tool::NAME) {
        return tool::run(std::env::args_os().skip(1));
    }
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
