//! `touchstone approvals show`.

use clap::Args;
use tokio::runtime::Runtime;

use super::ApprovalFormat;
use super::place::PlaceOptions;
use super::words::lines;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Show a call that waits for a person, or did.
#[derive(Debug, Args)]
pub(super) struct Show {
    /// The approval's id, as `touchstone approvals list` shows it.
    id: String,
    /// The format.
    #[arg(long, value_enum, default_value_t = ApprovalFormat::Text)]
    format: ApprovalFormat,
    #[command(flatten)]
    place: PlaceOptions,
}

impl Show {
    pub(super) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let shown = Runtime::new()?.block_on(async { self.place.open().await?.find(&self.id).await })?;
        match self.format {
            ApprovalFormat::Json => output.json(&shown)?,
            ApprovalFormat::Text => {
                for line in lines(&shown) {
                    output.line(line)?;
                }
            }
        }
        Ok(Exit::Passed)
    }
}
