//! HTTP without TLS: every request is judged by the host that it names, and sent on by itself.

use std::collections::HashSet;
use std::convert::Infallible;

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::sync::Mutex;
use tokio_util::task::AbortOnDropHandle;

use super::client::Client;
use super::gate::Refusal;
use super::upstream::Record;
use crate::faulted_requests::{Body, Sent, Server};
use crate::hop_by_hop::remove_hop_by_hop;
use crate::listener::Broken;

/// The port of HTTP without TLS.
pub(super) const PORT: u16 = 80;

/// Number of hosts that are remembered as called on one connection; a connection that calls more is counted anew.
const KNOWN_HOSTS: usize = 1000;

/// The requests of one connection.
#[derive(Debug)]
pub(super) struct Requests {
    client: Client,
    /// The only host that they may name, when the client said so before.
    only: Option<String>,
    /// The connection to the host that was called last.
    open: Mutex<Option<Open>>,
    /// The hosts that were called over this connection.
    called: Mutex<HashSet<String>>,
}

/// A connection to a host.
#[derive(Debug)]
struct Open {
    host: String,
    sender: SendRequest<Sent>,
    _connection: AbortOnDropHandle<()>,
    _record: Record,
}

/// The host that a request is for.
struct Host<'a> {
    requests: &'a Requests,
    name: String,
}

/// Reason why a request is not answered by its host.
enum Failure {
    Refused(Refusal),
    Broken,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Broken> for Failure {
    fn from(_: Broken) -> Self {
        Self::Broken
    }
}

impl Requests {
    /// The requests of a connection that may call any host that the gate lets through, or this one only.
    pub(super) fn new(client: Client, only: Option<String>) -> Self {
        Self { client, only, open: Mutex::default(), called: Mutex::default() }
    }

    /// Answers a request: with the host's answer, the reason why it was not called, or a fault.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Result<Response<Body>, Broken> {
        match self.forward(request).await {
            Ok(response) => Ok(response),
            Err(Failure::Refused(refusal)) => {
                self.client.gate.deny(PORT, &refusal);
                Ok(refuse(&refusal))
            }
            Err(Failure::Broken) => Err(Broken),
        }
    }

    async fn forward(&self, mut request: Request<Incoming>) -> Result<Response<Body>, Failure> {
        let Client { gate, reset, activity } = &self.client;
        let host = host_of(&request)?;
        let name = gate.judge(&host)?;
        if self.only.as_ref().is_some_and(|only| *only != name) {
            let reason = "the request names another host than its tunnel was opened for";
            return Err(Refusal::forbidden(&host, reason).into());
        }
        if let Ok(value) = HeaderValue::from_str(&name) {
            request.headers_mut().insert(header::HOST, value);
        }
        let faults = gate.faults_of(&name);
        let _under_way = faults.as_ref().map(|_| activity.begin());
        if let Some(faults) = &faults
            && self.is_first_call(&name).await
            && faults.refuses()
        {
            reset.arm();
            return Err(Failure::Broken);
        }
        let request = request.map(|body| body.boxed_unsync());
        gate.faulted.answer(request, faults.as_ref(), &Host { requests: self, name }, reset.clone()).await
    }

    /// Returns true if a host is called for the first time over this connection. That counts as a connection to it.
    async fn is_first_call(&self, host: &str) -> bool {
        let mut called = self.called.lock().await;
        if called.len() >= KNOWN_HOSTS {
            called.clear();
        }
        called.insert(host.to_owned())
    }

    async fn connect(&self, host: String) -> Result<Open, Refusal> {
        let (stream, record) = self.client.gate.open(&host, PORT).await?.into_parts();
        let shaken = http1::Builder::new().handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.map_err(|error| Refusal {
            host: host.clone(),
            status: StatusCode::BAD_GATEWAY,
            reason: error.to_string(),
        })?;
        let connection = tokio::spawn(async move {
            // How it ended is seen by who waits for an answer.
            let _ = connection.await;
        });
        Ok(Open { host, sender, _connection: AbortOnDropHandle::new(connection), _record: record })
    }
}

impl Server for Host<'_> {
    type Failure = Failure;

    async fn send(&self, request: Request<Sent>) -> Result<Response<Incoming>, Failure> {
        let Self { requests, name } = self;
        // Requests of one connection come one after another, so nobody waits for this for long.
        let mut open = requests.open.lock().await;
        let usable = match open.take() {
            Some(mut old) if old.host == *name => old.sender.ready().await.is_ok().then_some(old),
            _ => None,
        };
        let current = match usable {
            Some(usable) => usable,
            None => requests.connect(name.clone()).await?,
        };
        let sent = open.insert(current).sender.send_request(request).await;
        let mut response = sent.map_err(|error| Refusal {
            host: name.clone(),
            status: StatusCode::BAD_GATEWAY,
            reason: format!("the host did not answer: {error}"),
        })?;
        remove_hop_by_hop(response.headers_mut());
        Ok(response)
    }
}

/// The host that a request names; where it names one twice, both must be the same.
fn host_of(request: &Request<Incoming>) -> Result<String, Refusal> {
    let mut named = request.headers().get_all(header::HOST).iter();
    let header = match (named.next(), named.next()) {
        (Some(host), None) => Some(host.to_str().unwrap_or_default().to_owned()),
        (None, _) => None,
        (Some(_), Some(_)) => return Err(bad("", "the request names several hosts")),
    };
    let target = request.uri().authority().map(ToString::to_string);
    if request.uri().scheme_str().is_some_and(|scheme| scheme != "http") {
        return Err(bad(&target.unwrap_or_default(), "only `http://` is sent on as it is; `https://` needs CONNECT"));
    }
    match (target, header) {
        (Some(target), Some(header)) if without_port(&target)? != without_port(&header)? => {
            Err(Refusal::forbidden(&target, format!("the request names `{header}` as its host, and calls another")))
        }
        (Some(host), _) | (None, Some(host)) => without_port(&host),
        (None, None) => Err(bad("", "the request does not say which host it is for")),
    }
}

/// The name of a host without its port, which must be that of HTTP.
fn without_port(host: &str) -> Result<String, Refusal> {
    match host.rsplit_once(':') {
        Some((name, "80")) => Ok(name.to_ascii_lowercase()),
        Some((name, port)) if !host.ends_with(']') => {
            Err(Refusal::forbidden(name, format!("only ports 80 and 443 can be reached, and not `{port}`")))
        }
        _ => Ok(host.to_ascii_lowercase()),
    }
}

fn bad(host: &str, reason: &str) -> Refusal {
    Refusal { host: host.to_owned(), status: StatusCode::BAD_REQUEST, reason: reason.to_owned() }
}

/// Makes the answer to a request that does not go out.
pub(super) fn refuse(refusal: &Refusal) -> Response<Body> {
    let host = if refusal.host.is_empty() { "the request" } else { refusal.host.as_str() };
    let text = format!("touchstone: {host}: {}\n", refusal.reason);
    let mut response = Response::new(text_body(text));
    *response.status_mut() = refusal.status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// A body of text.
pub(super) fn text_body(text: String) -> Body {
    Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {}).boxed_unsync()
}
