//! Accepts connections, and serves each until it ends, takes too long or makes room for another.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::activity::{Activity, Answering, Holding, Noticed};
use crate::connection::Connection;
use crate::limits::Limits;
use crate::peer::peer;
use crate::registry::{Id, Registry};

/// Connections that may be on their way out besides those that are in.
const LEAVING: usize = 64;
/// Pause before the next try when the machine refuses to accept a connection.
const PAUSE: Duration = Duration::from_millis(50);

/// The connections of a listener. Clones are the same.
#[derive(Debug, Clone)]
pub struct Connections {
    registry: Registry,
    /// Bounds open descriptors, also while a flood is closed more slowly than it arrives.
    places: Arc<Semaphore>,
}

impl Connections {
    /// Connections within limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self::of(limits, false)
    }

    /// Connections within limits, all of which one key may have.
    #[must_use]
    pub fn of_one_key(limits: Limits) -> Self {
        Self::of(limits, true)
    }

    fn of(limits: Limits, one_key: bool) -> Self {
        let places = Arc::new(Semaphore::new(limits.connections.saturating_add(LEAVING).min(Semaphore::MAX_PERMITS)));
        Self { registry: Registry::new(limits, one_key), places }
    }

    /// Returns the number of open connections.
    #[must_use]
    pub fn count(&self) -> usize {
        self.registry.count()
    }

    /// Returns the number of connections that were closed to make room for others.
    #[must_use]
    pub fn closed(&self) -> u64 {
        self.registry.closed()
    }

    /// Serves until the future ends. Requests that are being answered then are answered first; connections without a
    /// request are closed.
    pub async fn serve<F, R, B>(&self, listener: TcpListener, answer: F, ended: impl Future<Output = ()>)
    where
        F: Fn(Request<Incoming>) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Response<B>> + Send + 'static,
        B: Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (ending, tasks) = (CancellationToken::new(), TaskTracker::new());
        // Whoever stops serving closes what is still open.
        let all = CancellationToken::new();
        let _guard = all.clone().drop_guard();
        let mut ended = pin!(ended);
        loop {
            let (place, (stream, address)) = tokio::select! {
                biased;
                () = &mut ended => break,
                accepted = self.accept(&listener) => accepted,
            };
            let close = all.child_token();
            let id = self.registry.enter(peer(address.ip()), close.clone());
            let open = Open { registry: self.registry.clone(), id };
            let (answer, ending) = (answer.clone(), ending.clone());
            tasks.spawn(async move {
                let _place = place;
                open.serve(stream, answer, close, ending).await;
            });
        }
        drop(listener);
        ending.cancel();
        tasks.close();
        tasks.wait().await;
    }

    /// Waits for a connection, and for room for its descriptor.
    async fn accept(
        &self,
        listener: &TcpListener,
    ) -> (Option<tokio::sync::OwnedSemaphorePermit>, (TcpStream, SocketAddr)) {
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        loop {
            match listener.accept().await {
                Ok(accepted) => return (place, accepted),
                Err(error) if is_of_connection(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}

/// Returns true if an error concerns one connection and not the machine.
fn is_of_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

/// A connection that is open; it leaves the registry with this.
struct Open {
    registry: Registry,
    id: Id,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.registry.leave(self.id);
    }
}

impl Open {
    async fn serve<F, R, B>(&self, stream: TcpStream, answer: F, close: CancellationToken, ending: CancellationToken)
    where
        F: Fn(Request<Incoming>) -> R,
        R: Future<Output = Response<B>>,
        B: Body<Data = Bytes> + Unpin + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let _ = stream.set_nodelay(true);
        let activity = Activity::new();
        let service = service_fn(|mut request: Request<Incoming>| {
            let asked = RequestInProgress::begin(self, &activity);
            request.extensions_mut().insert(Connection::new(self.registry.clone(), self.id));
            let answering = answer(request);
            async move {
                let response = answering.await;
                Ok::<_, Infallible>(response.map(|body| Holding { body, _held: asked }))
            }
        });
        let noticed = Noticed { stream, activity: Arc::clone(&activity) };
        let mut served = pin!(http1::Builder::new().serve_connection(TokioIo::new(noticed), service));
        let mut is_ending = false;
        loop {
            tokio::select! {
                // What has arrived is read before it is looked whether it took too long.
                biased;
                ended = served.as_mut() => {
                    if let Err(error) = ended {
                        tracing::debug!(%error, "a connection ended early");
                    }
                    return;
                }
                () = close.cancelled() => return,
                () = activity.expired(self.registry.limits()) => return,
                () = ending.cancelled(), if !is_ending => {
                    if !activity.is_answering() {
                        return;
                    }
                    is_ending = true;
                    served.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// A request that is being answered, as the registry and the connection's timeouts see it.
struct RequestInProgress {
    registry: Registry,
    id: Id,
    _answering: Answering,
}

impl RequestInProgress {
    fn begin(open: &Open, activity: &Arc<Activity>) -> Self {
        open.registry.answering(open.id, true);
        Self { registry: open.registry.clone(), id: open.id, _answering: activity.answer() }
    }
}

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        self.registry.answering(self.id, false);
    }
}
