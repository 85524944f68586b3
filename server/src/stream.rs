//! Answers that are made while they are sent.

use std::convert::Infallible;
use std::future::Future;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::{Stream, StreamExt as _, stream};
use http::HeaderValue;
use tokio::sync::mpsc;

use crate::error::ApiError;

/// The number of pieces that are prepared before they are taken.
const AHEAD: usize = 2;

/// The interval of heartbeats on an idle stream, so that no proxy closes it.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// An answer of server-sent events, as long as there are any.
pub(crate) fn news(events: impl Stream<Item = Event> + Send + 'static) -> Response {
    let events = events.map(Ok::<_, Infallible>);
    let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT)).into_response();
    // A proxy that collects before it passes on would keep the news for itself.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Where the pieces of an answer go.
#[derive(Debug)]
pub(crate) struct Pieces(mpsc::Sender<Result<Bytes, Broken>>);

/// An answer that could not be made to its end.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Broken(String);

impl Pieces {
    /// Sends a piece, as soon as there is room for it.
    pub(crate) async fn send(&self, piece: impl Into<Bytes>) -> Result<(), ApiError> {
        self.0.send(Ok(piece.into())).await.map_err(|_| ApiError::internal("nobody reads the answer any more"))
    }
}

/// A body that is made while it is sent: `make` goes on as long as somebody reads. When it fails, the answer breaks
/// off, which every client notices.
pub(crate) fn body<F, M>(make: M) -> Body
where
    F: Future<Output = Result<(), ApiError>> + Send + 'static,
    M: FnOnce(Pieces) -> F,
{
    let (sender, mut receiver) = mpsc::channel(AHEAD);
    let failure = sender.clone();
    let making = make(Pieces(sender));
    let made = stream::once(async move {
        if let Err(error) = making.await {
            let _ = failure.send(Err(Broken(error.message().to_owned()))).await;
        }
    })
    .filter_map(|()| async { None });
    let pieces = stream::poll_fn(move |context| receiver.poll_recv(context));
    Body::from_stream(stream::select(pieces, made))
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::body;
    use crate::error::ApiError;

    #[tokio::test]
    async fn pieces_arrive_in_order_and_end() {
        let body = body(|pieces| async move {
            for number in 0..10 {
                pieces.send(format!("{number} ")).await?;
            }
            Ok(())
        });
        assert_eq!(body.collect().await.expect("a body").to_bytes(), "0 1 2 3 4 5 6 7 8 9 ");
    }

    #[tokio::test]
    async fn a_failure_breaks_the_answer_off() {
        let body = body(|pieces| async move {
            pieces.send("begun").await?;
            Err(ApiError::internal("the disk is gone"))
        });
        assert!(body.collect().await.expect_err("broken").to_string().contains("the disk is gone"));
    }
}
