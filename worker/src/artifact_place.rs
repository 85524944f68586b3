//! Probes the artifact place before jobs are taken: nothing is run whose evidence could not be kept.

use std::time::Duration;

use jiff::Timestamp;
use store::{PROBING, Retries, RetryObserver};

use crate::Worker;
use crate::completion::KEEPING;

/// Time between two probes of the place: while it can be used, and while it cannot.
const OFTEN: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(5));
/// Failed probes in a row after which a worker that is to empty its queue ends.
const PATIENCE: u64 = 3;

/// Result of probing the artifact place.
#[derive(Debug)]
pub(crate) struct ArtifactPlace {
    observer: RetryObserver,
    probed: Option<Timestamp>,
    /// Number of probes that failed in a row.
    failures: u64,
}

/// Tells if evidence of a job that is taken now could be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// The evidence could be kept.
    Possible,
    /// Not now.
    Later,
    /// Not for so long that who empties a queue gives up.
    Blocked,
}

impl ArtifactPlace {
    /// A place that was not probed yet.
    pub(crate) fn new(retries: &Retries) -> Self {
        Self { observer: retries.observe(PROBING), probed: None, failures: 0 }
    }

    fn keeping(&self) -> Keeping {
        match self.failures {
            0 => Keeping::Possible,
            PATIENCE.. => Keeping::Blocked,
            _ => Keeping::Later,
        }
    }
}

impl Worker {
    /// Tells if evidence of a job that is taken now could be kept. Takes no more jobs while the results of another job
    /// cannot be kept.
    pub(crate) async fn keeping(&mut self) -> Keeping {
        if self.shared.retries.reason_of(KEEPING).is_some() {
            return Keeping::Later;
        }
        let (usable, unusable) = OFTEN;
        let period = if self.place.failures == 0 { usable } else { unusable };
        if self.is_due(self.place.probed, period) {
            self.probe_place().await;
        }
        self.place.keeping()
    }

    /// Returns the reason why no results can be kept, in words; `None` when they can.
    pub(crate) fn why_not_kept(&self) -> Option<String> {
        let retries = &self.shared.retries;
        retries.reason_of(PROBING).or_else(|| retries.reason_of(KEEPING))
    }

    async fn probe_place(&mut self) {
        let name = self.shared.config.worker.owner.to_string();
        let probed = self.shared.store.probe_artifacts(&name).await;
        self.place.probed = Some(self.shared.clock.now());
        match probed {
            Ok(_) => {
                self.place.failures = 0;
                self.place.observer.succeeded();
            }
            Err(error) => self.place.failures = self.place.observer.failed(error),
        }
    }
}
