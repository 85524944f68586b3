//! Registers a worker for all who share the store, and reports its state.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use store::{NewWorker, Pulse, StoreError};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::Shared;
use crate::config::Service;

/// Name of the retried operation of announcing the worker.
const TELLING: &str = "telling that the worker is there";
/// Delay before a change is announced, so that many changes are announced at once.
const GATHER: Duration = Duration::from_millis(200);
/// Time limit for the last announcement of a worker that ends.
const FAREWELL: Duration = Duration::from_secs(5);

/// The announced state of a worker.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    /// `None` until it has looked for the first time.
    pulse: Mutex<Option<Pulse>>,
    changed: Notify,
}

impl Standing {
    /// Sets the worker's state; announces it soon when it has news.
    pub(crate) fn say(&self, pulse: Pulse) {
        let mut said = self.pulse.lock().unwrap_or_else(PoisonError::into_inner);
        // How much disk is free changes all the time.
        let is_news = said.as_ref().is_none_or(|said| {
            let changed = said.running != pulse.running || said.reason != pulse.reason;
            // That something failed once more is no news.
            changed || said.problems.len() != pulse.problems.len()
        });
        *said = Some(pulse);
        drop(said);
        if is_news {
            self.changed.notify_one();
        }
    }

    fn get(&self) -> Pulse {
        self.pulse.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
    }

    /// Waits until it is known how the worker is, or for some time.
    async fn known_within(&self, patience: Duration) {
        let _ = tokio::time::timeout(patience, self.changed.notified()).await;
    }
}

/// A task that announces that a worker is alive; without a farewell the worker is taken for lost.
#[derive(Debug)]
pub(crate) struct Presence {
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Presence {
    /// Begins to tell.
    pub(crate) fn start(shared: Arc<Shared>, service: Service, standing: Arc<Standing>) -> Self {
        let task = tokio::spawn(tell(Arc::clone(&shared), service, standing));
        Self { shared, task }
    }

    /// Announces that the worker ends in good order.
    pub(crate) async fn farewell(self) {
        self.task.abort();
        let worker = self.shared.config.worker;
        match tokio::time::timeout(FAREWELL, self.shared.store.worker_left(worker)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "nobody was told that the worker ended"),
            Err(_) => tracing::warn!("nobody was told that the worker ended: the store does not answer"),
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn tell(shared: Arc<Shared>, service: Service, standing: Arc<Standing>) {
    let new = NewWorker {
        id: shared.config.worker,
        host: service.host.clone(),
        control: service.control.clone(),
        slots: u32::try_from(shared.config.slots.max(1)).unwrap_or(u32::MAX),
        budget: shared.config.budget,
        version: service.version.clone(),
    };
    standing.known_within(service.pulse).await;
    let mut observer = shared.retries.observe(TELLING);
    loop {
        match tell_once(&shared, &new, &standing.get()).await {
            Ok(()) => observer.succeeded(),
            Err(error) => {
                observer.failed(error);
            }
        }
        tokio::select! {
            () = tokio::time::sleep(service.pulse) => {}
            () = standing.changed.notified() => tokio::time::sleep(GATHER.min(service.pulse)).await,
        }
    }
}

async fn tell_once(shared: &Shared, new: &NewWorker, pulse: &Pulse) -> Result<(), StoreError> {
    let now = shared.clock.now();
    shared.store.count_retries(&shared.retries).await?;
    if !shared.store.worker_seen(new.id, pulse, now).await? {
        shared.store.register_worker(new, pulse, now).await?;
    }
    Ok(())
}
