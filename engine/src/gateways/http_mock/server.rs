//! Listeners and connections.

use std::convert::Infallible;
use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::arrival::Arrival;
use super::limits::{ACCEPT_PAUSE, HEAD_BYTES, MockLimits, STOP_WAIT, STREAMS, WINDOW_BYTES};
use super::mock::Mock;
use super::sending::{Activity, AnswerBody, UnderWay};
use crate::gateways::room::Room;
use crate::gateways::settling::settle;
use crate::gateways::tls::{Duplex, Terminator};

/// What all listeners of a sandbox share.
pub(super) struct Server {
    tasks: Tasks,
    connections: Arc<Semaphore>,
    room: Room,
    limits: MockLimits,
}

impl Server {
    pub(super) fn new(limits: MockLimits) -> Arc<Self> {
        Arc::new(Self {
            tasks: Tasks::default(),
            connections: Arc::new(Semaphore::new(limits.connections)),
            room: Room::new(limits.under_way_bytes),
            limits,
        })
    }

    /// Serves a listener until [`cancel`](Self::cancel).
    pub(super) fn serve(self: &Arc<Self>, listener: TcpListener, mock: Arc<Mock>, terminator: Option<Terminator>) {
        self.tasks.execute(accept(Arc::clone(self), listener, mock, terminator));
    }

    /// Waits until no connection is open, which is soon when the clients are gone.
    pub(super) async fn settle(&self) {
        settle(&self.connections, self.limits.connections).await;
    }

    /// Tells every task to end.
    pub(super) fn cancel(&self) {
        self.tasks.stopped.cancel();
        self.tasks.tracker.close();
    }

    /// Ends every task, and waits until they have ended.
    pub(super) async fn stop(&self) {
        self.cancel();
        if timeout(STOP_WAIT, self.tasks.tracker.wait()).await.is_err() {
            tracing::warn!(left = self.tasks.tracker.len(), "connections of mocks did not end in time");
        }
    }

    /// Answers one request.
    async fn answer(&self, mock: Arc<Mock>, request: Request<Incoming>, under_way: UnderWay) -> Response<AnswerBody> {
        let mut share = self.room.share();
        let (parts, body) = request.into_parts();
        let arrival = Arrival::new(mock, &parts, self.limits, &self.room);
        let answer = arrival.answer(&parts.method, body, &mut share).await;
        if let Some(delay) = answer.delay {
            sleep(delay).await;
        }
        answer.send(&parts.method, parts.version, under_way, share)
    }

    /// Serves one connection until it ends, is idle for too long, or everything stops.
    async fn connection(self: Arc<Self>, stream: impl Duplex + 'static, mock: Arc<Mock>) {
        let activity = Activity::new();
        let service = service_fn(|request| {
            let (server, mock, under_way) = (Arc::clone(&self), Arc::clone(&mock), activity.begin());
            async move { Ok::<_, Infallible>(server.answer(mock, request, under_way).await) }
        });
        let builder = builder(self.tasks.clone(), &self.limits);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        tokio::select! {
            ended = connection => if let Err(error) = ended {
                tracing::debug!(error, "a connection to a mock broke");
            },
            () = activity.idle_for(self.limits.idle_wait) => {}
        }
    }
}

/// Accepts connections, and takes TLS off them where it may come.
async fn accept(server: Arc<Server>, listener: TcpListener, mock: Arc<Mock>, terminator: Option<Terminator>) {
    loop {
        let stream: TcpStream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection to a mock could not be accepted");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Answers are small and come at once, so nothing is won by waiting for more of them.
        let _ = stream.set_nodelay(true);
        let Ok(permit) = Arc::clone(&server.connections).acquire_owned().await else { return };
        let (mock, terminator, own) = (Arc::clone(&mock), terminator.clone(), Arc::clone(&server));
        server.tasks.execute(async move {
            match terminator {
                None => own.connection(stream, mock).await,
                Some(terminator) => match terminator.open(stream).await {
                    Ok(stream) => own.connection(stream, mock).await,
                    Err(error) => tracing::debug!(%error, "a client and a mock did not agree on TLS"),
                },
            }
            drop(permit);
        });
    }
}

/// HTTP/1.0, 1.1 and 2, told apart by how the client begins.
fn builder(tasks: Tasks, limits: &MockLimits) -> Builder<Tasks> {
    let mut builder = Builder::new(tasks);
    // A client that sent all it has to say may close its side and still wants the answer.
    builder.http1().half_close(true).max_buf_size(HEAD_BYTES);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.head_wait);
    builder.http2().max_concurrent_streams(STREAMS).timer(TokioTimer::new());
    builder.http2().initial_stream_window_size(WINDOW_BYTES).initial_connection_window_size(WINDOW_BYTES);
    builder
}

/// The tasks of all connections, which end together.
#[derive(Debug, Clone, Default)]
struct Tasks {
    tracker: TaskTracker,
    stopped: CancellationToken,
}

impl<F> Executor<F> for Tasks
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, future: F) {
        let stopped = self.stopped.clone();
        self.tracker.spawn(async move {
            tokio::select! {
                () = stopped.cancelled() => {}
                _ = future => {}
            }
        });
    }
}
