//! The end of a job: its result is kept, or another attempt is made. Its events are written before that, so that a run
//! that has ended has all its events.

use std::sync::Arc;
use std::time::Duration;

use scenario::event::Event;
use scenario::evidence::Evidence;
use scenario::result::ScenarioResult;
use scenario::verdict::ErrorKind;
use store::{Completion, Failure, Kept, Numbers, RunScoring as _, StoreError};

use crate::engine_health::AWAY;
use crate::execute::{Again, Execution};
use crate::heartbeat::later;
use crate::notice::Notice;
use crate::stop::Why;
use crate::traces::traces;

/// Name of the retried operation of keeping the results of a job.
pub(crate) const KEEPING: &str = "keeping what came of a scenario";
/// Number of tries to keep something, for a worker that empties its queue.
const TRIES: u32 = 6;
/// The longest time between two tries.
const PAUSE: Duration = Duration::from_secs(5);
/// The longest time between two attempts.
const LONGEST: Duration = Duration::from_secs(60);

impl Execution {
    /// Keeps the result of the job.
    pub(crate) async fn complete(&self, evidence: Option<&Evidence>, result: ScenarioResult) {
        let (status, composite, wall_ms) = (result.status, result.composite, Some(result.wall_ms));
        let error = result.error.as_ref().map(|error| error.kind);
        self.note(Event::Judged { status, composite, wall_ms, error }).await;
        let traces = evidence.map(traces).unwrap_or_default();
        let completion = Completion { evidence, result: &result, traces: &traces, at: self.shared.clock.now() };
        let kept = match self.numbers().await {
            Ok(numbers) => {
                let store = &self.shared.store;
                self.insist(|| store.complete(&self.held.lease, self.held.run, completion, &*numbers)).await
            }
            Err(error) => Err(error),
        };
        self.tell_end(kept, Notice::Ended { job: self.about.clone(), result: Box::new(result) }).await;
    }

    /// Keeps the result of judging, unless the provider of the agent's model failed: then the job is tried again.
    pub(crate) async fn judged(&self, evidence: &Evidence, result: ScenarioResult) {
        let provider = result.error.as_ref().filter(|error| error.kind == ErrorKind::Provider);
        let is_last = self.held.failures + 1 >= self.shared.config.attempts;
        match provider.map(ToString::to_string) {
            Some(message) if !is_last && self.stop.why().is_none() => self.retry(Failure::Provider, &message).await,
            _ => self.complete(Some(evidence), result).await,
        }
    }

    /// We failed: the job is tried again, or ends as an error. One that was to be stopped anyway just is.
    pub(crate) async fn failed(&self, message: String, again: Again, wall_ms: u64) {
        if self.stop.why().is_some() {
            self.stopped().await;
        } else if again == Again::Worthwhile && self.has_no_engine().await {
            self.release(AWAY).await;
        } else if again == Again::Worthwhile && self.held.failures + 1 < self.shared.config.attempts {
            self.retry(Failure::Infrastructure, &message).await;
        } else {
            let kind = match again {
                Again::Worthwhile => ErrorKind::Infrastructure,
                Again::Pointless(kind) => kind,
            };
            let result = ScenarioResult::failed_to_run(&self.held.scenario, kind, message);
            self.complete(None, ScenarioResult { wall_ms, ..result }).await;
        }
    }

    /// Handles the stop of the job: it is given back, given up, or another worker's already.
    pub(crate) async fn stopped(&self) {
        match self.stop.why() {
            Some(Why::LeaseLost) => self.tell_end(Ok(Kept::Stale), self.given_up("the lease was lost")).await,
            Some(Why::Released) => self.release("the worker ended").await,
            Some(Why::Cancelled) | None => self.give_up("cancelled").await,
        }
    }

    async fn release(&self, message: &str) {
        self.note(Event::Released { why: message.to_owned() }).await;
        let (store, now) = (&self.shared.store, self.shared.clock.now());
        match self.insist(|| store.release(&self.held.lease, message, now)).await {
            // Not wanted any more, or somebody else's.
            Ok(Kept::Stale) => self.give_up(message).await,
            kept => {
                let kept = self.drop_if_not_needed(kept).await;
                self.tell_end(kept, self.given_up(message)).await;
            }
        }
    }

    async fn give_up(&self, message: &str) {
        self.note(Event::GivenUp { why: message.to_owned() }).await;
        let now = self.shared.clock.now();
        let kept = match self.numbers().await {
            Ok(numbers) => {
                let store = &self.shared.store;
                self.insist(|| store.give_up(&self.held.lease, self.held.run, message, now, &*numbers)).await
            }
            Err(error) => Err(error),
        };
        self.tell_end(kept, self.given_up(message)).await;
    }

