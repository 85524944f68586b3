//! A whole list as one array, read in parts while it is sent: clients that know nothing of parts get everything, and
//! the server never has all of it in memory.

use std::future::Future;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use http::header::CONTENT_TYPE;
use serde::Serialize;
use store::{Listed, StoreError};

use crate::error::ApiError;

/// The number of rows read at once.
pub(crate) const AT_ONCE: u64 = 500;

/// Where the list is after a part of it was sent.
struct Place<T> {
    /// The next page to send; `None` at the end of the list.
    part: Option<Listed<T>>,
    /// The character before the next item.
    before: char,
}

/// Answers with the whole list. `part` reads the part after a cursor. The first part is read before the answer begins,
/// so that a failure has its status; when a later one fails, the answer breaks off.
pub(crate) async fn array<T, S, R, F>(part: R, show: fn(T) -> S) -> Result<Response, ApiError>
where
    T: Send + 'static,
    S: Serialize + 'static,
    R: Fn(Option<String>) -> F + Send + 'static,
    F: Future<Output = Result<Listed<T>, StoreError>> + Send,
{
    let first = Place { part: Some(part(None).await?), before: '[' };
    let parts = stream::try_unfold((first, part), move |(place, part)| async move {
        let Place { part: Some(Listed { items, next }), mut before } = place else { return Ok::<_, StoreError>(None) };
        let mut text = String::new();
        for item in items {
            text.push(before);
            text.push_str(&serde_json::to_string(&show(item)).map_err(|error| StoreError::Damaged(error.to_string()))?);
            before = ',';
        }
        let next = match next {
            Some(next) => Some(part(Some(next)).await?),
            None => {
                text.push_str(if before == '[' { "[]" } else { "]" });
                None
            }
        };
        Ok(Some((Bytes::from(text), (Place { part: next, before }, part))))
    });
    Ok(([(CONTENT_TYPE, "application/json")], Body::from_stream(parts)).into_response())
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use store::Listed;

    use super::array;

    async fn check(parts: &'static [&'static [u32]], expected: &str) {
        let part = move |after: Option<String>| async move {
            let number: usize = after.map_or(0, |after| after.parse().unwrap());
            let next = (number + 1 < parts.len()).then(|| (number + 1).to_string());
            Ok(Listed { items: parts[number].to_vec(), next })
        };
        let response = array(part, |number: u32| number).await.unwrap();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, expected);
    }

    #[tokio::test]
    async fn parts_become_one_array() {
        check(&[&[]], "[]").await;
        check(&[&[1]], "[1]").await;
        check(&[&[1, 2], &[3]], "[1,2,3]").await;
        check(&[&[], &[3], &[], &[4, 5]], "[3,4,5]").await;
        check(&[&[], &[]], "[]").await;
        check(&[&[1], &[]], "[1]").await;
    }
}
