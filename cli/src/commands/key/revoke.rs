//! `touchstone key revoke`: ends a key.

use clap::Args;
use store::Clock as _;
use tokio::runtime::Runtime;

use crate::clock::SystemClock;
use crate::data_dir::StoreOption;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};

/// Revoke a key: nothing can be done with it any more, from a few seconds on.
#[derive(Debug, Args)]
pub(crate) struct Revoke {
    /// The key's id, as `touchstone key list` shows it.
    id: String,
    #[command(flatten)]
    store: StoreOption,
}

impl Revoke {
    pub(super) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let revoked = Runtime::new()?.block_on(self.revoke())?;
        if !revoked {
            let message = format!("there is no valid key `{}`; `touchstone key list` shows all of them", self.id);
            return Err(CommandError::Usage(message));
        }
        output.line(format!("{} is revoked", self.id))?;
        Ok(Exit::Passed)
    }

    async fn revoke(&self) -> Result<bool, CommandError> {
        let store = self.store.open_shared().await?.store;
        let revoked = store.revoke_key(&self.id, SystemClock.now()).await?;
        store.close().await;
        Ok(revoked)
    }
}
