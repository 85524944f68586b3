//! The one listener of all gateways: accepts connections, bounds them, and ends them.
//!
//! A gateway makes a [`Listener`] with the limits that are right for it, and gives it sockets with a function that serves
//! one [`Connection`]. The listener keeps these promises:
//!
//! - A connection is accepted only with a permit. More than [`ListenerLimits::connections`] wait in the kernel, and are
//!   served when another ends.
//! - A connection that is idle for too long is ended ([`IdleTimeout`]).
//! - TLS is taken off where a socket has a [`Terminator`]; the handler sees what is inside.
//! - [`seal`](Listener::seal) waits for the connections that exist, cuts those that stay, and goes on accepting.
//! - [`stop`](Listener::stop), or dropping the listener, ends everything.
//! - An error of `accept`, such as a lack of descriptors, is followed by a pause and does not become a busy loop.
//!
//! ```text
//! let listener = Listener::new("the echo gateway", limits);
//! listener.serve(socket, None, |connection| async move {
//!     let (mut from, mut to) = tokio::io::split(connection.stream);
//!     let _ = tokio::io::copy(&mut from, &mut to).await;
//! })?;
//! ```

mod accept;
mod activity;
mod connection;
mod faulted;
#[cfg(test)]
mod faulted_tests;
mod http;
mod limits;
mod occupancy;
mod socket;
mod tasks;
#[cfg(test)]
mod tests;

use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::duplex;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::faults::{ConnectionFaults, ServiceLink};
use crate::tls::Terminator;
use accept::{Accepted, accept_all, accept_next};
pub use activity::{Activity, UnderWay};
pub use connection::Connection;
use faulted::{Beginning, Faulted, PIPE};
pub use http::{AnswerBody, Broken, HalfClose, Http2Settings, HttpSettings};
pub use limits::{DRAIN, IdleTimeout, ListenerLimits};
use occupancy::Occupancy;
use socket::Pipe;
pub use socket::{Reset, Socket};
pub use tasks::Tasks;

/// Accepts connections of one gateway on any number of sockets. Dropping it ends them all.
#[derive(Debug)]
pub struct Listener {
    shared: Arc<Shared>,
}

/// State that the sockets of a listener share.
#[derive(Debug)]
struct Shared {
    /// The gateway, as logs call it.
    gateway: &'static str,
    limits: ListenerLimits,
    occupancy: Occupancy,
    accepting: Tasks,
    /// The connections that exist. Those that come after a cut are in another group.
    connections: Mutex<Tasks>,
}

