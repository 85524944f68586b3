//! `touchstone approvals approve` and `deny`.

use std::env;

use clap::Args;
use serde_json::Value as Json;
use store::DecisionKind;
use tokio::runtime::Runtime;

use super::ApprovalFormat;
use super::place::{PlaceOptions, Wanted};
use super::words::lines;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// A decision on a call.
#[derive(Debug, Args)]
pub(super) struct Decide {
    /// The approval's id, as `touchstone approvals list` shows it.
    id: String,
    /// The reason, for the records.
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
    /// The name of who decides; the user of this machine without it.
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// The format.
    #[arg(long, value_enum, default_value_t = ApprovalFormat::Text)]
    format: ApprovalFormat,
    #[command(flatten)]
    place: PlaceOptions,
}

impl Decide {
    pub(super) fn run(self, kind: DecisionKind, output: &mut Output) -> Result<Exit, CommandError> {
        Runtime::new()?.block_on(self.decide(kind, output))
    }

    /// Shows the call first: the decision is for the arguments that were shown.
    async fn decide(&self, kind: DecisionKind, output: &mut Output) -> Result<Exit, CommandError> {
        let place = self.place.open().await?;
        let shown = place.find(&self.id).await?;
        if self.format == ApprovalFormat::Text {
            for line in lines(&shown) {
                output.line(line)?;
            }
        }
        let by = self.by.clone().or_else(|| env::var("USER").ok()).unwrap_or_default();
        let decided = place.decide(&shown, &Wanted { kind, by: &by, note: &self.note }).await?;
        self.tell(&decided, output)?;
        Ok(Exit::Passed)
    }

    fn tell(&self, decided: &Json, output: &mut Output) -> Result<(), CommandError> {
        match self.format {
            ApprovalFormat::Json => output.json(decided),
            ApprovalFormat::Text => {
                let word = decided["status"].as_str().unwrap_or_default();
                // The call may have gone on already.
                output.line(format!("{} is {}", self.id, if word == "used" { "approved" } else { word }))
            }
        }
    }
}
