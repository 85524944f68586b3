//! A server that speaks MCP over streamable HTTP.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use eventsource_stream::Eventsource as _;
use futures::StreamExt as _;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, BodyStream, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use serde_json::Value as Json;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::pending::{Pending, Question, Reaction};
use super::{Progress, ServerFailure};
use crate::tools::service_client::{ServiceClient, ServicePlace, header};

/// The header with the id of a session.
const SESSION: &str = "mcp-session-id";
/// The header with the version of the protocol.
const VERSION: &str = "mcp-protocol-version";
/// Largest answer: 16 MiB.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Timeout for a server to accept a message that wants no answer.
const ACCEPT_WAIT: Duration = Duration::from_secs(10);

/// The link to a server that is a service.
#[derive(Debug, Clone)]
pub(super) struct HttpLink(Arc<Inner>);

struct Inner {
    client: ServiceClient,
    path: String,
    pending: Arc<Pending>,
    session: Mutex<Option<String>>,
    version: Mutex<Option<String>>,
}

/// A question that is cancelled when this is dropped while the answer is still awaited.
struct Asked<'a> {
    link: &'a HttpLink,
    id: u64,
    is_over: bool,
}

/// The head of an answer, with the connection that it comes on.
type Begun = (SendRequest<Full<Bytes>>, Response<Incoming>);

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if self.link.0.pending.forget(self.id) && !self.is_over {
            self.link.tell_aside(Pending::cancelling(self.id));
        }
    }
}

impl HttpLink {
    pub(super) fn new(place: ServicePlace, path: String, pending: Arc<Pending>) -> Self {
        let client = ServiceClient::new(place);
        Self(Arc::new(Inner { client, path, pending, session: Mutex::default(), version: Mutex::default() }))
    }

    /// The version that was agreed upon; later requests name it.
    pub(super) fn agreed(&self, version: &str) {
        *self.0.version.lock().unwrap_or_else(PoisonError::into_inner) = Some(version.to_owned());
    }

    pub(super) async fn request(
        &self,
        method: &str,
        params: Json,
        progress: Option<Progress>,
    ) -> Result<Json, ServerFailure> {
        let (question, message) = self.0.pending.ask(method, params, progress);
        let mut asked = Asked { link: self, id: question.id, is_over: false };
        let outcome = self.answered(method, &message, question).await;
        asked.is_over = true;
        outcome
    }

    async fn answered(&self, method: &str, message: &Json, mut question: Question) -> Result<Json, ServerFailure> {
        let (sender, response) = self.0.post(message).await?;
        let status = response.status();
        if let Some(session) = header(response.headers(), SESSION) {
            *self.0.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.to_owned());
        }
        // The connection lives until the answer was read.
        if is_stream(&response) && status.is_success() {
            self.read_events(response.into_body(), &mut question.answer).await?;
            drop(sender);
        } else {
            self.0.read_whole(status, response.into_body()).await?;
            self.0.client.keep(sender);
        }
        let unanswered = || self.0.pending.broken(format!("ended its answer to `{method}` without a result"));
        question.answer.try_recv().map_err(|_| unanswered())?
    }

    /// Closes connections that nobody uses.
    pub(super) fn close_idle(&self) {
        self.0.client.close_idle();
    }

    /// Sends a message that wants no answer.
    pub(super) async fn notify(&self, message: &Json) -> Result<(), ServerFailure> {
        self.0.notify(message).await
    }

    /// Sends a message that wants no answer, without waiting. A server that takes none learns nothing.
    fn tell_aside(&self, message: Json) {
        let inner = Arc::clone(&self.0);
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { timeout(ACCEPT_WAIT, inner.notify(&message)).await });
        }
    }

    /// Receives the server's own messages, where it has a stream for them, until the stream ends.
    pub(super) async fn listen(self) {
        let Ok((_sender, response)) = self.0.send(Method::GET, "text/event-stream", Bytes::new()).await else { return };
        if response.status().is_success() && is_stream(&response) {
            // Nothing is asked, so that only the end of the stream ends it.
            let (_asking, mut never) = oneshot::channel::<()>();
            let _ = self.read_events(response.into_body(), &mut never).await;
        }
    }

    /// Reads a stream of events until the question was answered, or the stream ends.
    async fn read_events<Answer>(
        &self,
        body: Incoming,
        answer: &mut oneshot::Receiver<Answer>,
    ) -> Result<(), ServerFailure> {
        let parts = BodyStream::new(Limited::new(body, ANSWER_BYTES));
        let parts = parts.map(|frame| frame.map(|frame| frame.into_data().unwrap_or_default()));
        let mut events = std::pin::pin!(parts.eventsource());
        while let Some(event) = events.next().await {
            let event = event.map_err(|problem| self.0.pending.gone(&problem.to_string()))?;
            if let Some(Reaction::Reply(reply)) = self.0.pending.read(event.data.as_bytes()) {
                self.tell_aside(reply);
            }
            if !answer.is_empty() {
                break;
            }
        }
        Ok(())
    }
}

impl Inner {
    async fn notify(&self, message: &Json) -> Result<(), ServerFailure> {
        let (_sender, response) = self.post(message).await?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(self.pending.broken(format!("answered a notification with {status}"))),
        }
    }

    async fn post(&self, message: &Json) -> Result<Begun, ServerFailure> {
        self.send(Method::POST, "application/json, text/event-stream", message.to_string().into()).await
    }

    async fn send(&self, method: Method, accept: &str, body: Bytes) -> Result<Begun, ServerFailure> {
        let mut request = Request::builder().method(method).uri(&self.path).header(HOST, self.client.host());
        request = request.header(CONTENT_TYPE, "application/json").header(ACCEPT, accept);
        let known = |value: &Mutex<Option<String>>| value.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (name, value) in [(SESSION, known(&self.session)), (VERSION, known(&self.version))] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let request = request.body(Full::new(body));
        let request = request.map_err(|problem| self.pending.broken(format!("cannot be asked: {problem}")))?;
        let begun = self.client.begin(request).await;
        begun.map_err(|problem| self.pending.gone(&problem.to_string()))
    }

    async fn read_whole(&self, status: StatusCode, body: Incoming) -> Result<(), ServerFailure> {
        let body = Limited::new(body, ANSWER_BYTES).collect().await;
        let body = body.map_err(|problem| self.pending.gone(&problem.to_string()))?.to_bytes();
        match self.pending.read(&body) {
            Some(_) => Ok(()),
            None if status.is_success() => Err(self.pending.broken("answered with something that is no JSON")),
            None => Err(self.pending.broken(format!("answered with {status}"))),
        }
    }
}

/// True for an answer that is a stream of events.
fn is_stream(response: &Response<Incoming>) -> bool {
    header(response.headers(), "content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
}

impl fmt::Debug for Inner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpLink")
            .field("client", &self.client)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