impl Listener {
    /// A listener without sockets. Logs call its gateway by this name.
    #[must_use]
    pub fn new(gateway: &'static str, limits: ListenerLimits) -> Self {
        let shared = Shared {
            gateway,
            limits,
            occupancy: Occupancy::new(limits.connections),
            accepting: Tasks::default(),
            connections: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Accepts connections of a socket, and takes TLS off them where it may come. It must be called within a Tokio runtime.
    ///
    /// # Errors
    ///
    /// The socket cannot be used.
    pub fn serve<Handler, Serving>(
        &self,
        socket: TcpListener,
        terminator: Option<Terminator>,
        handler: Handler,
    ) -> io::Result<()>
    where
        Handler: Fn(Connection) -> Serving + Send + Sync + 'static,
        Serving: Future<Output = ()> + Send + 'static,
    {
        self.serve_link(socket, terminator, None, handler)
    }

    /// Accepts connections of a socket like [`serve`](Self::serve). Faults of the network may lie on the way to it.
    ///
    /// # Errors
    ///
    /// The socket cannot be used.
    pub fn serve_link<Handler, Serving>(
        &self,
        socket: TcpListener,
        terminator: Option<Terminator>,
        link: Option<ServiceLink>,
        handler: Handler,
    ) -> io::Result<()>
    where
        Handler: Fn(Connection) -> Serving + Send + Sync + 'static,
        Serving: Future<Output = ()> + Send + 'static,
    {
        socket.set_nonblocking(true)?;
        let socket = Arc::new(tokio::net::TcpListener::from_std(socket)?);
        let (shared, handler) = (Arc::clone(&self.shared), Arc::new(handler));
        let permits = self.shared.occupancy.permits();
        let next = move || accept_next(Arc::clone(&socket), Arc::clone(&permits));
        let take = move |accepted| {
            let faults = link.as_ref().and_then(ServiceLink::accept);
            shared.take(accepted, faults, terminator.clone(), Arc::clone(&handler));
        };
        self.shared.accepting.spawn(accept_all(self.shared.gateway, next, take));
        Ok(())
    }

    /// Waits until no connection is open, which is soon when the clients are gone, and cuts those that stay. Later ones are
    /// served as before.
    pub async fn seal(&self) {
        self.shared.occupancy.drain(self.shared.limits.drain).await;
        self.cut().await;
    }

    /// Ends the connections that exist, and waits until they have ended. Later ones are served as before.
    pub async fn cut(&self) {
        let cut = std::mem::take(&mut *self.shared.connections());
        self.ended(&cut).await;
    }

    /// Accepts no more, and frees the ports. Connections that exist go on.
    pub async fn close(&self) {
        self.ended(&self.shared.accepting).await;
    }

    /// Ends everything, without waiting for it.
    pub fn stop(&self) {
        self.shared.accepting.end();
        self.shared.connections().end();
    }

    async fn ended(&self, tasks: &Tasks) {
        tasks.end();
        if timeout(self.shared.limits.drain, tasks.ended()).await.is_err() {
            tracing::warn!(left = tasks.len(), "tasks of {} did not end in time", self.shared.gateway);
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn connections(&self) -> MutexGuard<'_, Tasks> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves one connection until it ends, is idle for too long, or is cut.
    fn take<Handler, Serving>(
        &self,
        accepted: Accepted,
        faults: Option<ConnectionFaults>,
        terminator: Option<Terminator>,
        handler: Arc<Handler>,
    ) where
        Handler: Fn(Connection) -> Serving + Send + Sync + 'static,
        Serving: Future<Output = ()> + Send + 'static,
    {
        let Accepted { stream, permit } = accepted;
        let (gateway, idle, occupancy) = (self.gateway, self.limits.idle, self.occupancy.clone());
        let group = self.connections().clone();
        let tasks = group.clone();
        group.spawn(async move {
            let activity = Activity::new();
            let own = Arc::clone(&activity);
            let touched = idle.counts_bytes().then(|| Arc::clone(&activity));
            let serving = async move {
                let Some((socket, carrying)) = faulted_socket(stream, faults, &own, touched).await else { return };
                let reset = socket.reset();
                let serving = async move {
                    match connection::open(socket, terminator).await {
                        Ok(stream) => {
                            handler(Connection { stream, activity: own, reset, tasks, occupancy, gateway }).await;
                        }
                        Err(error) => tracing::debug!(%error, "a client and {gateway} did not agree on TLS"),
                    }
                };
                match carrying {
                    // On the heap, because most connections have no faults.
                    Some(carrying) => {
                        tokio::join!(serving, Box::pin(carrying.carry()));
                    }
                    None => serving.await,
                }
            };
            tokio::select! {
                () = serving => {}
                () = activity.idle_for(idle.wait()) => tracing::debug!("an idle connection to {gateway} was ended"),
            }
            drop(permit);
        });
    }
}

/// Returns the socket that a gateway serves, and the carrier of its bytes where faults lie between it and the client;
/// `None` when there is nothing to be served.
async fn faulted_socket(
    mut stream: TcpStream,
    faults: Option<ConnectionFaults>,
    activity: &Arc<Activity>,
    touched: Option<Arc<Activity>>,
) -> Option<(Socket, Option<Faulted>)> {
    let Some(faults) = faults else { return Some((Socket::new(stream, touched), None)) };
    if faulted::begin(&mut stream, &faults, activity).await == Beginning::Over {
        return None;
    }
    if !faults.shapes_bytes() {
        return Some((Socket::new(stream, touched), None));
    }
    let ((near, far), gone) = (duplex(PIPE), CancellationToken::new());
    let pipe = Pipe { stream: near, first: None, _gone: gone.clone().drop_guard() };
    let socket = Socket::piped(pipe, touched);
    let (activity, reset) = (Arc::clone(activity), socket.reset());
    Some((socket, Some(Faulted { stream, pipe: far, faults, activity, reset, gone })))
}
