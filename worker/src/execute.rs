//! Executes a job, from its claim to its result.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, OnceLock};

use engine::approvals::Approvals;
use engine::attempt::{Attempt, Keep};
use engine::backend::Identity;
use engine::error::EngineError;
use engine::event::Events;
use engine::uploaded::SnapshotFiles;
use futures::FutureExt as _;
use scenario::event::Event;
use scenario::evidence::Evidence;
use scenario::result::{RowStatus, ScenarioResult};
use scenario::verdict::ErrorKind;
use store::Held;
use tokio::time::Instant;

use crate::Shared;
use crate::approvals::StoredApprovals;
use crate::config::KeepSandbox;
use crate::heartbeat::Heartbeat;
use crate::notice::{About, Notice};
use crate::run_cache::{Opened, Unopened};
use crate::stop::Stop;

/// A job that is being done.
pub(crate) struct Execution {
    pub(crate) shared: Arc<Shared>,
    pub(crate) held: Held,
    pub(crate) stop: Arc<Stop>,
    pub(crate) about: About,
    /// Its run, once that was opened.
    pub(crate) opened: OnceLock<Arc<Opened>>,
}

/// Tells if a job that we failed is worth another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Again {
    /// Another attempt may succeed.
    Worthwhile,
    /// Another attempt would end the same; the kind says who made the mistake.
    Pointless(ErrorKind),
}

impl Execution {
    /// A job that was claimed.
    pub(crate) fn new(shared: Arc<Shared>, held: Held, stop: Arc<Stop>) -> Self {
        let about = About { run: held.run, scenario: held.scenario.id.to_string(), attempt: held.lease.epoch };
        Self { shared, held, stop, about, opened: OnceLock::new() }
    }

    /// Does the job: runs the scenario, judges it, keeps the result. Its lease was asked for at this time.
    pub(crate) async fn run(self, asked: Instant) {
        let heartbeat =
            Heartbeat::start(Arc::clone(&self.shared), self.held.lease.clone(), asked, Arc::clone(&self.stop));
        let worked = AssertUnwindSafe(self.work()).catch_unwind().await;
        if let Err(panic) = worked {
            self.failed(format!("the worker panicked: {}", words_of(&*panic)), Again::Worthwhile, 0).await;
        }
        drop(heartbeat);
    }

    async fn work(&self) {
        self.shared.observer.tell(Notice::Claimed { job: self.about.clone() });
        self.shared.journal.note(&self.about, Event::Claimed { worker: self.shared.config.worker.to_string() });
        let opened = match self.shared.library.open(self.held.run).await {
            Ok(opened) => self.opened.get_or_init(|| opened),
            Err(error @ Unopened::Unusable(_)) => {
                return self.failed(error.to_string(), Again::Pointless(ErrorKind::Infrastructure), 0).await;
            }
            Err(error) => return self.failed(error.to_string(), Again::Worthwhile, 0).await,
        };
        if self.stop.why().is_some() {
            return self.stopped().await;
        }
        let snapshot = match self.shared.library.snapshot(opened, &self.held.scenario).await {
            Ok(snapshot) => snapshot,
            Err(error @ Unopened::Unusable(_)) => {
                return self.failed(error.to_string(), Again::Pointless(ErrorKind::Infrastructure), 0).await;
            }
            Err(error) => return self.failed(error.to_string(), Again::Worthwhile, 0).await,
        };
        let started = Instant::now();
        let ran = self.run_scenario(opened, snapshot.as_ref()).await;
        let wall_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        match ran {
            Ok(evidence) => {
                let result = ScenarioResult::judge(&opened.spec, &self.held.scenario, &evidence);
                self.judged(&evidence, ScenarioResult { wall_ms, ..result }).await;
            }
            Err(error) => {
                // When nobody asked for the end, it is a failure like others.
                let may_help = error.is_retryable() || matches!(error, EngineError::Cancelled);
                let again = if may_help { Again::Worthwhile } else { Again::Pointless(error.kind()) };
                self.failed(error.to_string(), again, wall_ms).await;
            }
        }
    }

    async fn run_scenario(&self, opened: &Opened, snapshot: Option<&SnapshotFiles>) -> Result<Evidence, EngineError> {
        let failed = |evidence: &Evidence| {
            ScenarioResult::judge(&opened.spec, &self.held.scenario, evidence).status != RowStatus::Pass
        };
        let approvals = self.approvals();
        let attempt = Attempt {
            spec: &opened.spec,
            scenario: &self.held.scenario,
            bundle: &opened.bundle,
            secrets: &opened.secrets,
            identity: Identity {
                experiment: self.held.run.experiment.to_string(),
                scenario: self.held.scenario.id.to_string(),
                job: self.held.lease.job.0,
                attempt: self.held.lease.epoch,
            },
            permissions: self.shared.config.permissions.clone(),
            agent: opened.agent.as_ref(),
            machine: &self.shared.config.machine,
            baselines: &opened.baselines,
            started_at: self.shared.clock.now(),
            keep: match self.shared.config.keep {
                KeepSandbox::Never => Keep::Never,
                KeepSandbox::OnFailure => Keep::When(&failed),
                KeepSandbox::Always => Keep::Always,
            },
            snapshot,
            session: None,
            prompt: None,
            sandbox_id: None,
            approvals: Some(&approvals),
        };
        self.shared.sandboxes.run(&attempt, &self.events(), self.stop.token()).await
    }

    /// The place where people decide on held calls of this attempt.
    fn approvals(&self) -> Arc<dyn Approvals> {
        let (shared, about) = (&self.shared, &self.about);
        Arc::new(StoredApprovals {
            store: shared.store.clone(),
            clock: Arc::clone(&shared.clock),
            ids: Arc::clone(&shared.ids),
            retries: shared.retries.clone(),
            events: self.events(),
            run: about.run,
            scenario: about.scenario.clone(),
            attempt: about.attempt,
            poll: shared.config.poll,
            seen: Mutex::default(),
        })
    }

    /// Returns the channel of events, which go to the journal and to the observer.
    fn events(&self) -> Events {
        let (shared, about) = (Arc::clone(&self.shared), self.about.clone());
        Events::to(move |event: Event| {
            shared.journal.note(&about, event.clone());
            shared.observer.tell(Notice::Happened { job: about.clone(), event });
        })
    }
}

/// Returns the message of a panic.
pub(crate) fn words_of(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a word")
}
