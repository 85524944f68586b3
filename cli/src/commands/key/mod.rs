//! `touchstone key`: manages the API keys of a server.

mod create;
mod list;
mod revoke;

use clap::{Args, Subcommand, ValueEnum};

use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Make, list and revoke the keys with which a server is used.
///
/// A key belongs to an owner, and sees what its owner has. What is kept is a hash: nobody can read a key from the database.
#[derive(Debug, Args)]
pub(crate) struct Key {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Create(create::Create),
    List(list::List),
    Revoke(revoke::Revoke),
}

/// How a key is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum KeyFormat {
    /// For people.
    Text,
    /// JSON.
    Json,
}

impl Key {
    pub(crate) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        match self.action {
            Action::Create(create) => create.run(output),
            Action::List(list) => list.run(output),
            Action::Revoke(revoke) => revoke.run(output),
        }
    }
}
