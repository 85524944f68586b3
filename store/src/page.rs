//! Lists that are read in parts.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::StoreError;
use crate::{json, number};

/// Which part of a list is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page<'a> {
    /// After which row: the [`Listed::next`] of the part before it; `None` for the first part.
    pub after: Option<&'a str>,
    /// The most rows to return.
    pub most: u64,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<T> {
    /// The rows.
    pub items: Vec<T>,
    /// The cursor of the next page, in characters that need no escaping in a URL; `None` when this is the last.
    pub next: Option<String>,
}

impl Page<'_> {
    /// All rows, in one part.
    pub const ALL: Page<'static> = Page { after: None, most: u64::MAX };

    /// The key of the row before the first one.
    pub(crate) fn key<K: DeserializeOwned>(&self) -> Result<Option<K>, StoreError> {
        let Some(after) = self.after else { return Ok(None) };
        let read = || -> Option<K> {
            let bytes = URL_SAFE_NO_PAD.decode(after).ok()?;
            serde_json::from_slice(&bytes).ok()
        };
        read().map(Some).ok_or_else(|| StoreError::Invalid(format!("`{after}` is no cursor of this list")))
    }

    /// The number of rows to read: one more than wanted, which shows if there are more.
    pub(crate) fn limit(&self) -> u64 {
        number::limit(self.most.saturating_add(1))
    }

    /// The part, from rows that were read with [`Page::limit`]; the key of a row is what the next part comes after.
    pub(crate) fn listed<T, K: Serialize>(
        &self,
        mut items: Vec<T>,
        key: impl Fn(&T) -> K,
    ) -> Result<Listed<T>, StoreError> {
        let most = usize::try_from(self.most).unwrap_or(usize::MAX);
        let more = items.len() > most;
        items.truncate(most);
        let next = match items.last() {
            Some(last) if more => Some(URL_SAFE_NO_PAD.encode(json::text(&key(last))?)),
            _ => None,
        };
        Ok(Listed { items, next })
    }
}
