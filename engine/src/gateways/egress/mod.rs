//! The way to the outside: names that the spec allows, and nothing else.
//!
//! Names that may be reached lead to one address of the sandbox's loopback. What comes there is judged by the name that
//! it says itself: each request of HTTP by its host, TLS by the server that its beginning names, which is then passed on
//! as it is. The name is looked up outside, once, and connected to only where it leads to the outside (`scenario::address`).
//! Everything that went out and everything that did not is written down.

mod entrance;
mod gate;
mod hello;
mod outside;
mod plain;
mod policy;
#[cfg(test)]
mod tests;
mod upstream;

use std::io;
use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use scenario::evidence::Audited;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::redact::Redactor;
pub(crate) use entrance::Entrance;
pub(crate) use gate::Gate;
pub use outside::{Internet, Outside};
pub(crate) use policy::Policy;

/// How many connections there may be at once; more wait.
const CONNECTIONS: usize = 256;
/// How long to wait after a failed `accept`, so that a lack of descriptors does not become a busy loop.
const PAUSE: Duration = Duration::from_millis(50);
/// How long connections may take to end by themselves when their clients are gone, and then when they are told to.
const SETTLE: Duration = Duration::from_millis(250);

/// The egress gateway of one sandbox. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Egress {
    gate: Arc<Gate>,
    room: Arc<Semaphore>,
    listening: Connected,
    connected: Mutex<Connected>,
}

/// An egress gateway by itself, which lets every name out. It ends when it is dropped.
#[derive(Debug)]
pub struct OpenEgress {
    _egress: Arc<Egress>,
}

impl OpenEgress {
    /// Serves requests of HTTP that come to a listener.
    ///
    /// # Errors
    ///
    /// The listener cannot be used.
    pub fn plain(listener: TcpListener, outside: Arc<dyn Outside>) -> io::Result<Self> {
        let egress = Egress::new(Gate::new(outside, [], Redactor::default(), Arc::default()));
        egress.serve(listener, Entrance::Plain)?;
        Ok(Self { _egress: egress })
    }
}

/// Tasks that can be ended together.
#[derive(Debug, Default, Clone)]
struct Connected {
    tasks: TaskTracker,
    end: CancellationToken,
}

impl Egress {
    /// A gateway behind this gate, at which nobody listens yet.
    pub(crate) fn new(gate: Arc<Gate>) -> Arc<Self> {
        Arc::new(Self {
            gate,
            room: Arc::new(Semaphore::new(CONNECTIONS)),
            listening: Connected::default(),
            connected: Mutex::default(),
        })
    }

    /// Serves what comes to a listener. It must be called within a Tokio runtime.
    pub(crate) fn serve(self: &Arc<Self>, listener: TcpListener, entrance: Entrance) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let accepting = accept(Arc::clone(&self.gate), Arc::clone(&self.room), listener, entrance, self.weak());
        let end = self.listening.end.clone();
        self.listening.tasks.spawn(end.run_until_cancelled_owned(accepting));
        Ok(())
    }

    /// What may go out from now on. Connections that were made before end, and nothing that was seen is kept.
    pub(crate) async fn apply(&self, policy: Policy) {
        self.gate.set_policy(policy);
        self.cut().await;
        self.gate.seen.clear();
    }

    /// Listens no more: what has its ports from now on is somebody else's.
    pub(crate) async fn leave(&self) {
        self.listening.end.cancel();
        self.listening.tasks.close();
        self.listening.tasks.wait().await;
    }

    /// Writes nothing more down, after what is open has ended.
    pub(crate) async fn seal(&self) {
        let connected = self.connected().clone();
        connected.tasks.close();
        let _ = timeout(SETTLE, connected.tasks.wait()).await;
        self.cut().await;
        self.gate.seen.close();
    }

    /// What went out and what did not.
    pub(crate) fn seen(&self) -> Vec<Audited> {
        self.gate.seen.kept()
    }

    /// How many connections were counted only.
    pub(crate) fn counted(&self) -> u64 {
        self.gate.seen.counted()
    }

    /// Ends all connections.
    async fn cut(&self) {
        let old = std::mem::take(&mut *self.connected());
        old.end.cancel();
        old.tasks.close();
        if timeout(SETTLE, old.tasks.wait()).await.is_err() {
            tracing::warn!(left = old.tasks.len(), "connections to the outside did not end in time");
        }
    }

    fn connected(&self) -> std::sync::MutexGuard<'_, Connected> {
        self.connected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn weak(self: &Arc<Self>) -> std::sync::Weak<Self> {
        Arc::downgrade(self)
    }
}

impl Drop for Egress {
    fn drop(&mut self) {
        self.listening.end.cancel();
        self.connected().end.cancel();
    }
}

/// Accepts connections, as many as there is room for.
async fn accept(
    gate: Arc<Gate>,
    room: Arc<Semaphore>,
    listener: tokio::net::TcpListener,
    entrance: Entrance,
    egress: std::sync::Weak<Egress>,
) {
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        let Some(egress) = egress.upgrade() else { return };
        let Connected { tasks, end } = egress.connected().clone();
        let serving = entrance::serve(entrance, stream, Arc::clone(&gate));
        tasks.spawn(async move {
            end.run_until_cancelled_owned(serving).await;
            drop(place);
        });
    }
}
