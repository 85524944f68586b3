//! `touchstone replay`: recorded sessions, exported from the history and run again.

mod export;
mod run;
mod session_files;

use clap::{Args, Subcommand};

use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use export::Export;
use run::ReplayRun;
pub(super) use session_files::SessionFile;

/// Export what an agent went through as a session, and let a changed agent go through it again.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    #[command(subcommand)]
    command: ReplayCommand,
}

#[derive(Debug, Subcommand)]
enum ReplayCommand {
    Export(Export),
    Run(Box<ReplayRun>),
}

impl Replay {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        match self.command {
            ReplayCommand::Export(export) => export.run(output),
            ReplayCommand::Run(run) => run.run(output),
        }
    }
}
