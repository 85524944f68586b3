//! `touchstone approvals list`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
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
    #[arg(long, value_parser = status_choice(), default_value = ApprovalStatus::Pending.word())]
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

/// A status, or all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StatusChoice(Option<ApprovalStatus>);

/// The word for all statuses.
const ALL: &str = "all";

/// Reads a choice, and lists the words that are possible.
fn status_choice() -> impl TypedValueParser<Value = StatusChoice> {
    let words = ApprovalStatus::ALL.into_iter().map(ApprovalStatus::word).chain([ALL]);
    PossibleValuesParser::new(words).map(|word| StatusChoice(word.parse().ok()))
}

impl List {
    pub(super) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let found = Runtime::new()?.block_on(async {
            let place = self.place.open().await?;
            place.list(self.status.0, self.limit).await
        })?;
        match self.format {
            ApprovalFormat::Json => output.json(&found.into())?,
            ApprovalFormat::Text if found.is_empty() && self.status.0 == Some(ApprovalStatus::Pending) => {
                output.line("no call waits for a person")?;
            }
            ApprovalFormat::Text if found.is_empty() => output.line("no such approvals")?,
            ApprovalFormat::Text => output.line(listing(&found).to_string())?,
        }
        Ok(Exit::Passed)
    }
}
