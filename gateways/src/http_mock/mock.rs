//! A mock, which answers and records requests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::StatusCode;
use scenario::cassette::without_keys;
use scenario::evidence::{Blob, Body, Exchange, FaultMark, Fired, Journal, Limit, Played};
use scenario::replay::{Call as ReplayedCall, Playback};
use scenario::spec::sections::{HttpMock, MockResponse, Route, SequenceEnd, ToolMode};

use sha2::{Digest as _, Sha256};

use super::MockContext;
use super::answer::Answer;
use super::fault::{self, Applied};
use super::limits::MockLimits;
use super::matching;
use super::memory::{AnswerMemory, RequestKey};
use super::request::{Received, host_name};
use super::template::{Constants, Names, Rendering};
use crate::body::IncomingBody;
use crate::calls::{Call, CallLog, KEPT_ANSWER_BYTES};
use crate::contract_session::ServiceGovernor;
use crate::faults::{Decision, ServiceLink, ToolRequest};
use crate::memory_budget::{Room, Share};
use crate::recorder::Recorder;
use crate::redact::Redactor;

/// A mock of a sandbox.
pub(super) struct Mock {
    pub(super) name: String,
    settings: HttpMock,
    /// The answers of each route, in their order.
    answers: Vec<Vec<Prepared>>,
    pub(super) context: Arc<MockContext>,
    constants: Constants,
    limits: MockLimits,
    state: Mutex<State>,
    /// The body of a request without one.
    nothing: IncomingBody,
    calls: Option<Arc<Mutex<CallLog>>>,
}

/// An answer of a route.
enum Prepared {
    /// The same for every request.
    Fixed(Answer),
    /// An answer that depends on the request.
    Template(MockResponse),
}

/// State that changes with every request. One lock covers choosing an answer and writing it down, so the journal has
/// the requests in the order in which sequences answered them.
pub(super) struct State {
    /// Number of requests that each route took.
    taken: Vec<usize>,
    /// Answers for faults that give them again.
    memory: AnswerMemory,
    pub(super) recorder: Option<Recorder>,
    /// The recorded answers that it gives in place of its own.
    playback: Option<Playback>,
}

impl Mock {
    pub(super) fn new(
        name: String,
        settings: HttpMock,
        context: &Arc<MockContext>,
        limits: MockLimits,
        calls: Option<Arc<Mutex<CallLog>>>,
    ) -> Self {
        let answers: Vec<_> = settings.routes.iter().map(prepare).collect();
        let recorder = settings.record.then(|| Recorder::new(limits.journal));
        let replay = context.replay.as_ref().filter(|_| settings.record);
        let playback = replay.map(|replay| Playback::new(&replay.session, &name, replay.matching));
        let memory = AnswerMemory::default();
        let state = Mutex::new(State { taken: vec![0; answers.len()], memory, recorder, playback });
        let nothing = IncomingBody::new(0, &Room::new(0));
        let constants =
            Constants { seed: context.seed, replica: context.replica, parameters: context.parameters.clone() };
        Self { name, settings, answers, context: Arc::clone(context), constants, limits, state, nothing, calls }
    }

