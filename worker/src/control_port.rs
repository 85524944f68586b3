//! A worker's control port: how a server in another process asks about the sandboxes that people work in.
//!
//! `POST /v1/ask` takes an [`Ask`] and answers with an [`Answer`]; `GET /healthz` answers that the worker lives. A
//! caller has to send the worker's own token, which is checked before anything else is read.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use listener::{Connection, Connections, Incoming, Limits};
use scenario::interactive::{Answer, Ask, MOST_FILE_BYTES};
use serde::Serialize;
use serde_json::json;
use subtle::ConstantTimeEq as _;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::interactive::Interactive;

/// Largest body of a request in bytes: a file as base64, and the JSON around it.
const MOST_BODY: usize = MOST_FILE_BYTES / 3 * 4 + 256 * 1024;
/// Connections at once. Servers keep most of them; callers without the token get the rest.
const CONNECTIONS: usize = 128;
/// Timeout for receiving a body.
const PATIENCE: Duration = Duration::from_secs(30);
/// Key under which servers are counted: all of them have the same token.
const SERVERS: &str = "servers";
/// Time limit for answers that are under way when the port shuts down.
const FAREWELL: Duration = Duration::from_secs(5);

/// Serves a worker's control port until it is cancelled.
///
/// `token` is the token that callers have to send as `Authorization: Bearer`.
pub async fn serve_control(listener: TcpListener, token: String, interactive: Interactive, cancel: CancellationToken) {
    let port = Arc::new(Port { token, interactive });
    let answer = move |request: Request<Incoming>| {
        let port = Arc::clone(&port);
        async move { port.answer(request).await }
    };
    let limits = Limits { connections: CONNECTIONS, ..Limits::default() };
    let connections = Connections::of_one_key(limits);
    let serving = connections.serve(listener, answer, cancel.cancelled());
    let late = async {
        cancel.cancelled().await;
        tokio::time::sleep(FAREWELL).await;
    };
    tokio::select! {
        () = serving => {}
        () = late => {}
    }
}

/// State that all connections share.
struct Port {
    token: String,
    interactive: Interactive,
}

impl Port {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        if (request.method(), request.uri().path()) == (&Method::GET, "/healthz") {
            return json_response(StatusCode::OK, &json!({ "status": "ok" }));
        }
        let is_known = self.knows_token(request.headers());
        if let Some(connection) = request.extensions().get::<Connection>() {
            match is_known {
                true if connection.authenticated(SERVERS).is_err() => return too_many(),
                true => {}
                false => connection.unauthenticated(),
            }
        }
        if !is_known {
            return problem(StatusCode::UNAUTHORIZED, "the token of this worker is missing or wrong");
        }
        match (request.method(), request.uri().path()) {
            (&Method::POST, "/v1/ask") => self.ask(request).await,
            (_, "/v1/ask" | "/healthz") => problem(StatusCode::METHOD_NOT_ALLOWED, "this path takes another method"),
            _ => problem(StatusCode::NOT_FOUND, "a control port has /v1/ask and /healthz only"),
        }
    }

    /// Returns true if the caller sent the token. Compares in constant time, so that the duration reveals nothing about
    /// it.
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

fn too_many() -> Response<Full<Bytes>> {
    let mut response =
        problem(StatusCode::SERVICE_UNAVAILABLE, "too many questions are being answered; try again soon");
    response.headers_mut().insert(RETRY_AFTER, http::HeaderValue::from_static("1"));
    response
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
