//! Answers the connections of an API gateway.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tokio::time::timeout;

use super::answer::Answer;
use super::limits::{ApiLimits, HEAD_BYTES, IDLE_WAIT};
use super::requests::{Requests, no_room};
use crate::listener::{Connection, DRAIN, HalfClose, HttpSettings, IdleTimeout, Listener, ListenerLimits};
use crate::memory_budget::Share;

/// State that the connections of a gateway share.
pub(super) struct Server {
    requests: Arc<Requests>,
    limits: ApiLimits,
}

/// A listener for a gateway with these limits.
pub(super) fn listener(limits: &ApiLimits) -> Listener {
    let idle = IdleTimeout::Requests(IDLE_WAIT);
    Listener::new("the API gateway", ListenerLimits { connections: limits.connections, idle, drain: DRAIN })
}

impl Server {
    pub(super) fn new(requests: Arc<Requests>, limits: ApiLimits) -> Arc<Self> {
        Arc::new(Self { requests, limits })
    }

    /// Serves one connection until it ends.
    pub(super) async fn connection(self: Arc<Self>, connection: Connection) {
        let settings = HttpSettings {
            head_bytes: HEAD_BYTES,
            head_wait: self.limits.wait,
            half_close: HalfClose::Answer,
            closes_when_crowded: false,
            http2: None,
        };
        let answer = move |request| {
            let server = Arc::clone(&self);
            async move { Ok(server.answer(request).await) }
        };
        connection.serve_http(settings, answer).await;
    }

    /// Answers one request.
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let mut share = self.requests.room.share();
        let answer = match self.read(body, &mut share).await {
            Ok(body) => self.requests.answer(&parts, &body),
            Err(broken) => broken.closing(),
        };
        answer.send(&parts.method)
    }

    /// Reads a body to its end, or says why it is not read.
    async fn read(&self, mut body: Incoming, share: &mut Share) -> Result<Vec<u8>, Answer> {
        let refusal = |status, code, message: &str| Err(Answer::refusal(status, code, message));
        let mut read = Vec::new();
        loop {
            let frame = match timeout(self.limits.wait, body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(None) => return Ok(read),
                Ok(Some(Err(_))) => {
                    return refusal(StatusCode::BAD_REQUEST, "bad_request", "the body did not come whole");
                }
                Err(_) => {
                    return refusal(StatusCode::REQUEST_TIMEOUT, "timeout", "nothing of the body came for too long");
                }
            };
            let Some(part) = frame.data_ref() else { continue };
            let most = self.limits.body_bytes;
            if part.len() > most - read.len() {
                let message = format!("the body is larger than {most} bytes; send fewer events at once");
                return refusal(StatusCode::PAYLOAD_TOO_LARGE, "too_large", &message);
            }
            if !share.grow(part.len()) {
                return Err(no_room());
            }
            read.extend_from_slice(part);
        }
    }
}
