//! Requests and responses under tool contracts: checked, narrowed, judged, and let out or not.
//!
//! In govern mode a response is held back until all of it has come and its calls are decided on; the agent then gets
//! the response as it came, or one with fewer calls, written in the same dialect. Otherwise responses pass as they
//! come, and are judged when they have ended ([`Observer`]).

mod narrowing;
mod observer;
mod retry;
mod seen;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, StatusCode};
use scenario::dialect::{Answer, ReadLimits};
use scenario::evidence::Dialect;
use scenario::spec::sections::{LlmMode, NarrowingFeedback};
use tool_contracts::ModelRequestSeen;

pub(super) use observer::Observer;

use super::answering::{Whole, changed, read};
use super::gateway::{Answered, Gateway};
use super::passing::Head;
use super::refusal::Refusal;
use super::request::{ModelRequest, session_of};
use super::rewriting::{Rewritten, reply_of};
use super::ticket::{Outcome, Ticket};
use super::wire::Finish;
use crate::body::IncomingBody;
use crate::contract_session::{ContractSession, Gated, Refused, line_of};
use crate::faults::Decision;

/// The header that names the tools that are hidden from a request.
const NARROWED: HeaderName = HeaderName::from_static("x-contract-narrowed");

/// A response that came whole, before its calls are decided on.
struct Held {
    body: Bytes,
    stream: bool,
    answer: Answer,
    /// The tokens and cost of the call, which count whatever becomes of its response.
    outcome: Outcome,
    headers: Option<http::HeaderMap>,
}

impl Gateway {
    /// Answers a request under contracts, where there are any.
    pub(super) async fn answer_governed(
        &self,
        asked: ModelRequest,
        parts: &Parts,
        body: IncomingBody,
        ticket: &mut Ticket,
        decision: &Decision<LlmMode>,
    ) -> Result<Answered, Refusal> {
        let Some(session) = self.contracts_for(&asked, parts) else {
            return self.answer_asked(&asked, parts, body, ticket, decision).await;
        };
        if session.governs() && asked.body["n"].as_u64().is_some_and(|choices| choices > 1) {
            let message = "tool contracts govern this scenario, and decide on one choice only: leave `n` out";
            return Err(Refusal::new(StatusCode::BAD_REQUEST, "several_choices", message));
        }
        let (mut asked, mut body) = (asked, body);
        let mut retries = session.max_retries();
        let mut is_asked_again = false;
        loop {
            ticket.observer = Some(Observer::new(&session, &asked));
            let mut seen = seen::request(&asked);
            if is_asked_again {
                // The results of refused calls are the gateway's own words.
                seen.results.clear();
            }
            let headers = self.narrow(&session, &seen, &mut asked, &mut body).await?;
            let answered = self.answer_asked(&asked, parts, body, ticket, decision).await?;
            if !session.governs() {
                return Ok(answered);
            }
            let held = match self.held(answered, &asked).await? {
                Ok(held) => held,
                Err(passing) => return Ok(*passing),
            };
            if let Some(observer) = &mut ticket.observer {
                observer.is_judged();
            }
            let gated =
                session.judge_response(seen::proposed(&held.answer), Some(seen::exchange(&asked, &held.answer))).await;
            match gated {
                Gated::Refused(refused) if retries > 0 => {
                    retries -= 1;
                    is_asked_again = true;
                    let conversation =
                        retry::asked_again(asked.route.dialect, &asked.body, &held.answer, &refused.calls);
                    count_refused(ticket, held.outcome, held.answer, &refused);
                    body = rewritten_body(&conversation, &self.room, self.bounds.request_bytes);
                    asked.body = conversation;
                    *ticket = self.begin(&asked.route.clone(), &body, Some(&asked));
                }
                gated => return self.let_out(&session, &asked, held, gated, headers),
            }
        }
    }

