//! A worker as a service: it works until it is asked to end, whatever happens to the store meanwhile.

use std::sync::Arc;
use std::time::Duration;

use store::RetryObserver;
use tokio::time::Instant;

use crate::control::Order;
use crate::notice::Notice;
use crate::registration::Presence;
use crate::scoring::Scoring;
use crate::worker::LOOKING;
use crate::{Ticked, Worker};

/// Longest pause before the store is asked again.
const LONGEST: Duration = Duration::from_secs(15);
/// Time limit of a look at the store, besides the length of a lease.
const LOOK: Duration = Duration::from_secs(10);

impl Worker {
    /// Works until its [`crate::Control`] asks it to end.
    ///
    /// Asked to drain, it takes nothing new, ends the sandboxes that people work in, and ends when its jobs have; when that
    /// takes longer than it may, or when it is asked to release them, they are given back for other workers. A store that does
    /// not answer is asked again for ever.
    pub async fn run(mut self) {
        let presence = self.shared.config.service.clone().map(|service| {
            let scoring = Scoring::start(Arc::clone(&self.shared));
            (Presence::start(Arc::clone(&self.shared), service, Arc::clone(&self.standing)), scoring)
        });
        let (mut outage, mut deadline) = (self.shared.retries.observe(LOOKING), None);
        loop {
            let pause = self.look(&mut outage).await;
            if self.control().order() != Order::Work && self.slots.len() == 0 {
                break;
            }
            self.limit_drain(&mut deadline);
            match pause {
                Some(pause) => self.rest(pause).await,
                None => self.wait_until(deadline).await,
            }
        }
        self.finish().await;
        if let Some((presence, scoring)) = presence {
            scoring.end().await;
            presence.farewell().await;
        }
    }

    /// Ticks once; returns the pause when the store did not answer.
    async fn look(&mut self, outage: &mut RetryObserver) -> Option<Duration> {
        let patience = self.shared.config.lease + LOOK;
        let problem = match tokio::time::timeout(patience, self.tick()).await {
            Ok(Ok(Ticked { .. })) => {
                outage.succeeded();
                return None;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the store does not answer".to_owned(),
        };
        let failures = u32::try_from(outage.failed(problem).min(16)).unwrap_or(16);
        let pause = self.shared.config.poll.saturating_mul(2_u32.saturating_pow(failures));
        Some(pause.min(LONGEST))
    }

    /// Releases jobs that are still running when the drain has reached its time limit.
    fn limit_drain(&self, deadline: &mut Option<Instant>) {
        let drain = self.shared.config.service.as_ref().and_then(|service| service.drain);
        let (Order::Drain, Some(drain)) = (self.control().order(), drain) else { return };
        let until = *deadline.get_or_insert_with(|| Instant::now() + drain);
        if until <= Instant::now() {
            let message = format!("jobs were still being done after {} s, and are given back", drain.as_secs());
            self.shared.observer.tell(Notice::Problem(message));
            self.control().release();
        }
    }

    async fn wait_until(&mut self, deadline: Option<Instant>) {
        match deadline {
            Some(deadline) => drop(tokio::time::timeout_at(deadline, self.wait()).await),
            None => self.wait().await,
        }
    }
}
