//! `touchstone key create`: a new key, shown once.

use clap::{Args, ValueEnum};
use serde_json::json;
use store::Scope;
use tokio::runtime::Runtime;

use super::KeyFormat;
use crate::data_dir::StoreOption;
use crate::exit_code::Exit;
use crate::keys::{self, owner};
use crate::output::{CommandError, Output};

/// Make a key, and show it once.
///
/// The key alone goes to standard output, so that a script can take it. Only a key with `--scope admin` sees what was run on
/// this machine without the server, by `touchstone run`.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// What the key allows.
    #[arg(long, value_enum, default_value_t = Allowed::Submit)]
    scope: Allowed,
    /// Whose key it is: 1 to 64 letters, digits, `.`, `_` and `-`. Keys of one owner see the same things.
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = owner)]
    owner: String,
    /// What to call it, such as where it is used.
    #[arg(long, value_name = "TEXT", default_value = "")]
    name: String,
    /// How to show it.
    #[arg(long, value_enum, default_value_t = KeyFormat::Text)]
    format: KeyFormat,
    #[command(flatten)]
    store: StoreOption,
}

/// What a key allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Allowed {
    /// Everything, of all owners.
    Admin,
    /// To submit, and to see and change what its owner has.
    Submit,
    /// To see what its owner has.
    Read,
}

impl Create {
    pub(super) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        Runtime::new()?.block_on(self.create(output))
    }

    async fn create(&self, output: &mut Output) -> Result<Exit, CommandError> {
        let scope = match self.scope {
            Allowed::Admin => Scope::Admin,
            Allowed::Submit => Scope::Submit,
            Allowed::Read => Scope::Read,
        };
        let store = self.store.open_shared().await?.store;
        let made = keys::make(&store, scope, &self.owner, &self.name).await?;
        match self.format {
            KeyFormat::Text => {
                output.line(&made.text)?;
                let (id, owner, scope) = (&made.id, &self.owner, scope.word());
                output.note(format!("{id} of `{owner}` ({scope}) is above, and will not be shown again"));
                if self.scope != Allowed::Admin {
                    output.note(format!(
                        "it sees what `{owner}` has on the server, and not what `touchstone run` does on this machine; `--scope admin` sees everything"
                    ));
                }
            }
            KeyFormat::Json => output.json(&json!({
                "id": made.id,
                "key": made.text,
                "owner": self.owner,
                "name": self.name,
                "scope": scope.word(),
            }))?,
        }
        store.close().await;
        Ok(Exit::Passed)
    }
}
