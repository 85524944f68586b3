//! Orders to a worker while it works.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// Asks a worker for something while it works. Clones ask the same one.
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
    /// To take jobs and do them.
    #[default]
    Work,
    /// To take no more jobs; those that are being done go on.
    Drain,
    /// To give the jobs that are being done back, for others to do.
    Release,
    /// To end the jobs that are being done for good.
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

    /// Looks again at once: there may be new jobs.
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
