//! Requests to mocks that are tool calls under contracts.

use http::HeaderName;
use scenario::evidence::Exchange;
use tokio::time::Instant;

use super::answer::Answer;
use super::mock::Mock;
use crate::body::IncomingBody;
use crate::contract_session::{
    Governed, GovernedCall, MARK, RefusalBody, SESSION_TOKEN, ServiceRefusal, ServiceRequest, outcome_of,
};

/// The header by which a client may say which call of the model a request carries out.
const CALL_ID: &str = "x-tool-call-id";

/// The leave to answer a request.
pub(super) enum Permit {
    /// The request is no call under contracts, or was decided on before.
    NotNeeded,
    /// The request is a call, which began then.
    Granted { call: GovernedCall, began: Instant },
    /// The request is refused with this answer.
    Refused(Answer),
}

/// Requests permission for a request. Takes the mark of the tool gateway out of it.
pub(super) async fn permit(mock: &Mock, head: &mut Exchange, body: &IncomingBody) -> Permit {
    let Some(governor) = mock.governor() else { return Permit::NotNeeded };
    let is_decided = governor.is_decided(head.header(MARK));
    head.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(MARK));
    if is_decided {
        return Permit::NotNeeded;
    }
    let token = head.header(SESSION_TOKEN).filter(|_| governor.has_sessions()).map(ToOwned::to_owned);
    if governor.has_sessions() {
        head.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(SESSION_TOKEN));
    }
    let request = ServiceRequest {
        method: &head.method,
        path: &head.path,
        query: head.query.clone(),
        content_type: head.header("content-type").unwrap_or_default(),
        body: body.kept(),
        size: body.size(),
        token: token.as_deref(),
    };
    match governor.permit(&request, head.header(CALL_ID)).await {
        Governed::NotJudged => Permit::NotNeeded,
        Governed::Granted(call) => Permit::Granted { call, began: Instant::now() },
        Governed::Refused(refusal) => Permit::Refused(refusal.into()),
    }
}

impl Permit {
    /// Reports the outcome of the call to the session, before the agent gets the answer.
    pub(super) fn complete(self, answer: &Answer) {
        let Self::Granted { call, began } = self else { return };
        let outcome = outcome_of(answer.status.as_u16(), &answer.body, answer.is_silent());
        let latency = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        call.complete(&outcome, latency);
    }
}

impl From<ServiceRefusal> for Answer {
    /// The refusal as it is sent.
    fn from(refusal: ServiceRefusal) -> Self {
        let ServiceRefusal { status, body, decision } = refusal;
        let answer = match body {
            RefusalBody::Empty => Self::empty(status.as_u16()),
            RefusalBody::Text(text) => Self::text(status, text),
            RefusalBody::Json(bytes) => Self::json(status, bytes),
        };
        match decision {
            Some(value) => answer.with(HeaderName::from_static("x-contract-decision"), value),
            None => answer,
        }
    }
}