    /// Finds the session that a request belongs to. Lists of models and embeddings are in none, nor are requests of the
    /// setup.
    fn contracts_for(&self, asked: &ModelRequest, parts: &Parts) -> Option<Arc<ContractSession>> {
        let is_conversation = matches!(asked.route.dialect, Dialect::Chat | Dialect::Responses | Dialect::Messages);
        let own = session_of(parts, self.contracts.as_ref()).or_else(|| self.contracts.clone());
        own.filter(|session| is_conversation && session.has_begun())
    }

    /// Checks a request, and takes tools out of it that the model is not shown.
    async fn narrow(
        &self,
        session: &ContractSession,
        seen: &ModelRequestSeen,
        asked: &mut ModelRequest,
        body: &mut IncomingBody,
    ) -> Result<Option<HeaderValue>, Refusal> {
        let judged = session.judge_request(seen).await;
        if let Some(reason) = judged.refusal {
            return Err(Refusal::contract(reason.code.name(), "", &line_of(&reason)));
        }
        if judged.removed.is_empty() {
            return Ok(None);
        }
        let hidden: Vec<String> = judged.removed.iter().map(|one| one.tool.clone()).collect();
        narrowing::narrow(asked.route.dialect, &mut asked.body, &hidden);
        if session.feedback() == NarrowingFeedback::Inject {
            let lines = judged.removed.iter().map(|one| format!("- {}: {}", one.tool, line_of(&one.reason)));
            let text = format!("These tools cannot be used now:\n{}", lines.collect::<Vec<_>>().join("\n"));
            narrowing::tell(asked.route.dialect, &mut asked.body, &text);
        }
        *body = rewritten_body(&asked.body, &self.room, self.bounds.request_bytes);
        let told = judged.removed.iter().map(|one| format!("{};{}", one.tool, one.reason.code));
        let told = HeaderValue::from_str(&told.collect::<Vec<_>>().join(", ")).ok();
        Ok(told.filter(|_| session.feedback() == NarrowingFeedback::Metadata))
    }

    /// Waits for the end of a response. One that is no success has no calls, and passes.
    async fn held(&self, answered: Answered, asked: &ModelRequest) -> Result<Result<Held, Box<Answered>>, Refusal> {
        let dialect = asked.route.dialect;
        match answered {
            Answered::Whole(whole) => {
                let is_read = (200..300).contains(&whole.outcome.status) && whole.cut.is_none();
                let answer =
                    is_read.then(|| read(dialect, whole.outcome.stream, &whole.body, ReadLimits::NONE)).flatten();
                let Some(answer) = answer else { return Ok(Err(Box::new(Answered::Whole(whole)))) };
                let Whole { body, outcome, headers, .. } = whole;
                Ok(Ok(Held { body, stream: outcome.stream, answer, outcome, headers }))
            }
            Answered::Passing(arrived, head) if !head.status.is_success() => {
                Ok(Err(Box::new(Answered::Passing(arrived, head))))
            }
            Answered::Passing(mut arrived, head) => {
                let mut share = self.room.share();
                let too_large = || {
                    let message =
                        "the model's answer did not come whole, or is too large to be judged by tool contracts";
                    Refusal::new(StatusCode::BAD_GATEWAY, "answer_not_judged", message)
                };
                let proxy = &head.forwarding.proxy;
                let bytes = arrived.collect(&mut share).await.ok_or_else(too_large)?;
                let body = Bytes::from(proxy.scrubbed_bytes(&bytes));
                let answer = read(dialect, head.stream, &body, ReadLimits::NONE).ok_or_else(too_large)?;
                let headers = Some(proxy.answer_headers(arrived.headers()));
                Ok(Ok(Held { stream: head.stream, outcome: counted(&head, &answer), body, answer, headers }))
            }
        }
    }

