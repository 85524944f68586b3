//! A worker's control port: how a server in another process asks about the sandboxes that people work in.
//!
//! `POST /v1/ask` takes an [`Ask`] and answers with an [`Answer`]; `GET /healthz` says that somebody is there. Who asks has to
//! know the worker's own token, and is asked for it before anything else is read.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use scenario::interactive::{Answer, Ask, MOST_FILE_BYTES};
use serde::Serialize;
use serde_json::json;
use subtle::ConstantTimeEq as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::interactive::Interactive;

/// How large a question may be: a file as base64, and the words around it.
const MOST_BODY: usize = MOST_FILE_BYTES / 3 * 4 + 256 * 1024;
/// How many connections there are at once; further ones wait.
const CONNECTIONS: usize = 64;
/// How long somebody may take to say what is wanted.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long answers that are under way may take once the end was asked for.
const FAREWELL: Duration = Duration::from_secs(5);

/// Serves a worker's control port until it is cancelled.
///
/// `token` is what who asks has to send as `Authorization: Bearer`.
pub async fn serve_control(listener: TcpListener, token: String, interactive: Interactive, cancel: CancellationToken) {
    let port = Arc::new(Port { token, interactive });
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let Some((place, accepted)) = cancel.run_until_cancelled(accepted).await else { break };
        match accepted {
            Ok((stream, _)) => {
                let port = Arc::clone(&port);
                connections.spawn(async move {
                    let _place = place;
                    serve(stream, port).await;
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection to the control port was not taken");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(FAREWELL, ended).await;
}

/// What every connection needs.
struct Port {
    token: String,
    interactive: Interactive,
}

async fn serve(stream: TcpStream, port: Arc<Port>) {
    let answer = service_fn(move |request| {
        let port = Arc::clone(&port);
        async move { Ok::<_, Infallible>(port.answer(request).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .keep_alive(true)
        .serve_connection(TokioIo::new(stream), answer);
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection to the control port ended early");
    }
}

impl Port {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if (request.method(), request.uri().path()) == (&Method::GET, "/healthz") {
            return json_response(StatusCode::OK, &json!({ "status": "ok" }));
        }
        if !self.knows_token(request.headers()) {
            return problem(StatusCode::UNAUTHORIZED, "the token of this worker is missing or wrong");
        }
        match (request.method(), request.uri().path()) {
            (&Method::POST, "/v1/ask") => self.ask(request).await,
            (_, "/v1/ask" | "/healthz") => problem(StatusCode::METHOD_NOT_ALLOWED, "this path takes another method"),
            _ => problem(StatusCode::NOT_FOUND, "a control port has /v1/ask and /healthz only"),
        }
    }

    /// Whether who asks knows the token. How long that takes says nothing about it.
    fn knows_token(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(AUTHORIZATION).map(|value| value.as_bytes()).unwrap_or_default();
        let given = given.strip_prefix(b"Bearer ").unwrap_or_default();
        !self.token.is_empty() && bool::from(given.ct_eq(self.token.as_bytes()))
    }

    async fn ask(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if length.is_some_and(|length: usize| length > MOST_BODY) {
            return too_large();
        }
        let reading = Limited::new(request.into_body(), MOST_BODY).collect();
        let body = match tokio::time::timeout(PATIENCE, reading).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => return too_large(),
            Ok(Err(error)) => return problem(StatusCode::BAD_REQUEST, &format!("the body cannot be read: {error}")),
            Err(_) => return problem(StatusCode::REQUEST_TIMEOUT, "the body took too long"),
        };
        match serde_json::from_slice::<Ask>(&body) {
            Ok(ask) => json_response(StatusCode::OK, &Answer::from(self.interactive.ask(ask).await)),
            Err(error) => problem(StatusCode::BAD_REQUEST, &format!("this is no question about a sandbox: {error}")),
        }
    }
}

fn too_large() -> Response<Full<Bytes>> {
    problem(StatusCode::PAYLOAD_TOO_LARGE, &format!("a question has at most {MOST_BODY} bytes"))
}

fn problem(status: StatusCode, message: &str) -> Response<Full<Bytes>> {
    json_response(status, &json!({ "error": message }))
}

fn json_response(status: StatusCode, body: &impl Serialize) -> Response<Full<Bytes>> {
    let bytes = serde_json::to_vec(body).unwrap_or_default();
    let mut response = Response::new(Full::new(Bytes::from(bytes)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static("application/json"));
    response
}
