//! What belongs to an answer while it is sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Instant, sleep, sleep_until};

use crate::gateways::room::Share;

/// Whether a connection has a request under way, and since when it has none.
#[derive(Debug)]
pub(super) struct Activity {
    under_way: AtomicUsize,
    idle_since: Mutex<Instant>,
}

/// A request that is under way, until its answer was handed on.
#[derive(Debug)]
pub(super) struct UnderWay(Arc<Activity>);

impl Activity {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { under_way: AtomicUsize::new(0), idle_since: Mutex::new(Instant::now()) })
    }

    /// Notes that a request came.
    pub(super) fn begin(self: &Arc<Self>) -> UnderWay {
        self.under_way.fetch_add(1, Ordering::AcqRel);
        UnderWay(Arc::clone(self))
    }

    /// Ends when no request was under way for so long.
    pub(super) async fn idle_for(&self, wait: Duration) {
        loop {
            if self.under_way.load(Ordering::Acquire) > 0 {
                sleep(wait).await;
                continue;
            }
            let until = *self.idle_since.lock().unwrap_or_else(PoisonError::into_inner) + wait;
            if until <= Instant::now() {
                return;
            }
            sleep_until(until).await;
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        *self.0.idle_since.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The body of an answer, with what is given back once it was handed on.
#[derive(Debug)]
pub(super) struct AnswerBody {
    body: Full<Bytes>,
    _under_way: UnderWay,
    _share: Share,
}

impl AnswerBody {
    pub(super) fn new(body: Bytes, under_way: UnderWay, share: Share) -> Self {
        Self { body: Full::new(body), _under_way: under_way, _share: share }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
