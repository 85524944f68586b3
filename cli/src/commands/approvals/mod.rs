//! `touchstone approvals`: calls that wait for a person, and the decisions.

mod decide;
mod kill;
mod list;
mod place;
mod show;
mod words;

use clap::{Args, Subcommand, ValueEnum};
use store::DecisionKind;

use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// See the calls that wait for a person, and decide on them.
///
/// Tool contracts can hold a call until somebody approves it. A decision is for one call with exactly the arguments that are
/// shown. With a URL, the calls of that server are meant.
#[derive(Debug, Args)]
pub(crate) struct Approvals {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(list::List),
    Show(show::Show),
    /// Let a call go on, once
    ///
    /// The call, its context and the rule are shown first.
    Approve(decide::Decide),
    /// Refuse a call
    ///
    /// The call, its context and the rule are shown first.
    Deny(decide::Decide),
    Kill(kill::Kill),
}

/// A format of approvals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ApprovalFormat {
    /// For people.
    Text,
    /// JSON, as the API has it.
    Json,
}

impl Approvals {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        match self.action {
            Action::List(list) => list.run(output),
            Action::Show(show) => show.run(output),
            Action::Approve(decide) => decide.run(DecisionKind::Approve, output),
            Action::Deny(decide) => decide.run(DecisionKind::Deny, output),
            Action::Kill(kill) => kill.run(output),
        }
    }
}
