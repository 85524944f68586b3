//! `touchstone judge`: calibration of model judges.

mod calibrate;
mod label_file;
mod labels;
mod place;

use clap::{Args, Subcommand};

use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Compare model judges with people, and manage labels.
///
/// People label outputs that judges rate, in a file or on the experiment's page. Judges are compared with them by what is kept
/// as evidence.
#[derive(Debug, Args)]
pub(crate) struct Judge {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Calibrate(calibrate::Calibrate),
    #[command(subcommand)]
    Labels(labels::Labels),
}

impl Judge {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        match self.action {
            Action::Calibrate(calibrate) => calibrate.run(output),
            Action::Labels(labels) => labels.run(output),
        }
    }
}
