//! Health of the engine that makes sandboxes. While it is unavailable (it is restarted, say), the worker claims no jobs
//! and counts no failure against a job.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use store::{Retries, RetryObserver};

use crate::execute::Execution;
use crate::{Shared, Worker};

/// Number of times that a job may be given back because the engine is unavailable. A job that takes the engine down
/// each time is not run for ever.
const MOST: u32 = 20;

/// Reason, in words, why a worker claims no jobs then.
pub(crate) const AWAY: &str = "the engine that makes sandboxes does not answer";

/// Asking the engine, as something that is tried again.
const ASKING: &str = "asking the engine that makes sandboxes";

/// Tells if the engine is known to be unavailable.
#[derive(Debug, Default)]
pub(crate) struct Absence(AtomicBool, Mutex<Option<RetryObserver>>);

impl Absence {
    /// Returns true if the engine is known to be unavailable.
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
    /// Checks the engine, and remembers the answer. Notifies watchers of a change.
    async fn is_engine_away(&self) -> bool {
        let problem = self.sandboxes.answers().await.err();
        let is_away = problem.is_some();
        self.absence.0.store(is_away, Ordering::Release);
        self.absence.note(&self.retries, problem.map(|problem| problem.to_string()));
        is_away
    }
}

impl Execution {
    /// Returns true if the job failed only because the engine is unavailable. A worker that empties a queue does not
    /// wait for the engine.
    pub(crate) async fn has_no_engine(&self) -> bool {
        let may_wait = self.shared.config.service.is_some() && self.held.lease.epoch < MOST;
        may_wait && self.shared.is_engine_away().await
    }
}

impl Worker {
    /// Returns true if no job can be taken because the engine is unavailable. Once it is back, starts a sweep for
    /// everything that could not be removed meanwhile.
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
