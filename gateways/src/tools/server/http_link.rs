//! A server that speaks MCP over streamable HTTP.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use eventsource_stream::Eventsource as _;
use futures::StreamExt as _;
use http::header::{ACCEPT, CONTENT_TYPE, HOST};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, BodyStream, Full, Limited};
use hyper::body::Incoming;
use serde_json::Value as Json;

use super::pending::Pending;
use super::{Progress, ServerFailure};
use crate::tools::service_client::{ServiceClient, ServicePlace, header};

/// The header with the id of a session.
const SESSION: &str = "mcp-session-id";
/// The header with the version of the protocol.
const VERSION: &str = "mcp-protocol-version";
/// How large an answer may be: 16 MiB.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// The link to a server that is a service.
pub(super) struct HttpLink {
    client: ServiceClient,
    path: String,
    pending: Arc<Pending>,
    session: Mutex<Option<String>>,
    version: Mutex<Option<String>>,
}

/// A question that is taken back unless it was answered.
struct Asked<'a>(&'a Pending, u64);

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.0.forget(self.1);
    }
}

impl HttpLink {
    pub(super) fn new(place: ServicePlace, path: String, pending: Arc<Pending>) -> Self {
        let client = ServiceClient::new(place);
        Self { client, path, pending, session: Mutex::default(), version: Mutex::default() }
    }

    /// The version that was agreed upon; later requests name it.
    pub(super) fn agreed(&self, version: &str) {
        *self.version.lock().unwrap_or_else(PoisonError::into_inner) = Some(version.to_owned());
    }

    pub(super) async fn request(
        &self,
        method: &str,
        params: Json,
        progress: Option<Progress>,
    ) -> Result<Json, ServerFailure> {
        let (mut question, message) = self.pending.ask(method, params, progress);
        let _asked = Asked(&self.pending, question.id);
        // The connection is used until the answer was read.
        let (_sender, response) = self.post(&message).await?;
        let status = response.status();
        if let Some(session) = header(response.headers(), SESSION) {
            *self.session.lock().unwrap_or_else(PoisonError::into_inner) = Some(session.to_owned());
        }
        let is_stream =
            header(response.headers(), "content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        if is_stream && status.is_success() {
            self.read_events(response.into_body(), &mut question.answer).await?;
        } else {
            self.read_whole(status, response.into_body()).await?;
        }
        let unanswered = || self.pending.broken(format!("ended its answer to `{method}` without a result"));
        question.answer.try_recv().map_err(|_| unanswered())?
    }

    /// Sends a message that wants no answer.
    pub(super) async fn notify(&self, message: &Json) -> Result<(), ServerFailure> {
        let (_sender, response) = self.post(message).await?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(self.pending.broken(format!("answered a notification with {status}"))),
        }
    }

    async fn post(
        &self,
        message: &Json,
    ) -> Result<(hyper::client::conn::http1::SendRequest<Full<Bytes>>, http::Response<Incoming>), ServerFailure> {
        let mut request = Request::builder().method(Method::POST).uri(&self.path).header(HOST, self.client.host());
        request =
            request.header(CONTENT_TYPE, "application/json").header(ACCEPT, "application/json, text/event-stream");
        let known = |value: &Mutex<Option<String>>| value.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (name, value) in [(SESSION, known(&self.session)), (VERSION, known(&self.version))] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let request = request.body(Full::new(Bytes::from(message.to_string())));
        let request = request.map_err(|problem| self.pending.broken(format!("cannot be asked: {problem}")))?;
        let begun = self.client.begin(request).await;
        begun.map_err(|problem| self.pending.gone(&problem.to_string()))
    }

    async fn read_whole(&self, status: StatusCode, body: Incoming) -> Result<(), ServerFailure> {
        let body = Limited::new(body, ANSWER_BYTES).collect().await;
        let body = body.map_err(|problem| self.pending.gone(&problem.to_string()))?.to_bytes();
        match serde_json::from_slice::<Json>(&body) {
            Ok(message) if message.is_object() => {
                self.pending.take(message);
                Ok(())
            }
            _ if status.is_success() => Err(self.pending.broken("answered with something that is no JSON")),
            _ => Err(self.pending.broken(format!("answered with {status}"))),
        }
    }

    /// Reads a stream of events until the question was answered, or the stream ends.
    async fn read_events<Answer>(
        &self,
        body: Incoming,
        answer: &mut tokio::sync::oneshot::Receiver<Answer>,
    ) -> Result<(), ServerFailure> {
        let parts = BodyStream::new(Limited::new(body, ANSWER_BYTES));
        let parts = parts.map(|frame| frame.map(|frame| frame.into_data().unwrap_or_default()));
        let mut events = std::pin::pin!(parts.eventsource());
        while let Some(event) = events.next().await {
            let event = event.map_err(|problem| self.pending.gone(&problem.to_string()))?;
            if let Ok(message) = serde_json::from_str::<Json>(&event.data) {
                self.pending.take(message);
            }
            if !answer.is_empty() {
                break;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for HttpLink {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpLink")
            .field("client", &self.client)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
