//! Requests to a container that are tool calls under contracts.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use tokio::time::Instant;
use tool_contracts::Outcome;

use crate::contract_session::{
    Governed, GovernedCall, MARK, SESSION_TOKEN, ServiceGovernor, ServiceRequest, outcome_of,
};
use crate::faulted_requests::{Body, Sent};
use crate::http_mock::Answer;
use crate::listener::Broken;

/// The largest body of a call, or of its answer: 16 MiB.
const BODY_BYTES: usize = 16 * 1024 * 1024;
/// The header by which a client may say which call of the model a request carries out.
const CALL_ID: &str = "x-tool-call-id";

/// A request that was let through as a call.
pub(super) struct GovernedRequest {
    /// The call, until its end is known.
    call: Option<GovernedCall>,
    began: Instant,
}

/// The decision on a request.
pub(super) enum Permitted {
    /// The request passes as it is: nothing is decided on it, or it was decided on before.
    Passing(Request<Sent>),
    /// The request passes as a call.
    Call(GovernedRequest, Request<Sent>),
    /// The request is refused with this answer.
    Refused(Method, Answer),
}

impl GovernedRequest {
    /// Requests permission to pass a request on.
    pub(super) async fn permit(mut request: Request<Incoming>, governor: &Arc<ServiceGovernor>) -> Permitted {
        let mark = request.headers_mut().remove(MARK);
        if governor.is_decided(mark.as_ref().and_then(|mark| mark.to_str().ok())) {
            return Permitted::Passing(request.map(|body| body.boxed_unsync()));
        }
        let token = governor.has_sessions().then(|| request.headers_mut().remove(SESSION_TOKEN)).flatten();
        let (parts, body) = request.into_parts();
        let Ok(body) = Limited::new(body, BODY_BYTES).collect().await.map(http_body_util::Collected::to_bytes) else {
            let message = format!("the body did not come whole, or is larger than {BODY_BYTES} bytes\n");
            return Permitted::Refused(parts.method, Answer::text(StatusCode::PAYLOAD_TOO_LARGE, message).closing());
        };
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let query = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes()).into_owned();
        let seen = ServiceRequest {
            method: parts.method.as_str(),
            path: parts.uri.path(),
            query: query.collect(),
            content_type: header("content-type").unwrap_or_default(),
            body: &body,
            size: body.len() as u64,
            // One that is no text is none of ours.
            token: token.as_ref().map(|token| token.to_str().unwrap_or_default()),
        };
        match governor.permit(&seen, header(CALL_ID)).await {
            Governed::Refused(refusal) => Permitted::Refused(parts.method, refusal.into()),
            Governed::NotJudged => Permitted::Passing(Request::from_parts(parts, sent(body))),
            Governed::Granted(call) => {
                let granted = Self { call: Some(call), began: Instant::now() };
                Permitted::Call(granted, Request::from_parts(parts, sent(body)))
            }
        }
    }

    /// Reports the outcome of the call to the session, before the agent gets the answer.
    pub(super) async fn complete(mut self, answered: Result<Response<Body>, Broken>) -> Result<Response<Body>, Broken> {
        let read = match answered {
            Ok(response) => {
                let (head, body) = response.into_parts();
                let body = Limited::new(body, BODY_BYTES).collect().await;
                body.map(|body| (head, body.to_bytes())).map_err(|_| Broken)
            }
            Err(broken) => Err(broken),
        };
        let (status, bytes) = read.as_ref().map_or((0, &[][..]), |(head, body)| (head.status.as_u16(), &body[..]));
        self.end(&outcome_of(status, bytes, read.is_err()));
        let (head, body) = read?;
        Ok(Response::from_parts(head, Full::new(body).map_err(|never| match never {}).boxed_unsync()))
    }
}

impl GovernedRequest {
    fn end(&mut self, outcome: &Outcome) {
        if let Some(call) = self.call.take() {
            let latency = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
            call.complete(outcome, latency);
        }
    }
}

impl Drop for GovernedRequest {
    /// Ends a call of an agent that hung up: its outcome is unknown.
    fn drop(&mut self) {
        self.end(&Outcome::Lost);
    }
}

fn sent(body: Bytes) -> Sent {
    Full::new(body).map_err(|never| match never {}).boxed_unsync()
}
