//! Answers requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response, StatusCode, header};
use hyper::body::Incoming;
use scenario::evidence::{Body, Dialect};
use scenario::spec::sections::LlmMode;
use serde_json::Value as Json;
use tokio::time::sleep;

use super::answering::{Whole, changed, play, repeat};
use super::fault::{self, Instead};
use super::forwarding::{Arrived, Forwarding};
use super::ledger::{Begun, Ledger};
use super::limits::ModelGatewayLimits;
use super::pace::Pace;
use super::passing::Head;
use super::proxy::Proxy;
use super::refusal::Refusal;
use super::replay::Replay;
use super::request::{self, ModelRequest};
use super::rewriting::rewrite;
use super::route::Route;
use super::script::Player;
use super::server::{AnswerBody, Broken};
use super::settings::{ModelSettings, Source};
use super::ticket::{Outcome, Ticket};
use crate::body::IncomingBody;
use crate::contract_session::ContractSession;
use crate::faults::{Decision, Fault, FaultEngine, MODEL, ServiceLink};
use crate::listener::Reset;
use crate::memory_budget::Room;
use crate::redact::Redactor;

/// The gateway, which answers requests.
pub(super) struct Gateway {
    pub(super) ledger: Arc<Ledger>,
    pub(super) bounds: ModelGatewayLimits,
    pub(super) answers: Answers,
    token: String,
    pub(super) room: Room,
    /// True when the records have ended; then every request is refused.
    pub(super) sealed: AtomicBool,
    /// Number of answers that were sent, for their ids.
    pub(super) sent: AtomicU64,
    /// The faults that hit calls on purpose.
    pub(super) faults: Option<Arc<FaultEngine>>,
    /// The session under tool contracts.
    pub(super) contracts: Option<Arc<ContractSession>>,
}

/// Source of answers.
pub(super) enum Answers {
    Script(Player),
    Upstream(Arc<Forwarding>),
    Recording(Replay),
}

impl Gateway {
    pub(super) fn new(settings: ModelSettings, bounds: ModelGatewayLimits) -> Arc<Self> {
        let ModelSettings { source, limits, token, cost, clock, time, redactor, faults, contracts } = settings;
        let answers = match source {
            Source::Script(script) => Answers::Script(Player::new(script)),
            Source::Upstream(upstream) => {
                // A spec that says how many calls it allows has said what is too much.
                let pace = Pace::new(limits.max_calls.is_none().then_some(bounds.pace));
                let (proxy, clock) = (Proxy::new(upstream), Arc::clone(&clock));
                Answers::Upstream(Forwarding::new(proxy, pace, bounds.retries, clock, time))
            }
            Source::Recording(recording) => Answers::Recording(Replay::new(recording)),
        };
        Arc::new(Self {
            ledger: Ledger::new(limits, bounds, cost, clock, redactor),
            bounds,
            answers,
            token,
            room: Room::new(bounds.under_way_bytes),
            sealed: AtomicBool::new(false),
            sent: AtomicU64::new(0),
            faults,
            contracts,
        })
    }

    /// Returns the redactor, which finds secrets in requests.
    pub(super) fn redactor(&self) -> &Redactor {
        &self.ledger.redactor
    }

