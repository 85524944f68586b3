//! The answer of an upstream while it passes: part by part, and read on the way.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use http::{HeaderValue, StatusCode, header};
use hyper::body::Frame;
use scenario::dialect::{Answer, StreamReader};
use scenario::evidence::Dialect;

use super::forwarding::{Arrived, Forwarding};
use super::limits::{ANSWER_BYTES, READ};
use super::provider::Call;
use super::proxy::chain;
use super::scrub::Scrubber;
use super::server::Broken;
use super::ticket::{Outcome, Ticket};
use crate::body::IncomingBody;
use crate::memory_budget::Room;

/// The problem of an answer that the agent did not wait for.
const HUNG_UP: &str = "the agent hung up before the answer ended";

/// Facts about an answer whose head has come.
pub(super) struct Head {
    /// Source of the answer, and the call that it answers.
    pub(super) forwarding: Arc<Forwarding>,
    pub(super) call: Call,
    pub(super) dialect: Dialect,
    pub(super) status: StatusCode,
    /// True for a stream of events.
    pub(super) stream: bool,
    /// Time at which the upstream allows another try.
    pub(super) retry_after: Option<String>,
    /// True when an answer counts as a call.
    pub(super) billed: bool,
    pub(super) billed_model: String,
}

impl Head {
    /// Reads the head of an answer.
    pub(super) fn take(&mut self, arrived: &Arrived) {
        let text = |name| arrived.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        self.status = arrived.response.status();
        self.stream = text(header::CONTENT_TYPE).is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"));
        self.retry_after = text(header::RETRY_AFTER).map(ToOwned::to_owned);
    }
}

/// An answer while it passes. When it is dropped before its end, the agent hung up.
pub(super) struct Passing {
    source: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>,
    head: Head,
    scrubber: Scrubber,
    /// The part of the answer that is kept.
    kept: Option<IncomingBody>,
    reader: Option<Reader>,
    ticket: Ticket,
    /// True when nothing more follows.
    ended: bool,
}

enum Reader {
    Events(Box<StreamReader>),
    Whole(IncomingBody),
}

impl Passing {
    pub(super) fn new(
        arrived: Arrived,
        head: Head,
        scrubber: Scrubber,
        kept_bytes: usize,
        room: &Room,
        ticket: Ticket,
    ) -> Self {
        let read = stream::iter(arrived.read).map(Ok);
        let broken = stream::iter(arrived.broken).map(Err);
        let reader = match head.stream {
            true => Reader::Events(Box::new(StreamReader::new(head.dialect, READ))),
            false => Reader::Whole(IncomingBody::new(ANSWER_BYTES, room)),
        };
        Self {
            source: Box::pin(read.chain(broken).chain(arrived.response.bytes_stream())),
            head,
            scrubber,
            kept: Some(IncomingBody::new(kept_bytes, room)),
            reader: Some(reader),
            ticket,
            ended: false,
        }
    }

    /// The answer as the body of ours.
    pub(super) fn into_frames(self) -> impl Stream<Item = Result<Frame<Bytes>, Broken>> + Send {
        stream::unfold(Some(self), |passing| async {
            let mut passing = passing?;
            match passing.next().await? {
                Ok(part) => Some((Ok(Frame::data(part)), Some(passing))),
                Err(broken) => Some((Err(broken), None)),
            }
        })
    }

    /// The next part. The end of the answer is written down before its last part passes, as far as one can know.
    async fn next(&mut self) -> Option<Result<Bytes, Broken>> {
        while !self.ended {
            let part = match self.source.next().await {
                Some(Ok(part)) => self.scrubber.push(&part),
                Some(Err(error)) => {
                    self.conclude(Some(format!("the upstream's answer broke off: {}", chain(&error.without_url()))));
                    return Some(Err(Broken));
                }
                None => {
                    self.ended = true;
                    self.scrubber.finish()
                }
            };
            self.observe(&part);
            if self.ended || matches!(&self.reader, Some(Reader::Events(reader)) if reader.has_ended()) {
                self.conclude(None);
            }
            if !part.is_empty() {
                return Some(Ok(part.into()));
            }
        }
        None
    }

    fn observe(&mut self, part: &[u8]) {
        if let Some(kept) = &mut self.kept {
            // Where there is no room, the record says so, and the answer passes all the same.
            let _ = kept.push(part);
        }
        match &mut self.reader {
            Some(Reader::Events(reader)) => reader.push(part),
            Some(Reader::Whole(whole)) => {
                let _ = whole.push(part);
            }
            None => {}
        }
    }

    /// Writes the call's end down, once.
    fn conclude(&mut self, problem: Option<String>) {
        let (Some(kept), Some(reader)) = (self.kept.take(), self.reader.take()) else { return };
        let answer = match reader {
            Reader::Events(reader) => Some(reader.finish()),
            Reader::Whole(whole) if whole.is_whole() => Answer::read_whole(self.head.dialect, whole.kept(), READ),
            Reader::Whole(_) => None,
        };
        let success = self.head.status.is_success();
        let hung_up = problem.as_deref() == Some(HUNG_UP);
        let problem = problem.or_else(|| self.problem(answer.as_ref()));
        if let Some(problem) = problem.as_deref().filter(|_| success && self.head.stream && !hung_up) {
            self.head.forwarding.broke_off(&self.head.call, problem);
        }
        self.ticket.finish(Outcome {
            status: self.head.status.as_u16(),
            stream: self.head.stream,
            response: kept.into_evidence(),
            answer,
            from_upstream: true,
            billed: success && self.head.billed,
            billed_model: self.head.billed_model.clone(),
            problem,
            ..Outcome::default()
        });
    }

    /// Describes the problem of an answer that came to its end.
    fn problem(&self, answer: Option<&Answer>) -> Option<String> {
        if !self.head.status.is_success() {
            let later = self.head.retry_after.as_ref().map(|later| format!(", to be tried again after {later}"));
            return Some(format!("the upstream answered {}{}", self.head.status.as_u16(), later.unwrap_or_default()));
        }
        match answer {
            None => Some("the upstream's answer could not be read: it is no JSON object, or too large".to_owned()),
            Some(Answer { error: Some(error), .. }) => Some(format!("the upstream's stream holds an error: {error}")),
            Some(answer) if !answer.ended => Some("the upstream's stream ended before its last event".to_owned()),
            Some(_) => None,
        }
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        self.conclude(Some(HUNG_UP.to_owned()));
    }
}