    /// Answers a request that came whole, and records both. `share` grows by the size of a rendered answer.
    pub(super) fn take(&self, head: Exchange, body: IncomingBody, share: &mut Share) -> Answer {
        let mut state = self.state();
        let url = self.url_for_faults(&head);
        let request =
            url.as_ref().map(|url| ToolRequest { service: &self.name, method: &head.method, path: &head.path, url });
        let decision = self.decide(request);
        let mut mark = decision.mark();
        let mut answer = match decision.fault.as_ref().filter(|fault| !fault.mark.reached) {
            Some(fault) => fault::instead(fault),
            None => {
                let (answer, route) = self.routed(&mut state, &head, &body, share);
                let key = RequestKey::of_route(&head.method, &head.path, &head.query, route);
                match self.applied(&mut state, &decision, &answer, &key, &head, share) {
                    Applied::Changed(changed) if share.grow(changed.body.len()) => changed,
                    Applied::Changed(_) => no_room(),
                    Applied::AsItIs => answer,
                    Applied::WithoutEffect => {
                        mark = decision.slowed.clone();
                        answer
                    }
                }
            }
        };
        let is_answered = decision.fault.as_ref().is_none_or(|fault| fault.mark.reached) && !answer.is_silent();
        if let Some((attacked, by)) = request.and_then(|request| self.attack(request, &answer, is_answered)) {
            answer = if share.grow(attacked.body.len()) { attacked } else { no_room() };
            mark = decision.fault.is_some().then_some(mark).flatten().or(Some(by));
        }
        answer = answer.delayed(decision.delay);
        self.keep(&mut state, Exchange { fault: mark, ..head }, body, &answer);
        answer
    }

    /// Begins faults that a request begins; it is answered after that.
    pub(super) async fn before(&self, head: &Exchange) {
        if let (Some(faults), Some(url)) = (&self.context.faults, self.url_for_faults(head)) {
            let (method, path) = (head.method.as_str(), head.path.as_str());
            faults.before_tool(ToolRequest { service: &self.name, method, path, url: &url }).await;
        }
    }

    /// The governor of its requests, where they are tool calls under contracts.
    pub(super) fn governor(&self) -> Option<&Arc<ServiceGovernor>> {
        self.context.governors.get(&self.name)
    }

    /// The way to it, where faults of the network may lie.
    pub(super) fn link(&self) -> Option<ServiceLink> {
        self.context.faults.as_ref().and_then(|faults| faults.http_link(&self.name))
    }

    /// The URL of a request, where some fault may be about it.
    fn url_for_faults(&self, head: &Exchange) -> Option<String> {
        self.context.faults.as_ref().filter(|faults| !faults.spares_tools())?;
        let host = head.header("host").unwrap_or(&self.name);
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(&head.query).finish();
        let mark = if query.is_empty() { "" } else { "?" };
        Some(format!("http://{host}{}{mark}{query}", head.path))
    }

    /// Asks the fault engine about a request.
    fn decide(&self, request: Option<ToolRequest<'_>>) -> Decision<ToolMode> {
        match (&self.context.faults, request) {
            (Some(faults), Some(request)) => faults.tool(request),
            _ => Decision::none(),
        }
    }

    /// Asks the fault engine about an attack in the answer to a request; returns the answer that carries it.
    fn attack(&self, request: ToolRequest<'_>, answer: &Answer, is_answered: bool) -> Option<(Answer, FaultMark)> {
        let faults = self.context.faults.as_ref()?;
        let attack = faults.attack(request)?;
        match fault::attacked(&attack, answer).filter(|_| is_answered) {
            Some(attacked) => Some((attacked, attack.mark)),
            None => {
                faults.take_back(&attack);
                None
            }
        }
    }

    /// Carries the fault of a request out on its answer. One that changes nothing was not injected, and is taken back.
    fn applied(
        &self,
        state: &mut State,
        decision: &Decision<ToolMode>,
        answer: &Answer,
        key: &RequestKey,
        head: &Exchange,
        share: &mut Share,
    ) -> Applied {
        let Some(faults) = &self.context.faults else { return Applied::AsItIs };
        let other =
            fault::other_path(decision).map(|path| self.routed(state, &get(head, path), &self.nothing, share).0);
        let applied = fault::apply(decision, answer, key, other, &mut state.memory);
        if let (Applied::WithoutEffect, Some(fault)) = (&applied, &decision.fault) {
            faults.take_back(fault);
        }
        applied
    }

