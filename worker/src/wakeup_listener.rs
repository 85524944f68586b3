//! Being told by other processes that there is something to do, where the store can tell. The worker also looks by itself
//! now and then, so nothing depends on it.

use std::sync::Arc;

use store::{StoreError, Wakeup, Wakeups};
use tokio::task::JoinHandle;

use crate::Shared;
use crate::control::Control;

/// Listening, as something that is tried again. Meanwhile the worker looks now and then.
const LISTENING: &str = "listening for what is new in the store";

/// A task that listens; it ends with this.
#[derive(Debug)]
pub(crate) struct Listening(JoinHandle<()>);

impl Listening {
    /// Wakes a worker when a notification arrives.
    pub(crate) fn start(shared: Arc<Shared>, control: Control) -> Self {
        Self(tokio::spawn(async move {
            let mut observer = shared.retries.observe(LISTENING);
            loop {
                match shared.store.listen().await {
                    Ok(Some(wakeups)) => {
                        observer.succeeded();
                        let lost = heed_all(&shared, &control, wakeups).await;
                        observer.failed(lost);
                    }
                    Ok(None) => return,
                    Err(error) => {
                        observer.failed(error);
                    }
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

/// Handles notifications for as long as they arrive; returns the error that ended them.
async fn heed_all(shared: &Shared, control: &Control, mut wakeups: Wakeups) -> StoreError {
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
            Err(lost) => return lost,
        }
    }
}