    /// Answers one request. It is written down before anything of the answer leaves.
    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        reset: &Reset,
    ) -> Result<Response<AnswerBody>, Broken> {
        let (parts, incoming) = request.into_parts();
        let route = Route::new(parts.uri.path(), &parts.headers);
        if self.sealed.load(Ordering::Acquire) {
            let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "scenario_ended", "the agent's time is over");
            return Ok(self.refused(&refusal, route.shape, None));
        }
        let mut body = IncomingBody::new(self.bounds.request_bytes, &self.room);
        let came = request::read(incoming, &mut body, &self.bounds).await;
        let mut share = self.room.share();
        let asked = came
            .and_then(|()| request::authorize(&parts, &self.token, self.contracts.as_ref()))
            .and_then(|()| ModelRequest::new(&route, &parts.method, body.kept(), &mut share));
        let mut ticket = self.begin(&route, &body, asked.as_ref().ok());
        let decision = self.decide(asked.as_ref().ok()).await;
        ticket.fault = decision.mark();
        if !decision.delay.is_zero() {
            sleep(decision.delay).await;
        }
        match decision.fault.as_ref().and_then(|fault| fault::instead(&fault.mode)) {
            Some(Instead::Refusal(refusal, retry_after)) => {
                let mut response = self.refused(&refusal, route.shape, Some(ticket));
                retry_after.map(|seconds| response.headers_mut().insert(header::RETRY_AFTER, seconds));
                return Ok(self.slowed(response, &decision));
            }
            Some(Instead::Silence(wait)) => {
                unanswered(&mut ticket);
                sleep(wait).await;
                return Err(Broken);
            }
            Some(Instead::Reset) => {
                unanswered(&mut ticket);
                reset.arm();
                return Err(Broken);
            }
            None => {}
        }
        let answered = match asked {
            Ok(asked) => self.answer_governed(asked, &parts, body, &mut ticket, &decision).await,
            Err(refusal) => Err(refusal),
        };
        let response = match answered {
            Ok(Answered::Whole(whole)) => self.send(whole, route.shape, ticket),
            Ok(Answered::Passing(arrived, head)) => self.pass(*arrived, head, ticket),
            Err(refusal) => self.refused(&refusal, route.shape, Some(ticket)),
        };
        Ok(self.slowed(response, &decision))
    }

    /// The way to it, where faults of the network may lie.
    pub(super) fn link(&self) -> Option<ServiceLink> {
        self.faults.as_ref().and_then(|faults| faults.link(MODEL))
    }

    /// Asks the fault engine about a request. Lists of models and embeddings are spared.
    async fn decide(&self, asked: Option<&ModelRequest>) -> Decision<LlmMode> {
        let is_conversation = |asked: &ModelRequest| {
            matches!(asked.route.dialect, Dialect::Chat | Dialect::Responses | Dialect::Messages)
        };
        match (&self.faults, asked.is_some_and(is_conversation)) {
            (Some(faults), true) => {
                faults.before_model().await;
                faults.model()
            }
            _ => Decision::none(),
        }
    }

    /// Writes a request down.
    pub(super) fn begin(&self, route: &Route, body: &IncomingBody, asked: Option<&ModelRequest>) -> Ticket {
        let mut kept = IncomingBody::new(self.bounds.kept_body_bytes, &self.room);
        let _ = kept.push(body.kept());
        let request = match kept.into_evidence() {
            // It is larger than what came of it.
            Body::Kept(_) if !body.is_whole() => Body::Dropped { size: body.size() },
            request => request,
        };
        let model = asked.map(|asked| asked.model.clone()).unwrap_or_default();
        let size = usize::try_from(body.size()).unwrap_or(usize::MAX);
        let begun = Begun { dialect: route.dialect, model, request, size };
        self.ledger.begin(begun, asked.map_or(&Json::Null, |asked| &asked.body))
    }

    pub(super) async fn answer_asked(
        &self,
        asked: &ModelRequest,
        parts: &Parts,
        body: IncomingBody,
        ticket: &mut Ticket,
        decision: &Decision<LlmMode>,
    ) -> Result<Answered, Refusal> {
        let billed = asked.route.is_billed();
        match &self.answers {
            Answers::Script(player) => {
                asked.check()?;
                if billed {
                    ticket.admit(&asked.model)?;
                }
                let take_back = |ticket: &mut Ticket| self.take_back(decision, ticket);
                play(player, asked, ticket, decision.fault.as_ref(), take_back).await.map(Answered::Whole)
            }
            Answers::Recording(replay) => {
                let redacted = self.ledger.redactor.bytes(body.kept());
                if billed {
                    ticket.admit(&asked.model)?;
                }
                let (fault, number) = (decision.fault.as_ref(), self.sent.load(Ordering::Relaxed));
                let take_back = || self.take_back(decision, ticket);
                let redacted = String::from_utf8_lossy(&redacted);
                repeat(replay, asked, &redacted, fault, number, take_back).map(Answered::Whole)
            }
            Answers::Upstream(forwarding) => {
                let proxy = &forwarding.proxy;
                proxy.check(asked.route.dialect)?;
                let model = proxy.model(asked).to_owned();
                if billed {
                    ticket.admit(&model)?;
                }
                let body = Bytes::copy_from_slice(body.kept());
                let mut head = head_of(asked, model, forwarding, &body);
                let mut arrived = forwarding.forward(asked, parts, body, ticket).await?;
                head.take(&arrived);
                if let Some(fault) = &decision.fault {
                    match self.change(asked, &mut arrived, &head, fault).await {
                        Some(whole) => return Ok(Answered::Whole(whole)),
                        None => self.take_back(decision, ticket),
                    }
                }
                Ok(Answered::Passing(Box::new(arrived), head))
            }
        }
    }

    /// Changes the answer of an upstream, after its end has come. `None` when it passes as it is.
    async fn change(
        &self,
        asked: &ModelRequest,
        arrived: &mut Arrived,
        head: &Head,
        fault: &Fault<LlmMode>,
    ) -> Option<Whole> {
        if !head.status.is_success() {
            return None;
        }
        let proxy = &head.forwarding.proxy;
        let mut share = self.room.share();
        let body = Bytes::from(proxy.scrubbed_bytes(&arrived.collect(&mut share).await?));
        let rewritten = rewrite(fault, asked, head.stream, &body, self.sent.load(Ordering::Relaxed))?;
        let mut original = IncomingBody::new(self.bounds.kept_body_bytes, &self.room);
        let _ = original.push(&body);
        let outcome = Outcome {
            status: head.status.as_u16(),
            stream: head.stream,
            original: Some(original.into_evidence()),
            from_upstream: true,
            billed: head.billed,
            billed_model: head.billed_model.clone(),
            ..Outcome::default()
        };
        let headers = Some(proxy.answer_headers(arrived.headers()));
        Some(Whole { headers, ..changed(rewritten, head.dialect, outcome) })
    }

    /// Takes the fault of a call back, because it found nothing to change.
    fn take_back(&self, decision: &Decision<LlmMode>, ticket: &mut Ticket) {
        ticket.fault = decision.slowed.clone();
        if let (Some(fault), Some(faults)) = (&decision.fault, &self.faults) {
            faults.take_back(fault);
        }
    }
}

/// Answer to a request.
pub(super) enum Answered {
    Whole(Whole),
    Passing(Box<Arrived>, Head),
}

fn head_of(asked: &ModelRequest, model: String, forwarding: &Arc<Forwarding>, body: &Bytes) -> Head {
    Head {
        forwarding: Arc::clone(forwarding),
        call: forwarding.call(asked, body),
        dialect: asked.route.dialect,
        status: StatusCode::OK,
        stream: false,
        retry_after: None,
        billed: asked.route.is_billed(),
        billed_model: model,
    }
}

/// Writes down that a fault left a call without an answer.
fn unanswered(ticket: &mut Ticket) {
    ticket
        .finish(Outcome { problem: Some("a fault left the call without an answer".to_owned()), ..Outcome::default() });
}
