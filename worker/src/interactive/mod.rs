//! Sandboxes that people work in themselves.
//!
//! ```text
//!  claim ─► open ─► ready ─► asked, until ─► destroy ─► ended
//!             │                 └ not wanted, its time is over, it broke, its lease is lost, or the worker ends
//!             └ heartbeat, from a task of its own
//! ```
//!
//! [`Interactive`] is how they are asked, from the same process and from a control port.

mod life;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use scenario::interactive::{Ask, Refusal, RefusalKind, Reply};
use tokio::sync::watch;

use crate::sandboxes::LiveSandbox;
use crate::stop::{Stop, Why};
pub(crate) use life::Life;

/// Time limit for the end of a sandbox that is not wanted any more.
const END: Duration = Duration::from_secs(25);

/// The sandboxes of a worker that people work in. Clones are the same ones.
#[derive(Debug, Clone, Default)]
pub struct Interactive(Arc<Mutex<HashMap<String, Known>>>);

/// A sandbox that is here.
#[derive(Debug, Clone)]
struct Known {
    /// Number of the claim.
    epoch: u32,
    /// The live sandbox that requests go to, once it is ready.
    live: Option<Arc<dyn LiveSandbox>>,
    /// Stops the sandbox.
    stop: Arc<Stop>,
    /// Closed when it has ended.
    ended: watch::Receiver<()>,
}

impl Interactive {
    /// Sends a request to a sandbox. All requests come this way, from this process and from the control port.
    pub async fn ask(&self, ask: Ask) -> Result<Reply, Refusal> {
        let known = self.known().get(ask.sandbox()).cloned();
        match (ask, known) {
            (Ask::Destroy { .. }, None) => Ok(Reply::Done),
            (Ask::Destroy { sandbox }, Some(known)) => end(&sandbox, known).await,
            (ask, None) => {
                let message = format!("this worker has no sandbox {}", ask.sandbox());
                Err(Refusal::new(RefusalKind::NotFound, message))
            }
            (ask, Some(Known { live: None, .. })) => {
                let message = format!("sandbox {} is being made; ask again when it is ready", ask.sandbox());
                Err(Refusal::new(RefusalKind::NotReady, message))
            }
            (ask, Some(Known { live: Some(live), stop, .. })) => {
                if stop.why().is_some() {
                    return Err(Refusal::new(RefusalKind::Gone, format!("sandbox {} is being ended", ask.sandbox())));
                }
                live.answer(ask).await
            }
        }
    }

    /// The ids of the sandboxes that are here, sorted.
    #[must_use]
    pub fn sandboxes(&self) -> Vec<String> {
        let mut ids: Vec<_> = self.known().keys().cloned().collect();
        ids.sort();
        ids
    }

    /// Notes a sandbox that is being made; dropping the returned sender announces that it has ended.
    fn begin(&self, sandbox: &str, epoch: u32, stop: Arc<Stop>) -> watch::Sender<()> {
        let (ending, ended) = watch::channel(());
        self.known().insert(sandbox.to_owned(), Known { epoch, live: None, stop, ended });
        ending
    }

    /// Notes that a sandbox can be asked.
    fn ready(&self, sandbox: &str, live: Arc<dyn LiveSandbox>) {
        if let Some(known) = self.known().get_mut(sandbox) {
            known.live = Some(live);
        }
    }

    /// Forgets a sandbox, unless it was claimed again meanwhile.
    fn forget(&self, sandbox: &str, epoch: u32) {
        let mut known = self.known();
        if known.get(sandbox).is_some_and(|known| known.epoch == epoch) {
            known.remove(sandbox);
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends a sandbox, and waits until it has ended.
async fn end(sandbox: &str, mut known: Known) -> Result<Reply, Refusal> {
    known.stop.ask(Why::Cancelled);
    let gone = async { while known.ended.changed().await.is_ok() {} };
    match tokio::time::timeout(END, gone).await {
        Ok(()) => Ok(Reply::Done),
        Err(_) => Err(Refusal::new(RefusalKind::TimedOut, format!("sandbox {sandbox} is still being ended"))),
    }
}
