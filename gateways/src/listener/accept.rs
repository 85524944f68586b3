//! Accepting connections, each with a permit.

use std::future::poll_fn;
use std::io;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;

/// The pause after a failed `accept`, so that a lack of descriptors does not become a busy loop.
pub(super) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A connection that was accepted, and its permit.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) stream: TcpStream,
    pub(super) permit: OwnedSemaphorePermit,
}

/// Hands on one connection after another, and pauses after each error.
pub(super) async fn accept_all<Next>(gateway: &'static str, next: impl Fn() -> Next, take: impl Fn(Accepted))
where
    Next: Future<Output = io::Result<Accepted>>,
{
    loop {
        match next().await {
            Ok(accepted) => take(accepted),
            Err(error) => {
                tracing::warn!(%error, "a connection to {gateway} could not be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Accepts the next connection, with a permit. A socket that nobody calls holds no permit, so that sockets of one listener
/// do not keep permits from each other.
pub(super) async fn accept_next(socket: Arc<TcpListener>, permits: Arc<Semaphore>) -> io::Result<Accepted> {
    loop {
        let permit = Arc::clone(&permits).acquire_owned().await.map_err(io::Error::other)?;
        let polled = poll_fn(|context| Poll::Ready(socket.poll_accept(context))).await;
        let Poll::Ready(accepted) = polled else {
            drop(permit);
            woken().await;
            continue;
        };
        let (stream, _) = accepted?;
        // What gateways send is small or complete, so nothing is won by waiting for more of it.
        let _ = stream.set_nodelay(true);
        return Ok(Accepted { stream, permit });
    }
}

/// Waits until the task is woken, by whatever was polled before.
async fn woken() {
    let mut is_polled = false;
    let poll = |_: &mut Context<'_>| if mem::replace(&mut is_polled, true) { Poll::Ready(()) } else { Poll::Pending };
    poll_fn(poll).await;
}
