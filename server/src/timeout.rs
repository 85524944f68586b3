//! No call takes longer than clients wait for one.

use axum::body::HttpBody as _;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::time::timeout;

use crate::app::App;
use crate::error::ApiError;

/// Larger bodies are uploads, which take as long as the line needs: those who read them have limits of their own.
const SMALL: u64 = 1 << 20;

/// Gives up what takes too long. Streams are not affected: their answer begins at once.
pub(crate) async fn in_time(State(app): State<App>, request: Request, next: Next) -> Response {
    let small = request.body().size_hint().upper().is_some_and(|bytes| bytes <= SMALL);
    if !small {
        return next.run(request).await;
    }
    let limit = app.config.answer_within;
    match timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => ApiError::late(limit).into_response(),
    }
}
