//! Listeners and connections. Only HTTP/1 is spoken, as the clients of providers do when there is no TLS.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::gateway::Gateway;
use super::limits::{ACCEPT_PAUSE, HEAD_BYTES};
use crate::gateways::settling::settle;

/// The body of an answer.
pub(super) type AnswerBody = UnsyncBoxBody<Bytes, Broken>;

/// An answer that broke off. The connection is cut, so that the client knows.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the answer broke off")]
pub(super) struct Broken;

/// What all listeners of a gateway share.
pub(super) struct Server {
    gateway: Arc<Gateway>,
    connections: Arc<Semaphore>,
    most: usize,
    tracker: TaskTracker,
    /// Ends the connections that there are, when the records end.
    sealed: CancellationToken,
    /// Ends everything.
    stopped: CancellationToken,
}

impl Server {
    pub(super) fn new(gateway: Arc<Gateway>) -> Arc<Self> {
        let most = gateway.bounds.connections;
        Arc::new(Self {
            gateway,
            connections: Arc::new(Semaphore::new(most)),
            most,
            tracker: TaskTracker::new(),
            sealed: CancellationToken::new(),
            stopped: CancellationToken::new(),
        })
    }

    /// Serves a listener until [`stop`](Self::stop).
    pub(super) fn serve(self: &Arc<Self>, listener: TcpListener) {
        let server = Arc::clone(self);
        self.tracker.spawn(async move {
            let stopped = server.stopped.clone();
            tokio::select! {
                () = stopped.cancelled() => {}
                () = server.accept(listener) => {}
            }
        });
    }

    async fn accept(self: Arc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    // The parts of a stream are small and must not wait for more of them.
                    let _ = stream.set_nodelay(true);
                    self.take(stream).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection to the model gateway could not be accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// Serves a connection, once there is room for it.
    pub(super) async fn take<S>(self: &Arc<Self>, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Ok(permit) = Arc::clone(&self.connections).acquire_owned().await else { return };
        let server = Arc::clone(self);
        self.tracker.spawn(async move {
            server.connection(stream).await;
            drop(permit);
        });
    }

    /// Serves one connection until it ends or everything stops. A connection that is there when the records end is cut.
    async fn connection<S>(&self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let late = self.sealed.is_cancelled();
        let service = service_fn(|request| {
            let gateway = Arc::clone(&self.gateway);
            async move {
                let mut response = gateway.answer(request).await;
                if self.is_crowded() {
                    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<Response<AnswerBody>, Infallible>(response)
            }
        });
        let mut builder = http1::Builder::new();
        // A client that closes its side has gone: nobody pays for an answer that nobody reads.
        builder.half_close(false).max_buf_size(HEAD_BYTES);
        builder.timer(TokioTimer::new()).header_read_timeout(self.gateway.bounds.head_wait);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        tokio::select! {
            ended = connection => if let Err(error) = ended {
                tracing::debug!(%error, "a connection to the model gateway broke");
            },
            () = self.sealed.cancelled(), if !late => {}
            () = self.stopped.cancelled() => {}
        }
    }

    /// Whether connections are scarce. Then they are not kept open for later requests, so that idle ones cannot keep others out.
    fn is_crowded(&self) -> bool {
        self.connections.available_permits() < self.most / 2
    }

    /// Waits until no connection is open, which is soon when the clients are gone, and cuts those that stay.
    pub(super) async fn settle(&self) {
        self.wait_until_idle().await;
        self.sealed.cancel();
        self.wait_until_idle().await;
    }

    async fn wait_until_idle(&self) {
        settle(&self.connections, self.most).await;
    }

    /// Tells every task to end.
    pub(super) fn stop(&self) {
        self.stopped.cancel();
        self.tracker.close();
    }
}
