//! HTTP without TLS: every request is judged by the host that it names, and sent on by itself.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Request, Response, StatusCode, Uri, Version};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::sync::Mutex;
use tokio_util::task::AbortOnDropHandle;

use super::gate::{Gate, Refusal};
use super::upstream::Record;

/// The port of HTTP without TLS.
pub(super) const PORT: u16 = 80;
/// Headers that are about one connection and not about the request.
const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "expect",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// The body of an answer.
pub(super) type Body = BoxBody<Bytes, hyper::Error>;

/// The requests of one connection.
#[derive(Debug)]
pub(super) struct Requests {
    gate: Arc<Gate>,
    /// The only host that they may name, when the client said so before.
    only: Option<String>,
    /// The connection to the host that was called last.
    open: Mutex<Option<Open>>,
}

/// A connection to a host.
#[derive(Debug)]
struct Open {
    host: String,
    sender: SendRequest<Incoming>,
    _connection: AbortOnDropHandle<()>,
    _record: Record,
}

impl Requests {
    /// The requests of a connection that may call any host that the gate lets through, or this one only.
    pub(super) fn new(gate: Arc<Gate>, only: Option<String>) -> Self {
        Self { gate, only, open: Mutex::new(None) }
    }

    /// Answers a request: with what the host answers, or with why it does not go out.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        match self.forward(request).await {
            Ok(response) => response,
            Err(refusal) => {
                self.gate.deny(PORT, &refusal);
                refuse(&refusal)
            }
        }
    }

    async fn forward(&self, mut request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
        let host = host_of(&request)?;
        let name = self.gate.judge(&host)?;
        if self.only.as_ref().is_some_and(|only| *only != name) {
            let reason = "the request names another host than its tunnel was opened for";
            return Err(Refusal::forbidden(&host, reason));
        }
        prepare(&mut request, &name);
        // Requests of one connection come one after another, so nobody waits for this for long.
        let mut open = self.open.lock().await;
        let usable = match open.take() {
            Some(mut old) if old.host == name => old.sender.ready().await.is_ok().then_some(old),
            _ => None,
        };
        let current = match usable {
            Some(usable) => usable,
            None => self.connect(name.clone()).await?,
        };
        let sent = open.insert(current).sender.send_request(request).await;
        let mut response = sent.map_err(|error| Refusal {
            host: name,
            status: StatusCode::BAD_GATEWAY,
            reason: format!("the host did not answer: {error}"),
        })?;
        remove_hop_by_hop(response.headers_mut());
        Ok(response.map(|body| body.boxed()))
    }

    async fn connect(&self, host: String) -> Result<Open, Refusal> {
        let (stream, record) = self.gate.open(&host, PORT).await?.into_parts();
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

/// Makes of a request to us one to the host.
fn prepare(request: &mut Request<Incoming>, host: &str) {
    remove_hop_by_hop(request.headers_mut());
    *request.version_mut() = Version::HTTP_11;
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    *request.uri_mut() = path.parse().unwrap_or_else(|_| Uri::from_static("/"));
    if let Ok(value) = HeaderValue::from_str(host) {
        request.headers_mut().insert(header::HOST, value);
    }
}

/// Removes what is about one connection, also what `Connection` says is.
fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let listed = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let listed: Vec<HeaderName> =
        listed.flat_map(|value| value.split(',')).filter_map(|name| name.trim().parse().ok()).collect();
    for name in listed {
        // What says how long the body is belongs to the request, whatever else is claimed.
        if name != header::HOST && name != header::CONTENT_LENGTH && name != header::TRANSFER_ENCODING {
            headers.remove(name);
        }
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

/// The answer to what does not go out.
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
    Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {}).boxed()
}
