//! The gateway as HTTP: one address for both eras of the protocol.

use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming as HttpBody};
use scenario::spec::sections::ToolMode;
use serde_json::{Value as Json, json};
use tokio::sync::{broadcast, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Inner;
use super::call::{Called, ProgressTo, ToolCall, WAITING_PROGRESS};
use super::faulted::{json_answer, on_wire};
use super::limits::{HEAD_BYTES, KEEP_ALIVE, MESSAGE_BYTES, WAIT};
use super::methods::complete;
use super::protocol::{Era, Incoming, RpcError, RpcRequest, Session, Version, error_response, notification, response};
use crate::contract_session::{ContractSession, UnknownToken};
use crate::http_mock::Answer;
use crate::listener::{Broken, Connection, HalfClose, HttpSettings, Reset};
use crate::memory_budget::Share;

/// The path of the gateway.
pub(super) const PATH: &str = "/mcp";
/// The header with the id of a session.
const SESSION: &str = "mcp-session-id";

/// The header with the version of the protocol.
const VERSION: &str = "mcp-protocol-version";
/// The key of `_meta` under which a client that has no session tells its name.
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";

/// The body of an answer.
type Body = UnsyncBoxBody<Bytes, Broken>;

/// An answer that is not sent yet.
enum Reply {
    /// A whole one.
    Whole(Answer),
    /// A stream of events.
    Stream(Response<Body>),
}

/// A request of the protocol with all that decides about its answer.
struct Asked {
    request: RpcRequest,
    era: Era,
    session: Option<(String, Arc<Session>)>,
    /// The session of a workflow under contracts that it names.
    contracts: Option<Arc<ContractSession>>,
}

/// A call under way, with all that decides about its answer.
struct UnderWay {
    calling: JoinHandle<Called>,
    era: Era,
    id: Json,
    session: Option<(String, Arc<Session>)>,
    /// Cancels the call when nobody waits for its answer any more.
    _hang_up: Option<DropGuard>,
}

impl Inner {
    /// Serves one connection until it ends.
    pub(super) async fn connection(self: Arc<Self>, connection: Connection) {
        let settings = HttpSettings {
            head_bytes: HEAD_BYTES,
            head_wait: WAIT,
            half_close: HalfClose::Leave,
            closes_when_crowded: false,
            http2: None,
        };
        let reset = connection.reset.clone();
        let answer = move |request| Arc::clone(&self).respond(request, reset.clone());
        connection.serve_http(settings, answer).await;
    }

    async fn respond(self: Arc<Self>, request: Request<HttpBody>, reset: Reset) -> Result<Response<Body>, Broken> {
        let (parts, body) = request.into_parts();
        let mut share = self.room.share();
        let reply = match (parts.uri.path(), &parts.method) {
            (PATH, &Method::POST) => match read(body, &mut share).await {
                Ok(body) => Arc::clone(&self).posted(&parts, &body).await,
                Err(refusal) => Reply::Whole(refusal),
            },
            (PATH, &Method::GET) => self.streamed(&parts.headers),
            (PATH, &Method::DELETE) => Reply::Whole(self.ended_session(&parts.headers)),
            (PATH, _) => Reply::Whole(
                plain(StatusCode::METHOD_NOT_ALLOWED, "GET, POST and DELETE are served")
                    .with(ALLOW, HeaderValue::from_static("GET, POST, DELETE")),
            ),
            _ => Reply::Whole(plain(StatusCode::NOT_FOUND, "MCP is served at /mcp")),
        };
        match reply {
            Reply::Stream(response) => Ok(response),
            Reply::Whole(answer) => {
                let answer = if share.grow(answer.body.len()) { answer } else { crate::http_mock::no_room() };
                let delivered = answer.deliver(&parts.method, parts.version, share, reset).await?;
                Ok(delivered.map(|body| body.boxed_unsync()))
            }
        }
    }

    /// Answers a message.
    async fn posted(self: Arc<Self>, parts: &Parts, body: &[u8]) -> Reply {
        let request = match Incoming::parse(body) {
            Ok(Incoming::Request(request)) => request,
            Ok(Incoming::Notification { method, params }) => {
                return Reply::Whole(self.notified(&parts.headers, &method, &params));
            }
            Ok(Incoming::Answer) => return Reply::Whole(Answer::empty(202)),
            Err(problem) => {
                return Reply::Whole(json_answer(StatusCode::BAD_REQUEST, &error_response(&Json::Null, &problem)));
            }
        };
        let id = request.id.clone();
        let asked = match self.admit(parts, request) {
            Ok(asked) => asked,
            Err(refusal) => return Reply::Whole(*refusal),
        };
        match asked.request.method.as_str() {
            "initialize" => Reply::Whole(self.began(&asked)),
            "tools/call" => self.called(&parts.headers, asked).await,
            "subscriptions/listen" => self.subscribed(&asked),
            method => {
                if method == "tools/list"
                    && let Some(wait) = self.before_list(&asked.request.params).await
                {
                    return Reply::Whole(Answer::silent(wait));
                }
                let outcome = self.answer(asked.era, method, &asked.request.params, asked.contracts.as_ref()).await;
                Reply::Whole(answer_of(asked.era, &id, outcome))
            }
        }
    }

    /// Finds the era and session of a request. The body decides; a header that contradicts it is refused.
    fn admit(&self, parts: &Parts, request: RpcRequest) -> Result<Asked, Box<Answer>> {
        let refused = |problem: RpcError| refusal(problem.status(), &request.id, &problem);
        let unknown = |unknown: UnknownToken| {
            refusal(StatusCode::UNAUTHORIZED, &request.id, &RpcError::params(unknown.to_string()))
        };
        let contracts = self.session_of(&parts.headers).map_err(unknown)?;
        let era = Era::of(&request).map_err(refused)?;
        let named = request.params["name"].as_str().or_else(|| request.params["uri"].as_str());
        let version = era.alone().map(Version::name);
        let known = [("mcp-method", Some(request.method.as_str())), ("mcp-name", named), (VERSION, version)];
        for (header, value) in known {
            let given = parts.headers.get(header).and_then(|given| given.to_str().ok());
            let is_other =
                given.is_some_and(|given| value.is_some_and(|value| given != value) && !given.starts_with("=?base64?"));
            if era.is_alone() && is_other {
                return Err(refused(RpcError::header(header)));
            }
        }
        if let Some(version) = era.alone() {
            self.note_client(&request.params["_meta"][CLIENT_INFO], version);
        }
        let session = match (era, text(&parts.headers, SESSION)) {
            (Era::Session, Some(id)) if request.method != "initialize" => {
                let gone = || refusal(StatusCode::NOT_FOUND, &request.id, &RpcError::no_session());
                Some((id.to_owned(), self.sessions.get(id).ok_or_else(gone)?))
            }
            _ => None,
        };
        Ok(Asked { request, era, session, contracts })
    }

    /// Begins a session.
    fn began(&self, asked: &Asked) -> Answer {
        match self.initialize(&asked.request.params) {
            Ok(result) => {
                let session = self.sessions.begin();
                let session = HeaderValue::from_str(&session).unwrap_or(HeaderValue::from_static(""));
                let answer = json_answer(StatusCode::OK, &response(&asked.request.id, result));
                answer.with(HeaderName::from_static(SESSION), session)
            }
            Err(problem) => answer_of(asked.era, &asked.request.id, Err(problem)),
        }
    }

    /// Takes a notification.
    fn notified(&self, headers: &HeaderMap, method: &str, params: &Json) -> Answer {
        if let Some(id) = text(headers, SESSION) {
            let Some(session) = self.sessions.get(id) else {
                return json_answer(StatusCode::NOT_FOUND, &error_response(&Json::Null, &RpcError::no_session()));
            };
            if method == "notifications/cancelled" {
                session.cancel(&params["requestId"]);
            }
        }
        Answer::empty(202)
    }

    fn ended_session(&self, headers: &HeaderMap) -> Answer {
        match text(headers, SESSION) {
            Some(id) if self.sessions.end(id) => Answer::empty(200),
            Some(_) => plain(StatusCode::NOT_FOUND, "there is no such session"),
            None => plain(StatusCode::BAD_REQUEST, "`Mcp-Session-Id` is missing"),
        }
    }

    /// Calls a tool. The call goes on when the client hangs up, and its result is recorded all the same.
    ///
    /// An answer that comes before any progress is a whole one, with a status of its own; else it ends a stream.
    async fn called(self: Arc<Self>, headers: &HeaderMap, asked: Asked) -> Reply {
        let Asked { request, era, session, contracts } = asked;
        let token = request.params["_meta"]["progressToken"].clone();
        let streams = !token.is_null() && accepts(headers, "text/event-stream");
        let (sender, mut events) = mpsc::channel(WAITING_PROGRESS);
        let progress = streams.then_some(ProgressTo { token, stream: sender });
        let cancelled = CancellationToken::new();
        let call = match ToolCall::read(&request.params, progress, cancelled.clone()) {
            Ok(call) => ToolCall { contracts, ..call },
            Err(problem) => return Reply::Whole(answer_of(era, &request.id, Err(problem))),
        };
        // Without a session, a client that hangs up wants the call to be cancelled.
        let hang_up = era.is_alone().then(|| cancelled.clone().drop_guard());
        let calling = self.start_call(call, session.as_ref(), &request.id, cancelled);
        let under_way = UnderWay { calling, era, id: request.id, session, _hang_up: hang_up };
        match events.recv().await {
            Some(first) => Reply::Stream(event_stream(self.events_until(first, events, under_way))),
            None => Reply::Whole(self.whole(under_way).await),
        }
    }

    /// Starts a call, which its session can cancel until it has ended.
    fn start_call(
        self: &Arc<Self>,
        call: ToolCall,
        session: Option<&(String, Arc<Session>)>,
        id: &Json,
        cancelled: CancellationToken,
    ) -> JoinHandle<Called> {
        let session = session.map(|(_, session)| Arc::clone(session));
        if let Some(session) = &session {
            session.call_begins(id, cancelled);
        }
        let (inner, id) = (Arc::clone(self), id.clone());
        self.tasks.spawn(async move {
            let called = inner.call(call).await;
            if let Some(session) = session {
                session.call_ended(&id);
            }
            called
        })
    }

    /// The whole answer to a call.
    async fn whole(&self, under_way: UnderWay) -> Answer {
        let UnderWay { calling, era, id, session, _hang_up } = under_way;
        match calling.await {
            Ok(called) => self.delivered(called, era, &id, session.map(|(id, _)| id)),
            Err(_) => answer_of(era, &id, Err(RpcError::internal("the call broke off"))),
        }
    }

    /// The answer to a call, as its faults have it.
    fn delivered(&self, called: Called, era: Era, id: &Json, session: Option<String>) -> Answer {
        if called.loses_session {
            if let Some(session) = session {
                self.sessions.end(&session);
            }
            return json_answer(StatusCode::NOT_FOUND, &error_response(id, &RpcError::no_session()));
        }
        let answer = match called.instead {
            Some(instead) => instead,
            None => {
                let outcome = called.outcome.map(|result| complete(era, "tools/call", result));
                let answer = answer_of(era, id, outcome);
                match called.on_wire {
                    Some(fault) => on_wire(fault, &answer),
                    None => answer,
                }
            }
        };
        answer.delayed(called.delay)
    }

    /// Progress of a call, and then its answer.
    fn events_until(
        self: Arc<Self>,
        first: Json,
        events: mpsc::Receiver<Json>,
        under_way: UnderWay,
    ) -> impl futures::Stream<Item = Result<Option<Json>, Broken>> + Send {
        let more = stream::unfold(events, |mut events| async move { Some((Ok(Some(events.recv().await?)), events)) });
        let last = stream::once(async move { self.last_event(under_way).await });
        stream::iter([Ok(Some(first))]).chain(more).chain(last)
    }

    /// The answer to a call whose stream has begun. A fault of HTTP comes too late for a status: the stream breaks off.
    async fn last_event(&self, under_way: UnderWay) -> Result<Option<Json>, Broken> {
        let UnderWay { calling, era, id, session, _hang_up } = under_way;
        let called = calling.await.map_err(|_| Broken)?;
        if !called.delay.is_zero() {
            sleep(called.delay).await;
        }
        if let Some((session, _)) = session.filter(|_| called.loses_session) {
            self.sessions.end(&session);
        }
        let is_cut = called.on_wire.is_some_and(|fault| !matches!(fault.mode, ToolMode::Dribble(_)));
        if called.instead.is_some() || called.loses_session || is_cut {
            return Err(Broken);
        }
        Ok(Some(match called.outcome {
            Ok(result) => response(&id, complete(era, "tools/call", result)),
            Err(problem) => error_response(&id, &problem),
        }))
    }

    /// A stream of notifications for a session.
    fn streamed(&self, headers: &HeaderMap) -> Reply {
        let gone = text(headers, SESSION).is_some_and(|id| self.sessions.get(id).is_none());
        if gone {
            return Reply::Whole(plain(StatusCode::NOT_FOUND, "there is no such session"));
        }
        Reply::Stream(event_stream(news(self.sessions.listen(), self.ended.clone(), None).map(Ok)))
    }

    /// A stream of notifications for a client without a session.
    fn subscribed(&self, asked: &Asked) -> Reply {
        let wanted = &asked.request.params["notifications"];
        let accepted = if wanted["toolsListChanged"] == true { json!({"toolsListChanged": true}) } else { json!({}) };
        let meta = json!({"io.modelcontextprotocol/subscriptionId": asked.request.id});
        let first =
            notification("notifications/subscriptions/acknowledged", json!({"notifications": accepted, "_meta": meta}));
        let news = news(self.sessions.listen(), self.ended.clone(), Some(meta));
        Reply::Stream(event_stream(stream::iter([Some(first)]).chain(news).map(Ok)))
    }
}

/// Notifications, with signs of life in between.
fn news(
    listening: broadcast::Receiver<Json>,
    ended: CancellationToken,
    meta: Option<Json>,
) -> impl futures::Stream<Item = Option<Json>> + Send {
    stream::unfold((listening, ended, meta), |(mut listening, ended, meta)| async move {
        let event = tokio::select! {
            () = ended.cancelled() => return None,
            event = timeout(KEEP_ALIVE, listening.recv()) => event,
        };
        let mut event = match event {
            Ok(Ok(event)) => Some(event),
            Ok(Err(broadcast::error::RecvError::Closed)) => return None,
            // What was missed is told by the next one, and silence by a comment.
            Ok(Err(broadcast::error::RecvError::Lagged(_))) | Err(_) => None,
        };
        if let (Some(event), Some(meta)) = (&mut event, &meta) {
            event["params"]["_meta"] = meta.clone();
        }
        Some((event, (listening, ended, meta)))
    })
}

/// An answer that is a stream of events; nothing is written as a comment.
fn event_stream(events: impl futures::Stream<Item = Result<Option<Json>, Broken>> + Send + 'static) -> Response<Body> {
    let frames = events.map(|event| {
        let text = match event? {
            Some(message) => format!("event: message\ndata: {message}\n\n"),
            None => ": still here\n\n".to_owned(),
        };
        Ok(Frame::data(Bytes::from(text)))
    });
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn answer_of(era: Era, id: &Json, outcome: Result<Json, RpcError>) -> Answer {
    match outcome {
        Ok(result) => json_answer(StatusCode::OK, &response(id, result)),
        Err(problem) => {
            let status = if era.is_alone() { problem.status() } else { StatusCode::OK };
            json_answer(status, &error_response(id, &problem))
        }
    }
}

/// The answer to a request that belongs to nothing.
fn refusal(status: StatusCode, id: &Json, problem: &RpcError) -> Box<Answer> {
    Box::new(json_answer(status, &error_response(id, problem)))
}

fn plain(status: StatusCode, message: &str) -> Answer {
    json_answer(status, &json!({"error": message}))
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let all = headers.get_all(http::header::ACCEPT);
    all.iter().filter_map(|value| value.to_str().ok()).any(|value| value.contains(kind) || value.contains("*/*"))
}

/// Reads a message to its end, or says why it is not read.
async fn read(mut body: HttpBody, share: &mut Share) -> Result<Vec<u8>, Answer> {
    let mut read = Vec::new();
    loop {
        let frame = match timeout(WAIT, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => return Ok(read),
            Ok(Some(Err(_))) => return Err(plain(StatusCode::BAD_REQUEST, "the message did not come whole")),
            Err(_) => return Err(plain(StatusCode::REQUEST_TIMEOUT, "nothing of the message came for too long")),
        };
        let Some(part) = frame.data_ref() else { continue };
        if part.len() > MESSAGE_BYTES - read.len() {
            let message = format!("the message is larger than {MESSAGE_BYTES} bytes");
            return Err(plain(StatusCode::PAYLOAD_TOO_LARGE, &message).closing());
        }
        if !share.grow(part.len()) {
            return Err(crate::http_mock::no_room());
        }
        read.extend_from_slice(part);
    }
}
