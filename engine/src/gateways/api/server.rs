//! Listeners and connections.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::answer::Answer;
use super::limits::{ACCEPT_PAUSE, ApiLimits, HEAD_BYTES, STOP_WAIT};
use super::requests::{Requests, no_room};
use crate::gateways::room::Share;
use crate::gateways::settling::settle;

/// What all listeners of the gateway share.
pub(super) struct Server {
    requests: Arc<Requests>,
    limits: ApiLimits,
    connections: Arc<Semaphore>,
    tracker: TaskTracker,
    stopped: CancellationToken,
}

impl Server {
    pub(super) fn new(requests: Arc<Requests>, limits: ApiLimits) -> Arc<Self> {
        Arc::new(Self {
            requests,
            limits,
            connections: Arc::new(Semaphore::new(limits.connections)),
            tracker: TaskTracker::new(),
            stopped: CancellationToken::new(),
        })
    }

    /// Serves a listener until [`cancel`](Self::cancel).
    pub(super) fn serve(self: &Arc<Self>, listener: TcpListener) {
        self.spawn(accept(Arc::clone(self), listener));
    }

    /// Waits until no connection is open, which is soon when the clients are gone.
    pub(super) async fn settle(&self) {
        settle(&self.connections, self.limits.connections).await;
    }

    /// Tells every task to end.
    pub(super) fn cancel(&self) {
        self.stopped.cancel();
        self.tracker.close();
    }

    /// Ends every task, and waits until they have ended.
    pub(super) async fn stop(&self) {
        self.cancel();
        if timeout(STOP_WAIT, self.tracker.wait()).await.is_err() {
            tracing::warn!(left = self.tracker.len(), "connections of the API gateway did not end in time");
        }
    }

    fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        let stopped = self.stopped.clone();
        self.tracker.spawn(async move {
            tokio::select! {
                () = stopped.cancelled() => {}
                () = future => {}
            }
        });
    }

    /// Serves one connection until it ends.
    async fn connection(self: Arc<Self>, stream: TcpStream) {
        let service = service_fn(|request| {
            let server = Arc::clone(&self);
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        });
        let mut builder = http1::Builder::new();
        // A client that sent all it has to say may close its side and still wants the answer.
        builder.half_close(true).max_buf_size(HEAD_BYTES);
        builder.timer(TokioTimer::new()).header_read_timeout(self.limits.wait);
        if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
            tracing::debug!(%error, "a connection to the API gateway broke");
        }
    }

    /// Answers one request.
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let mut share = self.requests.room.share();
        let answer = match self.read(body, &mut share).await {
            Ok(body) => self.requests.answer(&parts, &body),
            Err(broken) => broken.closing(),
        };
        answer.send(&parts.method)
    }

    /// Reads a body to its end, or says why it is not read.
    async fn read(&self, mut body: Incoming, share: &mut Share) -> Result<Vec<u8>, Answer> {
        let refusal = |status, code, message: &str| Err(Answer::refusal(status, code, message));
        let mut read = Vec::new();
        loop {
            let frame = match timeout(self.limits.wait, body.frame()).await {
                Ok(Some(Ok(frame))) => frame,
                Ok(None) => return Ok(read),
                Ok(Some(Err(_))) => {
                    return refusal(StatusCode::BAD_REQUEST, "bad_request", "the body did not come whole");
                }
                Err(_) => {
                    return refusal(StatusCode::REQUEST_TIMEOUT, "timeout", "nothing of the body came for too long");
                }
            };
            let Some(part) = frame.data_ref() else { continue };
            let most = self.limits.body_bytes;
            if part.len() > most - read.len() {
                let message = format!("the body is larger than {most} bytes; send fewer events at once");
                return refusal(StatusCode::PAYLOAD_TOO_LARGE, "too_large", &message);
            }
            if !share.grow(part.len()) {
                return Err(no_room());
            }
            read.extend_from_slice(part);
        }
    }
}

/// Accepts connections.
async fn accept(server: Arc<Server>, listener: TcpListener) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection to the API gateway could not be accepted");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Answers are small and come at once, so nothing is won by waiting for more of them.
        let _ = stream.set_nodelay(true);
        let Ok(permit) = Arc::clone(&server.connections).acquire_owned().await else { return };
        let connection = Arc::clone(&server).connection(stream);
        server.spawn(async move {
            connection.await;
            drop(permit);
        });
    }
}