    async fn retry(&self, failure: Failure, message: &str) {
        let after = backoff(self.shared.config.backoff, self.held.failures);
        self.note(Event::Retrying { why: message.to_owned(), after }).await;
        let (store, now) = (&self.shared.store, self.shared.clock.now());
        let again = || store.retry(&self.held.lease, failure, message, later(now, after), now);
        match self.insist(again).await {
            // Not wanted any more, or somebody else's.
            Ok(Kept::Stale) => self.give_up("cancelled").await,
            kept => {
                let kept = self.drop_if_not_needed(kept).await;
                let notice = Notice::Retrying { job: self.about.clone(), message: message.to_owned(), after };
                self.tell_end(kept, notice).await;
            }
        }
    }

    /// A job that was put back is not done again when its cell was decided meanwhile.
    async fn drop_if_not_needed(&self, kept: Result<Kept, StoreError>) -> Result<Kept, StoreError> {
        if !matches!(kept, Ok(Kept::Kept)) {
            return kept;
        }
        let (numbers, now) = (self.numbers().await?, self.shared.clock.now());
        self.shared.store.drop_not_needed(self.held.run, &self.held.scenario, now, &*numbers).await
    }

    /// Tells which replicas of the cell are not needed any more.
    async fn tell_not_needed(&self) {
        let Ok(numbers) = self.numbers().await else { return };
        if numbers.stopping_replicas(&self.held.scenario).is_empty() {
            return;
        }
        match self.shared.store.not_needed(self.held.run).await {
            Ok(scenarios) if scenarios.is_empty() => {}
            Ok(scenarios) => self.shared.observer.tell(Notice::NotNeeded { run: self.held.run, scenarios }),
            Err(error) => {
                self.shared.retries.observe("looking for replicas that are not needed").failed(error);
            }
        }
    }

    /// Retries keeping, so that observations are not lost because the disk is full for a moment.
    async fn insist<T>(&self, mut keep: impl FnMut() -> T + Send) -> Result<Kept, StoreError>
    where
        T: Future<Output = Result<Kept, StoreError>> + Send,
    {
        let mut observer = self.shared.retries.observe(KEEPING);
        let mut tries = 1;
        loop {
            let kept = keep().await;
            let Err(error) = &kept else {
                observer.succeeded();
                return kept;
            };
            // A service has as much patience as its lease.
            let enough = tries >= TRIES && self.shared.config.service.is_none();
            if enough || self.stop.why() == Some(Why::LeaseLost) {
                return kept;
            }
            observer.failed(format_args!("{}: {error}", self.about.scenario));
            tokio::time::sleep((Duration::from_millis(100) * 2_u32.pow(tries.min(TRIES))).min(PAUSE)).await;
            tries += 1;
        }
    }

    /// Writes an event of the job's end, unless the job is another worker's by now.
    async fn note(&self, event: Event) {
        if self.stop.why() != Some(Why::LeaseLost) {
            self.shared.journal.note(&self.about, event);
            self.shared.journal.written().await;
        }
    }

    /// Returns the computation of the run's numbers, also when the run could not be opened.
    async fn numbers(&self) -> Result<Arc<Numbers>, StoreError> {
        match self.opened.get() {
            Some(opened) => Ok(Arc::clone(&opened.numbers)),
            None => Numbers::of(&self.shared.store, self.held.run).await.map(Arc::new),
        }
    }

    fn given_up(&self, message: &str) -> Notice {
        Notice::GivenUp { job: self.about.clone(), message: message.to_owned() }
    }

    /// Announces the end of the job, or that this attempt does not count because another worker holds the job by now.
    async fn tell_end(&self, kept: Result<Kept, StoreError>, notice: Notice) {
        let observer = &self.shared.observer;
        match kept {
            Ok(Kept::Kept) => {
                observer.tell(notice);
                self.tell_not_needed().await;
            }
            Ok(Kept::RunEnded) => {
                observer.tell(notice);
                self.tell_not_needed().await;
                self.shared.library.forget(self.held.run).await;
                observer.tell(Notice::RunEnded { run: self.held.run });
            }
            Ok(Kept::Stale) => observer
                .tell(self.given_up("somebody else holds the job by now; what came of this attempt does not count")),
            Err(error) => observer.tell(Notice::Problem(format!(
                "what came of `{}` could not be kept ({error}); it will be run again",
                self.about.scenario
            ))),
        }
    }
}

/// Returns the pause before the next attempt after this many failures.
pub(crate) fn backoff(first: Duration, failures: u32) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(failures)).min(LONGEST)
}
