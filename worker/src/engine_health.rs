//! What makes sandboxes is away: its engine is restarted, say. Nothing is taken then, and no job has that counted against it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use store::{Retries, RetryObserver};

use crate::execute::Execution;
use crate::{Shared, Worker};

/// How often a job may be given back because of it. One that takes the engine down each time is not run for ever.
const MOST: u32 = 20;

/// Why a worker takes nothing then.
pub(crate) const AWAY: &str = "the engine that makes sandboxes does not answer";

/// Asking the engine, as something that is tried again.
const ASKING: &str = "asking the engine that makes sandboxes";

/// Whether what makes sandboxes is known to be away.
#[derive(Debug, Default)]
pub(crate) struct Absence(AtomicBool, Mutex<Option<RetryObserver>>);

impl Absence {
    /// Whether it is known to be away.
    pub(crate) fn is_known(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// Counts that the engine did not answer, or notes that it does.
    fn note(&self, retries: &Retries, problem: Option<String>) {
        let mut observer = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        match problem {
            Some(problem) => {
                observer.get_or_insert_with(|| retries.observe(ASKING)).failed(problem);
            }
            None => {
                if let Some(mut observer) = observer.take() {
                    observer.succeeded();
                }
            }
        }
    }
}

impl Shared {
    /// Asks, and remembers the answer. Watchers are told of a change.
    async fn is_engine_away(&self) -> bool {
        let problem = self.sandboxes.answers().await.err();
        let is_away = problem.is_some();
        self.absence.0.store(is_away, Ordering::Release);
        self.absence.note(&self.retries, problem.map(|problem| problem.to_string()));
        is_away
    }
}

impl Execution {
    /// Whether the job failed only because there is nothing that makes sandboxes. Who empties a queue for somebody does not
    /// wait for it.
    pub(crate) async fn has_no_engine(&self) -> bool {
        let may_wait = self.shared.config.service.is_some() && self.held.lease.epoch < MOST;
        may_wait && self.shared.is_engine_away().await
    }
}

impl Worker {
    /// Whether nothing can be taken because there is nothing that makes sandboxes. Once it is back, what could not be removed
    /// meanwhile is.
    pub(crate) async fn waits_for_engine(&mut self) -> bool {
        if !self.shared.absence.is_known() {
            return false;
        }
        let away = self.shared.is_engine_away().await;
        if !away {
            self.looked.forget_strays();
            self.sweep();
        }
        away
    }
}