    /// The answer of the route that takes a request, and which route that is.
    fn routed(
        &self,
        state: &mut State,
        head: &Exchange,
        body: &IncomingBody,
        share: &mut Share,
    ) -> (Answer, Option<usize>) {
        if let Some(answer) = self.replayed(state, head, body) {
            return (answer, None);
        }
        let request = Received::new(head, body);
        let Some((route, params)) = matching::find(&self.settings.routes, &request) else {
            return (Answer::empty(status_of(self.settings.default_response.get())), None);
        };
        let turn = state.taken[route];
        state.taken[route] += 1;
        let names = Names { request: &request, params: &params, constants: &self.constants };
        (self.answer(route, turn, &names, share), Some(route))
    }

    /// The recorded answer to a request; `None` when the mock answers by itself.
    fn replayed(&self, state: &mut State, head: &Exchange, body: &IncomingBody) -> Option<Answer> {
        let playback = state.playback.as_mut()?;
        let mut asked = Exchange { body: Body::Kept(Blob(body.kept().to_vec())), ..head.clone() };
        (self.context.redact)(&mut asked);
        let text = asked.whole_body().filter(|_| body.is_whole()).map(|blob| without_keys(&blob.text()));
        let plain = |(name, value): &(String, String)| (name.clone(), without_keys(value));
        let query: Vec<_> = asked.query.iter().map(plain).collect();
        let path = without_keys(&asked.path);
        let call = ReplayedCall { method: &asked.method, path: &path, query: &query, body: text.as_deref() };
        let is_strict = playback.is_strict();
        match playback.answer(call) {
            Some(recorded) => Some(Answer::recorded(recorded)),
            None if is_strict => {
                let message = format!("the session has no answer to {} {path}\n", asked.method);
                Some(Answer::text(StatusCode::NOT_IMPLEMENTED, message))
            }
            None => None,
        }
    }

    /// Adds how its calls differ from those of the session.
    pub(super) fn tell_replay(&self, played: &mut Played) {
        if let Some(playback) = &self.state().playback {
            playback.add_to(played);
        }
    }

    /// Writes a request down that no route is asked about, with the answer that it gets.
    pub(super) fn refuse(&self, head: Exchange, body: IncomingBody, answer: Answer) -> Answer {
        self.keep(&mut self.state(), head, body, &answer);
        answer
    }

    /// Returns the journal; `None` when the mock does not record.
    pub(super) fn journal(&self) -> Option<Journal> {
        self.state().recorder.as_ref().map(Recorder::journal)
    }

    /// The limit that fired when there were more requests than are kept.
    pub(super) fn fired(&self) -> Option<Fired> {
        let state = self.state();
        let recorder = state.recorder.as_ref().filter(|recorder| recorder.counted() > 0)?;
        let (kept, counted) = (recorder.kept(), recorder.counted());
        let detail = format!("`{}` kept {kept} requests and counted {counted} more", self.name);
        Some(Fired { limit: Limit::Requests, detail })
    }

