//! Being told by other processes that there is something to do, where the store can tell. The worker also looks by itself
//! now and then, so nothing depends on it.

use std::sync::Arc;

use store::{Wakeup, Wakeups};
use tokio::task::JoinHandle;

use crate::Shared;
use crate::control::Control;

/// A task that listens; it ends with this.
#[derive(Debug)]
pub(crate) struct Listening(JoinHandle<()>);

impl Listening {
    /// Wakes a worker when it is told to.
    pub(crate) fn start(shared: Arc<Shared>, control: Control) -> Self {
        Self(tokio::spawn(async move {
            loop {
                match shared.store.listen().await {
                    Ok(Some(wakeups)) => heed_all(&shared, &control, wakeups).await,
                    Ok(None) => return,
                    Err(error) => tracing::debug!(%error, "nobody tells what is new; looking now and then instead"),
                }
                tokio::time::sleep(shared.config.poll).await;
            }
        }))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Heeds what is told for as long as anything can be.
async fn heed_all(shared: &Shared, control: &Control, mut wakeups: Wakeups) {
    let mut told = Wakeup::All;
    loop {
        match told {
            Wakeup::Jobs(lane) if lane == shared.config.lane => control.wake(),
            Wakeup::Cancelled(_) => shared.renew.notify_waiters(),
            Wakeup::Sandboxes | Wakeup::All => {
                shared.renew.notify_waiters();
                control.wake();
            }
            Wakeup::Jobs(_) | Wakeup::Experiment(_) => {}
        }
        match wakeups.next().await {
            Ok(next) => told = next,
            Err(_lost) => return,
        }
    }
}
