//! Writes events to the store as they happen, several at once when they come fast.

use std::sync::Arc;

use scenario::event::Event;
use store::{Clock, NewEvent, Store};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;

use crate::notice::About;

/// Number of events written at once.
const AT_ONCE: usize = 200;

/// Writes events to the store in a task, which ends with the last clone.
#[derive(Debug, Clone)]
pub(crate) struct Journal {
    sender: UnboundedSender<Entry>,
    clock: Arc<dyn Clock>,
}

/// A message to the task that writes.
#[derive(Debug)]
enum Entry {
    /// An event to write.
    Event(NewEvent),
    /// A caller that waits until everything before this is written.
    Waiting(oneshot::Sender<()>),
}

impl Journal {
    /// A journal of this store.
    pub(crate) fn of(store: Store, clock: Arc<dyn Clock>) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        tokio::spawn(write(store, receiver));
        Self { sender, clock }
    }

    /// Writes an event down, soon.
    pub(crate) fn note(&self, about: &About, event: Event) {
        let _ = self.sender.send(Entry::Event(NewEvent {
            run: about.run,
            scenario: about.scenario.clone(),
            attempt: about.attempt,
            at: self.clock.now(),
            happened: event,
        }));
    }

    /// Waits until everything that was noted so far is written, or could not be.
    pub(crate) async fn written(&self) {
        let (sender, receiver) = oneshot::channel();
        if self.sender.send(Entry::Waiting(sender)).is_ok() {
            let _ = receiver.await;
        }
    }
}

async fn write(store: Store, mut receiver: UnboundedReceiver<Entry>) {
    let mut entries = Vec::new();
    while receiver.recv_many(&mut entries, AT_ONCE).await > 0 {
        let mut events = Vec::new();
        let mut waiting = Vec::new();
        for entry in entries.drain(..) {
            match entry {
                Entry::Event(event) => events.push(event),
                Entry::Waiting(sender) => waiting.push(sender),
            }
        }
        write_events(&store, &events).await;
        for sender in waiting {
            let _ = sender.send(());
        }
    }
}

/// Verdicts do not depend on events, so a run goes on without those that cannot be written.
async fn write_events(store: &Store, events: &[NewEvent]) {
    if events.is_empty() || store.note(events).await.is_ok() {
        return;
    }
    // One run may have been removed; that is nothing to the others.
    for of_run in events.chunk_by(|one, other| one.run == other.run) {
        if let Err(error) = store.note(of_run).await {
            tracing::warn!(%error, "{} events were not written down", of_run.len());
        }
    }
}