    /// The answer of the agent, as the gate has it.
    fn let_out(
        &self,
        session: &ContractSession,
        asked: &ModelRequest,
        held: Held,
        gated: Gated,
        narrowed: Option<HeaderValue>,
    ) -> Result<Answered, Refusal> {
        let Held { body, stream, answer, outcome, mut headers } = held;
        if let Some(value) = narrowed {
            headers.get_or_insert_with(|| self.headers(stream)).insert(NARROWED, value);
        }
        let (kept, text) = match gated {
            Gated::Whole => return Ok(Answered::Whole(Whole { body, outcome, cut: None, headers })),
            Gated::Stripped(kept) => (kept, None),
            Gated::Text(text) => (Vec::new(), Some(text)),
            Gated::Refused(refused) => {
                let message = line_of(&refused.reason);
                let refusal = Refusal::contract(refused.reason.code.name(), &refused.tool, &message);
                let body = refusal.body(asked.route.shape);
                let mut headers = self.headers(false);
                headers.insert("x-should-retry", HeaderValue::from_static("false"));
                if session.feedback() == NarrowingFeedback::Metadata {
                    headers.insert("x-contract-decision", HeaderValue::from_static("block"));
                }
                let outcome = refused_outcome(outcome, answer, &refusal, body.clone());
                return Ok(Answered::Whole(Whole { body, outcome, cut: None, headers: Some(headers) }));
            }
        };
        let number = self.sent.load(Ordering::Relaxed);
        let Some(mut reply) = reply_of(&answer, asked, number) else {
            let message = "calls of the model's answer were refused, and the rest of it cannot be written again";
            return Err(Refusal::contract("answer_not_stripped", "", message));
        };
        let mut kept = kept.into_iter();
        reply.tools.retain(|_| kept.next().unwrap_or(false));
        if let Some(text) = text {
            let said = reply.content.take().filter(|said| !said.trim().is_empty());
            reply.content = Some(said.map_or_else(|| text.clone(), |said| format!("{said}\n{text}")));
            reply.finish = Finish::Natural;
        }
        let rewritten = Rewritten { body: reply.render(asked.route.dialect, stream), cut: None, original: answer };
        let mut original = IncomingBody::new(self.bounds.kept_body_bytes, &self.room);
        let _ = original.push(&body);
        let outcome = Outcome { original: Some(original.into_evidence()), ..outcome };
        Ok(Answered::Whole(Whole { headers, ..changed(rewritten, asked.route.dialect, outcome) }))
    }
}

/// Writes down a response that the agent never gets, because the model is asked again.
fn count_refused(ticket: &mut Ticket, outcome: Outcome, answer: Answer, refused: &Refused) {
    let message = format!("the response was refused, and the model is asked again: {}", line_of(&refused.reason));
    let refusal = Refusal::contract(refused.reason.code.name(), &refused.tool, &message);
    let body = refusal.body(super::refusal::Shape::OpenAi);
    ticket.finish(refused_outcome(outcome, answer, &refusal, body));
}

/// The outcome of an upstream's answer.
fn counted(head: &Head, answer: &Answer) -> Outcome {
    Outcome {
        status: head.status.as_u16(),
        stream: head.stream,
        answer: Some(answer.clone()),
        from_upstream: true,
        billed: head.billed,
        billed_model: head.billed_model.clone(),
        ..Outcome::default()
    }
}

/// A refused response: the agent gets an error, and the model's work counts all the same.
fn refused_outcome(outcome: Outcome, answer: Answer, refusal: &Refusal, body: Bytes) -> Outcome {
    Outcome {
        status: refusal.status.as_u16(),
        stream: false,
        response: scenario::evidence::Body::Kept(scenario::evidence::Blob(body.to_vec())),
        answer: None,
        billed_answer: Some(answer),
        problem: Some(refusal.message.clone()),
        code: "contract_violation",
        ..outcome
    }
}

fn rewritten_body(body: &serde_json::Value, room: &crate::memory_budget::Room, most: usize) -> IncomingBody {
    let mut rewritten = IncomingBody::new(most, room);
    let _ = rewritten.push(body.to_string().as_bytes());
    rewritten
}
