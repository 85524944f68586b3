//! A plain server: reads the request, gives the answer, and does nothing else.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream;
use http::Response;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::target::{Ask, Target};

/// A plain server's answer: its type and its parts, each of which is sent by itself.
#[derive(Debug, Clone)]
pub(crate) struct Plain {
    /// The type of the content.
    pub(crate) content_type: &'static str,
    /// The parts. A single one is sent with its length.
    pub(crate) parts: Arc<[Bytes]>,
}

/// A plain server on loopback. It ends when the guard is dropped.
pub(crate) async fn serve(answer: Plain) -> (SocketAddr, DropGuard) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let address = listener.local_addr().expect("its address");
    let stopped = CancellationToken::new();
    let guard = stopped.clone().drop_guard();
    tokio::spawn(async move { stopped.run_until_cancelled(accept(listener, answer)).await });
    (address, guard)
}

/// A plain server with a request.
pub(crate) async fn target(answer: Plain, ask: Ask) -> Target {
    let (address, guard) = serve(answer).await;
    Target { address, ask, _server: Box::new(guard) }
}

async fn accept(listener: TcpListener, answer: Plain) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let answer = answer.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| respond(request, answer.clone()));
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn respond(
    request: http::Request<Incoming>,
    answer: Plain,
) -> Result<Response<http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>>, Infallible> {
    let _ = request.into_body().collect().await;
    let response = Response::builder().header("content-type", answer.content_type);
    let (response, parts) = match &*answer.parts {
        [only] => (response.header("content-length", only.len()), vec![only.clone()]),
        parts => (response, parts.to_vec()),
    };
    let frames = stream::iter(parts.into_iter().map(|part| Ok(Frame::data(part))));
    Ok(response.body(StreamBody::new(frames).boxed_unsync()).expect("an answer"))
}
