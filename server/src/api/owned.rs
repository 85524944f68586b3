//! Things of the API that belong to those who made them: alerts, score rules, datasets. How they are listed, found and removed is
//! the same; the handlers of each kind say what they are called and how they are shown.

use http::StatusCode;
use scenario::untrusted;
use serde::Serialize;
use store::{Listed, Page, Store, StoreError};

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::page::{Listing, PageQuery};

/// A kind of thing that belongs to those who made it.
pub(super) trait Owned: Sized {
    /// The response body of one.
    type Body: Serialize;

    /// The noun for one in messages.
    const NOUN: &'static str;

    /// The one with this id.
    fn find(store: &Store, id: &str) -> impl Future<Output = Result<Option<Self>, StoreError>> + Send;

    /// All, newest first; of one owner only, if one is named.
    fn list(
        store: &Store,
        owner: Option<&str>,
        page: Page<'_>,
    ) -> impl Future<Output = Result<Listed<Self>, StoreError>> + Send;

    /// Removes the one with this id.
    fn remove(store: &Store, id: &str) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// Whose it is.
    fn owner(&self) -> &str;

    /// Shows it.
    fn shown(self) -> Self::Body;
}

/// The one with this id, if the caller may see it.
pub(super) async fn owned<T: Owned>(app: &App, caller: &Caller, id: &str) -> Result<T, ApiError> {
    let missing = || ApiError::not_found(format!("there is no {} `{}`", T::NOUN, untrusted::line(id, 100)));
    let found = T::find(&app.store, id).await?.ok_or_else(missing)?;
    caller.owns(found.owner(), &format!("this {}", T::NOUN))?;
    Ok(found)
}

/// All that the caller may see.
pub(super) async fn list<T: Owned>(app: &App, caller: &Caller, page: &PageQuery) -> Result<Listing<T::Body>, ApiError> {
    let listed = T::list(&app.store, caller.sees(), page.whole_list()).await?;
    Ok(Listing { items: listed.items.into_iter().map(T::shown).collect(), next: listed.next })
}

/// Removes the one with this id, if it is the caller's.
pub(super) async fn remove<T: Owned>(app: &App, caller: &Caller, id: &str) -> Result<StatusCode, ApiError> {
    owned::<T>(app, caller, id).await?;
    T::remove(&app.store, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
