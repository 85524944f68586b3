//! Lists in parts: how many at once, and after which.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use store::{Listed, Page};
use utoipa::{IntoParams, ToSchema};

/// The default page size.
const USUAL: u64 = 50;
/// The largest page size.
const MOST: u64 = 1000;
/// Where a list that is a bare array says how it goes on.
const NEXT_CURSOR: HeaderName = HeaderName::from_static("x-next-cursor");

/// Which part of a list.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// The page size, up to 1000.
    #[param(minimum = 1, maximum = 1000)]
    pub(crate) limit: Option<u64>,
    /// The `next_cursor` of the previous page.
    pub(crate) cursor: Option<String>,
}

impl PageQuery {
    /// Returns the page size.
    pub(crate) fn most(&self) -> u64 {
        self.limit.unwrap_or(USUAL).clamp(1, MOST)
    }

    /// The part of the store's list that it means.
    pub(crate) fn page(&self) -> Page<'_> {
        Page { after: self.after(), most: self.most() }
    }

    /// The same for a bare array, which clients expect to be all there is.
    pub(crate) fn whole_list(&self) -> Page<'_> {
        Page { after: self.after(), most: self.limit.unwrap_or(MOST).clamp(1, MOST) }
    }

    /// After which; an empty cursor is none.
    pub(crate) fn after(&self) -> Option<&str> {
        self.cursor.as_deref().filter(|cursor| !cursor.is_empty())
    }
}

/// A part of a list, as a bare array. When there is more, the header `X-Next-Cursor` has the cursor of the next part.
#[derive(Debug)]
pub(crate) struct Listing<T> {
    /// The things.
    pub(crate) items: Vec<T>,
    /// The cursor of the next part.
    pub(crate) next: Option<String>,
}

impl<T: Serialize> IntoResponse for Listing<T> {
    fn into_response(self) -> Response {
        let mut response = Json(self.items).into_response();
        if let Some(next) = self.next.and_then(|next| HeaderValue::from_str(&next).ok()) {
            response.headers_mut().insert(NEXT_CURSOR, next);
        }
        response
    }
}

/// A part of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Envelope<T> {
    /// The things.
    pub(crate) items: Vec<T>,
    /// The cursor of the next part; empty when this is the last.
    pub(crate) next_cursor: String,
    /// The number of items on this page.
    pub(crate) count: usize,
}

impl<T> Envelope<T> {
    /// A part of the store's list, with each thing as it is shown.
    pub(crate) fn of<S>(listed: Listed<S>, show: impl FnMut(S) -> T) -> Self {
        let items: Vec<T> = listed.items.into_iter().map(show).collect();
        Self { next_cursor: listed.next.unwrap_or_default(), count: items.len(), items }
    }
}
