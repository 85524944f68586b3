//! Keys of the API: how they are made, and the first one.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use server::auth::{KEY_PREFIX, hash};
use store::{Clock as _, Ids as _, NewKey, Scope, Store};
use worker::RandomIds;

use crate::clock::SystemClock;
use crate::output::CommandError;

/// Number of random bytes.
const BYTES: usize = 32;
/// Owner of the first key.
const FIRST_OWNER: &str = "admin";
/// The setting that says which key was the first.
const FIRST: &str = "first_key";

/// A key that was made.
#[derive(Debug)]
pub(crate) struct Made {
    /// Its id.
    pub(crate) id: String,
    /// The key itself, which is kept nowhere.
    pub(crate) text: String,
}

/// Creates a key.
pub(crate) async fn make(store: &Store, scope: Scope, owner: &str, name: &str) -> Result<Made, CommandError> {
    keep(store, format!("key_{}", RandomIds.hex(12)), scope, owner, name).await
}

/// The first key of a database, which allows everything; `None` when there is one already.
pub(crate) async fn first(store: &Store) -> Result<Option<Made>, CommandError> {
    let id = format!("key_{}", RandomIds.hex(12));
    // Of several servers that start together, one makes it.
    if store.count_keys().await? > 0 || store.set_setting_once(FIRST, &id).await? != id {
        return Ok(None);
    }
    keep(store, id, Scope::Admin, FIRST_OWNER, "made at the first start").await.map(Some)
}

async fn keep(store: &Store, id: String, scope: Scope, owner: &str, name: &str) -> Result<Made, CommandError> {
    let mut bytes = [0; BYTES];
    RandomIds.random(&mut bytes);
    let text = format!("{KEY_PREFIX}{}", BASE64_URL_SAFE_NO_PAD.encode(bytes));
    let key = NewKey {
        id: id.clone(),
        owner: owner.to_owned(),
        name: name.to_owned(),
        scope,
        hash: hash(&text),
        sandbox: None,
    };
    store.create_key(&key, SystemClock.now()).await?;
    Ok(Made { id, text })
}

/// A text that cannot be the name of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an owner has 1 to 64 letters, digits, `.`, `_` and `-`")]
pub(crate) struct OwnerError;

/// Reads the name of an owner.
pub(crate) fn owner(text: &str) -> Result<String, OwnerError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if (1..=64).contains(&text.len()) && text.bytes().all(is_plain) {
        return Ok(text.to_owned());
    }
    Err(OwnerError)
}
