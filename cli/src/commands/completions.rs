//! `touchstone completions`: words that a shell completes.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::ci_commands::Form;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Print a script with which a shell completes commands and options.
///
/// For example `touchstone completions bash > /etc/bash_completion.d/touchstone`, or `source <(touchstone completions zsh)`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Which shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, mut command: Command, output: &mut Output) -> Result<Exit, CommandError> {
        let mut script = Vec::new();
        generate(self.shell, &mut command, "touchstone", &mut script);
        output.exactly(&String::from_utf8_lossy(&script), Form::Text)?;
        Ok(Exit::Passed)
    }
}