    /// Ends the journal.
    pub(super) fn close(&self) {
        if let Some(recorder) = &mut self.state().recorder {
            recorder.close();
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer of a route to the request that it took in this turn, from 0.
    fn answer(&self, route: usize, turn: usize, names: &Names<'_>, share: &mut Share) -> Answer {
        let answers = &self.answers[route];
        let prepared = match (answers.get(turn), self.settings.routes[route].then) {
            (Some(prepared), _) => prepared,
            (None, Some(SequenceEnd::Status(status))) if self.settings.routes[route].sequence.is_some() => {
                return Answer::empty(status_of(status.get()));
            }
            (None, _) => match answers.last() {
                Some(prepared) => prepared,
                None => return Answer::empty(status_of(self.settings.default_response.get())),
            },
        };
        match prepared {
            Prepared::Fixed(answer) => answer.clone(),
            Prepared::Template(response) => self.rendered(response, names, share),
        }
    }

    fn rendered(&self, response: &MockResponse, names: &Names<'_>, share: &mut Share) -> Answer {
        let most = self.limits.rendered_bytes;
        match Answer::described(response, Some(&mut Rendering::new(names, most))) {
            Ok(answer) if share.grow(answer.body.len()) => answer,
            Ok(_) => no_room(),
            Err(_) => Answer::text(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("the mock's answer became larger than {most} bytes by its template\n"),
            ),
        }
    }

    /// Returns the redactor that finds honeytokens in requests to this mock.
    pub(super) fn watch(&self) -> Option<Redactor> {
        self.context.watch.as_ref().map(|redactor| redactor.at(format!("http {}", self.name)))
    }

    fn keep(&self, state: &mut State, mut exchange: Exchange, body: IncomingBody, answer: &Answer) {
        if state.recorder.is_none() && self.calls.is_none() {
            return;
        }
        exchange.body = body.into_evidence();
        exchange.status = answer.recorded_status(exchange.has_reached());
        exchange.at_ms = self.context.clock.elapsed_ms();
        (self.context.redact)(&mut exchange);
        let answered = self.answered(&exchange, answer);
        if let Some(calls) = &self.calls {
            let call = self.call(&exchange, &answered);
            calls.lock().unwrap_or_else(PoisonError::into_inner).record(call);
        }
        if let Some(recorder) = &mut state.recorder {
            exchange.answer = Some(answer.as_sent(answered));
            recorder.record(exchange);
        }
    }

    /// The answer to a request, in the form of one. It has secrets when it repeats the request, so it is redacted like one.
    fn answered(&self, exchange: &Exchange, answer: &Answer) -> Exchange {
        let mut answered = Exchange {
            method: exchange.method.clone(),
            path: exchange.path.clone(),
            query: Vec::new(),
            headers: answer.recorded_headers(),
            body: kept(&answer.body),
            status: exchange.status,
            at_ms: exchange.at_ms,
            fault: None,
            answer: None,
        };
        (self.context.redact)(&mut answered);
        answered
    }

    /// The call that an exchange is.
    fn call(&self, exchange: &Exchange, answered: &Exchange) -> Call {
        let body = match &answered.body {
            Body::Kept(blob) | Body::Cut { kept: blob, .. } => Some(blob.text()),
            Body::Dropped { .. } => None,
        };
        let text = body.filter(|text| !text.is_empty() && exchange.method != "HEAD");
        Call {
            at_ms: exchange.at_ms,
            service: self.name.clone(),
            host: exchange.header("host").map_or_else(|| self.name.clone(), host_name),
            method: exchange.method.clone(),
            path: exchange.path.clone(),
            status: exchange.status,
            response_body: text,
        }
    }
}

/// Returns the part of an answer's body that is kept.
fn kept(body: &Bytes) -> Body {
    if body.len() <= KEPT_ANSWER_BYTES {
        return Body::Kept(Blob(body.to_vec()));
    }
    let kept = Blob(body[..KEPT_ANSWER_BYTES].to_vec());
    Body::Cut { kept, size: body.len() as u64, sha256: scenario::hex(Sha256::digest(body)) }
}

/// A request for another path with the same headers.
fn get(head: &Exchange, path: &str) -> Exchange {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let query = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    Exchange { method: "GET".to_owned(), path: path.to_owned(), query, fault: None, ..head.clone() }
}

/// The answer to a request that finds no memory, because too many large ones are under way.
pub(crate) fn no_room() -> Answer {
    Answer::text(StatusCode::SERVICE_UNAVAILABLE, "too many large requests are under way at once\n")
}

fn status_of(status: i64) -> u16 {
    u16::try_from(status).unwrap_or_default()
}

/// The answers of a route: those of its sequence, or its only one.
fn prepare(route: &Route) -> Vec<Prepared> {
    let only = MockResponse {
        status: route.status,
        response: route.response.clone(),
        response_headers: route.response_headers.clone(),
        delay: route.delay,
    };
    let responses = route.sequence.clone().unwrap_or_else(|| vec![only]);
    let prepared = responses.into_iter().map(|response| match Answer::described(&response, None) {
        Ok(answer) if !route.template => Prepared::Fixed(answer),
        _ => Prepared::Template(response),
    });
    prepared.collect()
}
