//! Requests on their way in.

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use scenario::evidence::Exchange;
use tokio::time::timeout;

use super::answer::Answer;
use super::governed::{self, Permit};
use super::limits::MockLimits;
use super::mock::{Mock, no_room};
use super::request;
use crate::body::IncomingBody;
use crate::memory_budget::{Room, Share};
use crate::redact::{Redactor, StreamRedactor};

/// A request whose head has come. It is recorded whatever happens next: when the client disconnects in the middle of
/// the body, the server drops this, and the part that came until then is recorded.
pub(super) struct Arrival {
    mock: Arc<Mock>,
    limits: MockLimits,
    /// The request; taken out when it is recorded.
    coming: Option<(Exchange, IncomingBody)>,
    /// Finds honeytokens in all of the body, also in the part that is not kept.
    watch: Option<StreamRedactor>,
}

/// Reason why a body did not come whole.
enum Broken {
    /// The client disconnected, or its body is not the announced one.
    Incomplete,
    /// The client paused for too long.
    Stalled(Duration),
    /// The body is larger than the limit.
    TooLarge(u64),
    /// The memory budget is used up.
    NoRoom,
}

impl Arrival {
    pub(super) fn new(mock: Arc<Mock>, parts: &Parts, limits: MockLimits, room: &Room) -> Self {
        let head = request::head(parts);
        let watch = mock.watch().map(|redactor| {
            look_at(&head, parts, &redactor);
            redactor.stream()
        });
        let coming = (head, IncomingBody::new(limits.kept_body_bytes, room));
        Self { mock, limits, coming: Some(coming), watch }
    }

    /// Reads the body and gives the answer, after both were written down.
    pub(super) async fn answer(mut self, method: &Method, body: Incoming, share: &mut Share) -> Answer {
        let outcome = match &mut self.coming {
            Some((_, incoming)) => read(body, incoming, self.watch.as_mut(), &self.limits).await,
            None => Err(Broken::Incomplete),
        };
        let permit = match (&mut self.coming, &outcome) {
            (Some((head, body)), Ok(())) => governed::permit(&self.mock, head, body).await,
            _ => Permit::NotNeeded,
        };
        if let Permit::Refused(answer) = permit {
            // A refused call never reached the service, so that it is in no journal of it.
            self.coming = None;
            return answer;
        }
        if let (Some((head, _)), Ok(())) = (&self.coming, &outcome) {
            self.mock.before(head).await;
        }
        let answer = self.answer_read(method, outcome, share);
        permit.complete(&answer);
        answer
    }

    fn answer_read(&mut self, method: &Method, outcome: Result<(), Broken>, share: &mut Share) -> Answer {
        match (self.coming.take(), outcome) {
            (Some((head, body)), Ok(())) if *method == Method::CONNECT => {
                self.mock.refuse(head, body, Answer::text(StatusCode::METHOD_NOT_ALLOWED, "a mock is no proxy\n"))
            }
            (Some((head, body)), Ok(())) => self.mock.take(head, body, share),
            (Some((head, body)), Err(broken)) => self.mock.refuse(head, body, broken.answer()),
            (None, _) => Broken::Incomplete.answer(),
        }
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        if let Some(mut watch) = self.watch.take() {
            watch.finish();
        }
        if let Some((head, body)) = self.coming.take() {
            self.mock.refuse(head, body, Broken::Incomplete.answer());
        }
    }
}

/// Searches the head of a request for honeytokens.
fn look_at(head: &Exchange, parts: &Parts, redactor: &Redactor) {
    redactor.look_at_name(parts.method.as_str());
    redactor.look(head.path.as_bytes());
    for (name, value) in &head.query {
        redactor.look(name.as_bytes());
        redactor.look(value.as_bytes());
    }
    for (name, value) in &head.headers {
        redactor.look_at_name(name);
        redactor.look(value.as_bytes());
    }
    // Somebody who calls a URL may say who they are in it; the host itself is among the headers.
    let authority = parts.uri.authority().map(|authority| authority.as_str());
    if let Some((user, _)) = authority.and_then(|authority| authority.rsplit_once('@')) {
        redactor.look(user.as_bytes());
    }
}

/// Searches the trailers of a body for honeytokens.
fn look_at_trailers(trailers: &HeaderMap, watch: &StreamRedactor) {
    for (name, value) in trailers {
        watch.redactor().look_at_name(name.as_str());
        watch.redactor().look(value.as_bytes());
    }
}

/// Reads a body to its end.
async fn read(
    mut body: Incoming,
    incoming: &mut IncomingBody,
    mut watch: Option<&mut StreamRedactor>,
    limits: &MockLimits,
) -> Result<(), Broken> {
    let wait = limits.body_wait;
    while let Some(frame) = timeout(wait, body.frame()).await.map_err(|_| Broken::Stalled(wait))? {
        let frame = frame.map_err(|_| Broken::Incomplete)?;
        if let (Some(trailers), Some(watch)) = (frame.trailers_ref(), &watch) {
            look_at_trailers(trailers, watch);
        }
        let Some(part) = frame.data_ref() else { continue };
        if let Some(watch) = &mut watch {
            watch.take(part);
        }
        if !incoming.push(part) {
            return Err(Broken::NoRoom);
        }
        if incoming.size() > limits.read_body_bytes {
            return Err(Broken::TooLarge(limits.read_body_bytes));
        }
    }
    Ok(())
}

impl Broken {
    fn answer(&self) -> Answer {
        let text = |status, text: String| Answer::text(status, text);
        let answer = match self {
            Self::Incomplete => {
                text(StatusCode::BAD_REQUEST, "the body of the request did not come whole\n".to_owned())
            }
            Self::Stalled(wait) => text(
                StatusCode::REQUEST_TIMEOUT,
                format!("nothing of the request's body came for {} seconds\n", wait.as_secs_f64()),
            ),
            Self::TooLarge(most) => {
                text(StatusCode::PAYLOAD_TOO_LARGE, format!("the body of the request is larger than {most} bytes\n"))
            }
            Self::NoRoom => no_room(),
        };
        answer.closing()
    }
}
