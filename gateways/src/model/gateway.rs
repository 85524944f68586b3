//! How one request is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Incoming;
use scenario::evidence::{Body, Dialect};
use scenario::spec::sections::LlmMode;
use serde_json::Value as Json;
use tokio::time::sleep;

use super::answering::{Whole, play, repeat};
use super::fault::{self, Instead};
use super::forwarding::{Arrived, Forwarding};
use super::ledger::{Begun, Ledger};
use super::limits::ModelGatewayLimits;
use super::pace::Pace;
use super::passing::{Head, Passing};
use super::proxy::{self, Proxy};
use super::refusal::{Refusal, Shape};
use super::replay::Replay;
use super::request::{self, ModelRequest, no_room};
use super::route::Route;
use super::script::Player;
use super::server::{AnswerBody, Broken};
use super::settings::{ModelSettings, Source};
use super::ticket::{Outcome, Ticket};
use crate::body::IncomingBody;
use crate::faults::{Decision, FaultEngine, MODEL, ServiceLink};
use crate::listener::Reset;
use crate::memory_budget::Room;
use crate::redact::Redactor;

/// The type of a stream of events.
const EVENTS: &str = "text/event-stream; charset=utf-8";

/// What answers requests.
pub(super) struct Gateway {
    pub(super) ledger: Arc<Ledger>,
    pub(super) bounds: ModelGatewayLimits,
    pub(super) answers: Answers,
    token: String,
    room: Room,
    /// Whether the records have ended; then every request is refused.
    pub(super) sealed: AtomicBool,
    /// How many answers were sent, for their ids.
    sent: AtomicU64,
    /// The faults that hit calls on purpose.
    faults: Option<Arc<FaultEngine>>,
}

/// Where answers come from.
pub(super) enum Answers {
    Script(Player),
    Upstream(Arc<Forwarding>),
    Recording(Replay),
}

impl Gateway {
    pub(super) fn new(settings: ModelSettings, bounds: ModelGatewayLimits) -> Arc<Self> {
        let ModelSettings { source, limits, token, cost, clock, time, redactor, faults } = settings;
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
        })
    }

    /// Looks for secrets in what is asked.
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
            .and_then(|()| request::authorize(&parts, &self.token))
            .and_then(|()| ModelRequest::new(&route, &parts.method, body.kept(), &mut share));
        let mut ticket = self.begin(&route, &body, asked.as_ref().ok());
        let decision = self.decide(asked.as_ref().ok());
        ticket.fault = decision.mark();
        if !decision.delay.is_zero() {
            sleep(decision.delay).await;
        }
        match decision.fault.as_ref().and_then(|fault| fault::instead(&fault.mode)) {
            Some(Instead::Refusal(refusal, retry_after)) => {
                let mut response = self.refused(&refusal, route.shape, Some(ticket));
                retry_after.map(|seconds| response.headers_mut().insert(header::RETRY_AFTER, seconds));
                return Ok(response);
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
            Ok(asked) => self.answer_asked(&asked, &parts, body, &mut ticket, &decision).await,
            Err(refusal) => Err(refusal),
        };
        Ok(match answered {
            Ok(Answered::Whole(whole)) => self.send(whole, route.shape, ticket),
            Ok(Answered::Passing(arrived, head)) => self.pass(*arrived, head, ticket),
            Err(refusal) => self.refused(&refusal, route.shape, Some(ticket)),
        })
    }

    /// The way to it, where faults of the network may lie.
    pub(super) fn link(&self) -> Option<ServiceLink> {
        self.faults.as_ref().and_then(|faults| faults.link(MODEL))
    }

    /// Asks the fault engine about a request. Lists of models and embeddings are spared.
    fn decide(&self, asked: Option<&ModelRequest>) -> Decision<LlmMode> {
        let is_conversation = |asked: &ModelRequest| {
            matches!(asked.route.dialect, Dialect::Chat | Dialect::Responses | Dialect::Messages)
        };
        match (&self.faults, asked.is_some_and(is_conversation)) {
            (Some(faults), true) => faults.model(),
            _ => Decision::none(),
        }
    }

    /// Writes a request down.
    fn begin(&self, route: &Route, body: &IncomingBody, asked: Option<&ModelRequest>) -> Ticket {
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

    async fn answer_asked(
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
                let fault = decision.fault.as_ref();
                let take_back = |ticket: &mut Ticket| {
                    ticket.fault = decision.slowed.clone();
                    if let (Some(fault), Some(faults)) = (fault, &self.faults) {
                        faults.take_back(fault);
                    }
                };
                play(player, asked, ticket, fault, take_back).await.map(Answered::Whole)
            }
            Answers::Recording(replay) => {
                let redacted = self.ledger.redactor.bytes(body.kept());
                if billed {
                    ticket.admit(&asked.model)?;
                }
                repeat(replay, asked, &String::from_utf8_lossy(&redacted)).map(Answered::Whole)
            }
            Answers::Upstream(forwarding) => {
                let proxy = &forwarding.proxy;
                proxy.check(asked.route.dialect)?;
                let model = proxy.model(asked).to_owned();
                if billed {
                    ticket.admit(&model)?;
                }
                let body = Bytes::copy_from_slice(body.kept());
                let head = head_of(asked, model, forwarding, &body);
                let arrived = forwarding.forward(asked, parts, body, ticket).await?;
                Ok(Answered::Passing(Box::new(arrived), head))
            }
        }
    }

    /// Sends an answer that is there as a whole.
    fn send(&self, answer: Whole, shape: Shape, mut ticket: Ticket) -> Response<AnswerBody> {
        let Whole { body, mut outcome, cut } = answer;
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
        self.head(&mut response, if stream { EVENTS } else { "application/json" });
        response
    }

    /// Passes the answer of an upstream on.
    fn pass(&self, upstream: Arrived, mut head: Head, ticket: Ticket) -> Response<AnswerBody> {
        let scrubber = head.forwarding.proxy.scrubber();
        let text = |name| upstream.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        head.status = upstream.response.status();
        head.stream = text(header::CONTENT_TYPE).is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"));
        head.retry_after = text(header::RETRY_AFTER).map(ToOwned::to_owned);
        let status = head.status;
        let mut headers = proxy::passed(upstream.headers());
        let leaking: Vec<_> = headers
            .iter()
            .filter(|(_, value)| scrubber.finds(value.as_bytes()))
            .map(|(name, _)| name.clone())
            .collect();
        leaking.into_iter().for_each(|name| drop(headers.remove(name)));
        let passing = Passing::new(upstream, head, scrubber, self.bounds.kept_body_bytes, &self.room, ticket);
        let mut response = Response::new(StreamBody::new(passing.into_frames()).boxed_unsync());
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
    }

    /// Sends a refusal.
    fn refused(&self, refusal: &Refusal, shape: Shape, ticket: Option<Ticket>) -> Response<AnswerBody> {
        let body = refusal.body(shape);
        if let Some(mut ticket) = ticket {
            ticket.refuse(refusal, &body);
        }
        let mut response = whole(body);
        *response.status_mut() = refusal.status;
        self.head(&mut response, "application/json");
        if refusal.is_final {
            response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
        }
        response
    }

    fn head(&self, response: &mut Response<AnswerBody>, content_type: &'static str) {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        if let Ok(id) = HeaderValue::from_str(&format!("req_{number}")) {
            headers.insert("x-request-id", id.clone());
            headers.insert("request-id", id);
        }
    }
}

/// What a request is answered with.
enum Answered {
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

fn whole(body: Bytes) -> Response<AnswerBody> {
    Response::new(Full::new(body).map_err(|never| match never {}).boxed_unsync())
}
