//! `touchstone approvals list`.

use clap::{Args, ValueEnum};
use store::ApprovalStatus;
use tokio::runtime::Runtime;

use super::ApprovalFormat;
use super::place::PlaceOptions;
use super::words::listing;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::whole_number::whole_number;

/// List the calls that wait for a person, newest first.
#[derive(Debug, Args)]
pub(super) struct List {
    /// Only those that stand so.
    #[arg(long, value_enum, default_value_t = StatusChoice::Pending)]
    status: StatusChoice,
    /// The most to show.
    #[arg(long, default_value_t = 50, value_parser = whole_number::<u32>)]
    limit: u32,
    /// The format.
    #[arg(long, value_enum, default_value_t = ApprovalFormat::Text)]
    format: ApprovalFormat,
    #[command(flatten)]
    place: PlaceOptions,
}

/// A choice of approvals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StatusChoice {
    /// Those that wait for a decision.
    Pending,
    /// Approved, and not yet gone on with.
    Approved,
    /// Denied.
    Denied,
    /// Those that nobody decided on in time.
    Expired,
    /// Those whose session ended before.
    Withdrawn,
    /// Approved, and gone on with.
    Used,
    /// All of them.
    All,
}

impl StatusChoice {
    fn status(self) -> Option<ApprovalStatus> {
        match self {
            Self::Pending => Some(ApprovalStatus::Pending),
            Self::Approved => Some(ApprovalStatus::Approved),
            Self::Denied => Some(ApprovalStatus::Denied),
            Self::Expired => Some(ApprovalStatus::Expired),
            Self::Withdrawn => Some(ApprovalStatus::Withdrawn),
            Self::Used => Some(ApprovalStatus::Used),
            Self::All => None,
        }
    }
}

impl List {
    pub(super) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let found = Runtime::new()?.block_on(async {
            let place = self.place.open().await?;
            place.list(self.status.status(), self.limit).await
        })?;
        match self.format {
            ApprovalFormat::Json => output.json(&found.into())?,
            ApprovalFormat::Text if found.is_empty() && self.status == StatusChoice::Pending => {
                output.line("no call waits for a person")?;
            }
            ApprovalFormat::Text if found.is_empty() => output.line("no such approvals")?,
            ApprovalFormat::Text => output.line(listing(&found).to_string())?,
        }
        Ok(Exit::Passed)
    }
}
