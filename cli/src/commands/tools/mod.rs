//! `touchstone tools`: tools for the section `tools` of a spec.

mod from_openapi;

use clap::{Args, Subcommand};

use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use from_openapi::FromOpenApi;
pub(crate) use from_openapi::read_document;

/// Write the tools of a spec.
#[derive(Debug, Args)]
pub(crate) struct Tools {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    #[command(name = "from-openapi")]
    FromOpenApi(FromOpenApi),
}

impl Tools {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        match self.action {
            Action::FromOpenApi(from) => from.run(output),
        }
    }
}
