//! Orders to a worker while it works.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// Gives orders to a worker while it works. Clones control the same worker.
#[derive(Debug, Clone, Default)]
pub struct Control(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    order: Mutex<Order>,
    changed: Notify,
}

/// An order to a worker. Later ones go further than earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum Order {
    /// Take jobs and do them.
    #[default]
    Work,
    /// Take no more jobs; those that are being done go on.
    Drain,
    /// Give back the jobs that are being done, so that other workers do them.
    Release,
    /// End the jobs that are being done for good.
    Cancel,
}

impl Control {
    /// Takes no more jobs; those that are being done go on.
    pub fn drain(&self) {
        self.ask(Order::Drain);
    }

    /// Takes no more jobs, and gives those that are being done back for others to do.
    pub fn release(&self) {
        self.ask(Order::Release);
    }

    /// Takes no more jobs, and ends those that are being done for good.
    pub fn cancel(&self) {
        self.ask(Order::Cancel);
    }

    /// Makes the worker look for jobs at once.
    pub fn wake(&self) {
        self.0.changed.notify_one();
    }

    fn ask(&self, order: Order) {
        let mut asked = self.0.order.lock().unwrap_or_else(PoisonError::into_inner);
        *asked = order.max(*asked);
        drop(asked);
        self.wake();
    }

    /// Returns the current order.
    pub(crate) fn order(&self) -> Order {
        *self.0.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something was asked for.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }
}
