//! The doorkeeper: `doorkeeper SOCKET [WATCHED]` connects to the worker's socket and does what it asks for.

mod keeper;
mod sys;

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match keeper::keep(std::env::args_os().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(ending) => {
            // There is nobody else to tell when standard error is closed.
            let _ = writeln!(std::io::stderr(), "doorkeeper: {ending}");
            ending.exit_code()
        }
    }
}
