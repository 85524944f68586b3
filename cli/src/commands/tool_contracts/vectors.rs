//! `touchstone tool-contracts vectors`: runs a file of test vectors.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use scenario::untrusted;

use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Run a file of test vectors: `ID ok`, or `ID failed: got …, wanted …`.
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct Vectors {
    /// The file.
    file: PathBuf,
}

impl Vectors {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let cannot = |cause: &dyn std::fmt::Display| CommandError::usage(format!("{}: {cause}", self.file.display()));
        let text = fs::read_to_string(&self.file).map_err(|error| cannot(&error))?;
        let results = tool_contracts::run_vectors(&text).map_err(|error| cannot(&error))?;
        let mut exit = Exit::Passed;
        for result in results {
            let id = untrusted::line(&result.id, 100);
            match result.failure {
                None => output.line(format!("{id} ok"))?,
                Some(failure) => {
                    exit = Exit::Failed;
                    output.line(format!("{id} failed: {}", untrusted::line(&failure, 2000)))?;
                }
            }
        }
        Ok(exit)
    }
}
