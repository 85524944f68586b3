//! Sends answers: whole ones, those of an upstream while they come, and refusals.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, StreamBody};
use scenario::spec::sections::LlmMode;

use super::answering::Whole;
use super::fault;
use super::forwarding::Arrived;
use super::gateway::Gateway;
use super::passing::{Head, Passing};
use super::refusal::{Refusal, Shape};
use super::request::no_room;
use super::server::AnswerBody;
use super::slow_body::slowed;
use super::ticket::Ticket;
use crate::body::IncomingBody;
use crate::faults::Decision;

/// The type of a stream of events.
const EVENTS: &str = "text/event-stream; charset=utf-8";
/// The type of every other answer.
const JSON: &str = "application/json";

impl Gateway {
    /// Sends a whole answer.
    pub(super) fn send(&self, answer: Whole, shape: Shape, mut ticket: Ticket) -> Response<AnswerBody> {
        let Whole { body, mut outcome, cut, headers } = answer;
        let mut share = self.room.share();
        if !share.grow(body.len()) {
            return self.refused(&no_room(), shape, Some(ticket));
        }
        let (status, stream) = (outcome.status, outcome.stream);
        let mut kept = IncomingBody::new(self.bounds.kept_body_bytes, &self.room);
        let _ = kept.push(&body);
        outcome.response = kept.into_evidence();
        ticket.finish(outcome);
        let body = share.hold(body);
        let mut response = match cut {
            Some(cut) => Response::new(fault::broken_body(body, cut.wait)),
            None => whole(body),
        };
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        match headers {
            Some(headers) => *response.headers_mut() = headers,
            None => self.head(&mut response, if stream { EVENTS } else { JSON }),
        }
        response
    }

    /// Passes the answer of an upstream on.
    pub(super) fn pass(&self, upstream: Arrived, head: Head, ticket: Ticket) -> Response<AnswerBody> {
        let scrubber = head.forwarding.proxy.scrubber();
        let (status, headers) = (head.status, head.forwarding.proxy.answer_headers(upstream.headers()));
        let passing = Passing::new(upstream, head, scrubber, self.bounds.kept_body_bytes, &self.room, ticket);
        let mut response = Response::new(StreamBody::new(passing.into_frames()).boxed_unsync());
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
    }

    /// Sends a refusal.
    pub(super) fn refused(&self, refusal: &Refusal, shape: Shape, ticket: Option<Ticket>) -> Response<AnswerBody> {
        let body = refusal.body(shape);
        if let Some(mut ticket) = ticket {
            ticket.refuse(refusal, &body);
        }
        let mut response = whole(body);
        *response.status_mut() = refusal.status;
        self.head(&mut response, JSON);
        if refusal.is_final {
            response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
        }
        response
    }

    /// Slows an answer down, where faults say so.
    pub(super) fn slowed(&self, response: Response<AnswerBody>, decision: &Decision<LlmMode>) -> Response<AnswerBody> {
        match &self.faults {
            Some(faults) if !decision.pauses.is_none() => slowed(response, decision.pauses, faults),
            _ => response,
        }
    }

    fn head(&self, response: &mut Response<AnswerBody>, content_type: &'static str) {
        *response.headers_mut() = self.headers_of(content_type);
    }

    /// The headers of an answer of ours.
    pub(super) fn headers(&self, stream: bool) -> HeaderMap {
        self.headers_of(if stream { EVENTS } else { JSON })
    }

    fn headers_of(&self, content_type: &'static str) -> HeaderMap {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        if let Ok(id) = HeaderValue::from_str(&format!("req_{number}")) {
            headers.insert("x-request-id", id.clone());
            headers.insert("request-id", id);
        }
        headers
    }
}

fn whole(body: Bytes) -> Response<AnswerBody> {
    Response::new(Full::new(body).map_err(|never| match never {}).boxed_unsync())
}
