//! `touchstone key list`: the keys that there are.

use clap::Args;
use comfy_table::Table;
use jiff::Timestamp;
use scenario::untrusted;
use serde_json::{Value as Json, json};
use store::{ApiKey, Clock as _, Scope};
use tokio::runtime::Runtime;

use super::KeyFormat;
use crate::clock::SystemClock;
use crate::data_dir::StoreOption;
use crate::exit_code::Exit;
use crate::output::{CommandError, Output};
use crate::table::table;
use crate::times::{age, second};

/// Maximum length of a key's name that is shown.
const SHOWN: usize = 60;

/// List the keys, those that were revoked too; the keys themselves are not kept.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only keys of this owner.
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// How to show them.
    #[arg(long, value_enum, default_value_t = KeyFormat::Text)]
    format: KeyFormat,
    #[command(flatten)]
    store: StoreOption,
}

impl List {
    pub(super) fn run(self, output: &mut Output) -> Result<Exit, CommandError> {
        let keys = Runtime::new()?.block_on(self.keys())?;
        match self.format {
            KeyFormat::Json => output.json(&keys.iter().map(object).collect())?,
            KeyFormat::Text if keys.is_empty() => output.line("no keys; `touchstone key create` makes one")?,
            KeyFormat::Text => output.line(listing(&keys, SystemClock.now()).to_string())?,
        }
        Ok(Exit::Passed)
    }

    async fn keys(&self) -> Result<Vec<ApiKey>, CommandError> {
        let store = self.store.open_shared().await?.store;
        let mut keys = store.keys(self.owner.as_deref()).await?;
        // Tokens of sandboxes come and go with them.
        keys.retain(|key| key.scope != Scope::Sandbox);
        store.close().await;
        Ok(keys)
    }
}

fn listing(keys: &[ApiKey], now: Timestamp) -> Table {
    let mut table = table(["id", "owner", "scope", "name", "made", "used", "state"]);
    for key in keys {
        table.add_row([
            key.id.clone(),
            key.owner.clone(),
            key.scope.word().to_owned(),
            untrusted::line(&key.name, SHOWN),
            age(key.created_at, now),
            key.last_used_at.map_or_else(|| "never".to_owned(), |used| age(used, now)),
            if key.revoked_at.is_some() { "revoked" } else { "valid" }.to_owned(),
        ]);
    }
    table
}

fn object(key: &ApiKey) -> Json {
    json!({
        "id": key.id,
        "owner": key.owner,
        "scope": key.scope.word(),
        "name": key.name,
        "created_at": second(key.created_at),
        "last_used_at": key.last_used_at.map(second),
        "revoked_at": key.revoked_at.map(second),
    })
}
