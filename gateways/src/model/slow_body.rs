//! The body of an answer that a fault slows down: its head comes at once, and its parts after pauses.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::stream;
use http::{HeaderValue, Response, header};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Body as _, Frame};

use super::event_ends::event_ends;
use super::server::{AnswerBody, Broken};
use crate::faults::{FaultEngine, Pauses};

/// A body whose parts come after pauses. The parts of a stream are its events; every other body has one.
struct SlowBody {
    /// The rest of the body; `None` after its end.
    source: Option<AnswerBody>,
    is_stream: bool,
    pauses: Pauses,
    faults: Arc<FaultEngine>,
    /// Bytes of a stream that have come and have not passed.
    waiting: BytesMut,
    has_begun: bool,
    is_broken: bool,
}

/// The same answer with pauses in its body.
pub(super) fn slowed(
    response: Response<AnswerBody>,
    pauses: Pauses,
    faults: &Arc<FaultEngine>,
) -> Response<AnswerBody> {
    let (mut head, source) = response.into_parts();
    let kind = head.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_stream = kind.is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"));
    if let Some(length) = source.size_hint().exact().filter(|_| !is_stream) {
        head.headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    let slow = SlowBody {
        source: Some(source),
        is_stream,
        pauses,
        faults: Arc::clone(faults),
        waiting: BytesMut::new(),
        has_begun: false,
        is_broken: false,
    };
    let frames = stream::unfold(slow, |mut slow| async move {
        let part = slow.next().await?;
        Some((part.map(Frame::data), slow))
    });
    Response::from_parts(head, StreamBody::new(frames).boxed_unsync())
}

impl SlowBody {
    async fn next(&mut self) -> Option<Result<Bytes, Broken>> {
        loop {
            if let Some(part) = self.part() {
                self.pause().await;
                return Some(Ok(part));
            }
            let Some(source) = &mut self.source else {
                // An error ends the connection at once, so what was handed on before is sent first.
                tokio::task::yield_now().await;
                return std::mem::take(&mut self.is_broken).then_some(Err(Broken));
            };
            match source.frame().await {
                Some(Ok(frame)) => self.waiting.extend(frame.into_data().ok()),
                Some(Err(Broken)) => (self.source, self.is_broken) = (None, true),
                None => self.source = None,
            }
        }
    }

    /// The next part that may pass: an event of a stream, or whatever has come.
    fn part(&mut self) -> Option<Bytes> {
        let end = match self.source {
            Some(_) if self.is_stream => event_ends(&self.waiting).next(),
            // An event that breaks off passes as far as it came.
            None if self.is_stream => event_ends(&self.waiting).next().or(Some(self.waiting.len())),
            _ => Some(self.waiting.len()),
        };
        end.filter(|end| *end > 0).map(|end| self.waiting.split_to(end).freeze())
    }

    async fn pause(&mut self) {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let Pauses { first, each } = self.pauses;
        match (is_first, self.is_stream) {
            (true, _) => self.faults.pause(first.saturating_add(each)).await,
            (false, true) => self.faults.pause(each).await,
            (false, false) => {}
        }
    }
}
