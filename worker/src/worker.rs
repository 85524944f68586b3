//! A worker's life: look, start the jobs that fit, wait, look again.

use std::sync::Arc;
use std::time::Duration;

use store::{ClaimRequest, Demand, Held, HeldSandbox, Pulse, SandboxClaim, StoreError};
use tokio::task::{self, JoinSet};
use tokio::time::Instant;

use crate::artifact_place::{ArtifactPlace, Keeping};
use crate::control::{Control, Order};
use crate::engine_health::AWAY;
use crate::execute::Execution;
use crate::heartbeat::expiry;
use crate::idle_reason::reason;
use crate::interactive::{Interactive, Life};
use crate::maintenance::Looked;
use crate::notice::Notice;
use crate::registration::Standing;
use crate::slots::{Room, Slots, Taken, What};
use crate::stop::{Stop, Why};
use crate::wakeup_listener::Listening;
use crate::{Parts, Shared};

/// Time limit of the last sweep once everything else has ended.
const LAST_SWEEP: Duration = Duration::from_secs(30);

/// Looking for something to do, as something that is tried again.
pub(crate) const LOOKING: &str = "looking for something to do";

/// Failures of the store in a row after which a worker that is to empty its queue ends.
const PATIENCE: u64 = 10;

/// Takes jobs and does them.
///
/// A worker that is dropped leaves its jobs to other workers, which find that their leases expired; ask its [`Control`]
/// to end it in good order.
#[derive(Debug)]
pub struct Worker {
    pub(crate) shared: Arc<Shared>,
    jobs: JoinSet<()>,
    pub(crate) slots: Slots,
    pub(crate) sweeping: JoinSet<()>,
    control: Control,
    pub(crate) looked: Looked,
    pub(crate) standing: Arc<Standing>,
    pub(crate) place: ArtifactPlace,
    interactive: Interactive,
    _listening: Listening,
}

/// Outcome of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticked {
    /// Number of jobs and sandboxes that were started.
    pub started: usize,
    /// Number of jobs and sandboxes that are running.
    pub running: usize,
    /// True when jobs wait for room on the disk, or for a place where evidence can be kept.
    pub blocked: bool,
}

impl Worker {
    /// A worker that has not looked yet.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let (shared, control) = (Arc::new(Shared::new(parts)), Control::default());
        let listening = Listening::start(Arc::clone(&shared), control.clone());
        let place = ArtifactPlace::new(&shared.retries);
        Self {
            shared,
            jobs: JoinSet::new(),
            slots: Slots::default(),
            sweeping: JoinSet::new(),
            control,
            looked: Looked::default(),
            standing: Arc::default(),
            place,
            interactive: Interactive::default(),
            _listening: listening,
        }
    }

    /// Ticks once: collects ended jobs, reclaims jobs of dead workers, starts new ones.
    pub async fn tick(&mut self) -> Result<Ticked, StoreError> {
        while let Some(ended) = self.jobs.try_join_next_with_id() {
            self.collect(ended);
        }
        self.obey();
        self.look_for_the_gone().await?;
        self.sweep();
        let mut started = 0;
        let mut blocked = false;
        let away = self.waits_for_engine().await;
        while self.control.order() == Order::Work && !away {
            let room = match self.slots.room(&self.shared.config) {
                Room::None => break,
                Room::For(demand) => Some(demand),
                Room::Any => None,
            };
            let keeping = self.keeping().await;
            if !self.disk().await.is_enough || keeping == Keeping::Blocked {
                blocked = true;
                break;
            }
            if keeping == Keeping::Later {
                break;
            }
            if !self.take_sandbox(room).await? && !self.take_job(room).await? {
                break;
            }
            started += 1;
        }
        self.tell_standing().await?;
        Ok(Ticked { started, running: self.slots.len(), blocked })
    }

    /// Takes a job that there is room for, if one is ready.
    async fn take_job(&mut self, room: Option<Demand>) -> Result<bool, StoreError> {
        let request = ClaimRequest {
            lane: self.shared.config.lane,
            worker: self.shared.config.worker,
            token: self.shared.ids.token(),
            now: self.shared.clock.now(),
            until: expiry(&self.shared),
            room,
            limits: self.shared.config.limits,
        };
        let asked = Instant::now();
        let held = self.shared.store.claim(&request).await?;
        Ok(held.map(|held| self.start(held, asked)).is_some())
    }

    /// Claims an interactive sandbox that there is room for, if one is wanted.
    async fn take_sandbox(&mut self, room: Option<Demand>) -> Result<bool, StoreError> {
        let Some(service) = &self.shared.config.service else { return Ok(false) };
        // Sandboxes stay for long: jobs always have a slot, where there are several.
        let most = service.sandboxes.unwrap_or_else(|| self.shared.config.slots.saturating_sub(1).max(1));
        if self.slots.sandboxes() >= most {
            return Ok(false);
        }
        let claim = SandboxClaim {
            worker: self.shared.config.worker,
            token: self.shared.ids.token(),
            now: self.shared.clock.now(),
            until: expiry(&self.shared),
            room,
        };
        let asked = Instant::now();
        let held = self.shared.store.claim_sandbox(&claim).await?;
        Ok(held.map(|held| self.start_sandbox(held, asked)).is_some())
    }

    /// Reports the worker's state, and the reason why it takes no jobs.
    async fn tell_standing(&mut self) -> Result<(), StoreError> {
        if self.shared.config.service.is_none() {
            return Ok(());
        }
        let (config, order) = (&self.shared.config, self.control.order());
        let next = match self.slots.room(config) {
            Room::For(_) => self.shared.store.next_demand(config.lane, self.shared.clock.now()).await?,
            Room::None | Room::Any => None,
        };
        let disk = self.looked.disk();
        self.standing.say(Pulse {
            running: u32::try_from(self.slots.len()).unwrap_or(u32::MAX),
            free_disk: disk.map_or(0, |disk| disk.free),
            reason: reason(config, order, &self.slots, (disk, self.obstacle()), next),
            problems: self.shared.retries.failing(),
        });
        Ok(())
    }

    /// Returns the reason why no job could be done now, whatever room there is.
    fn obstacle(&self) -> Option<String> {
        let away = self.shared.absence.is_known().then(|| AWAY.to_owned());
        away.or_else(|| self.why_not_kept())
    }

    /// Waits until another look is worth it: a job ended, one that waits for its time is ready, another process told of new
    /// ones, or some time has passed.
    pub async fn wait(&mut self) {
        let pause = self.pause().await;
        self.rest(pause).await;
    }

    /// Works until no job of its lane is left, neither waiting nor being done, by whomever; or until it is asked to end, or
    /// the disk has no room for more.
    ///
    /// A store that does not answer for a moment is no reason to end.
    pub async fn run_until_empty(&mut self) -> Result<(), StoreError> {
        let mut observer = self.shared.retries.observe(LOOKING);
        let mut failures = 0;
        loop {
            match self.is_done().await {
                Ok(true) => return Ok(()),
                Ok(false) => {
                    failures = 0;
                    observer.succeeded();
                }
                Err(error) if failures == PATIENCE => return Err(error),
                Err(error) => failures = observer.failed(error),
            }
            self.wait().await;
        }
    }

    /// Ticks once; returns true if nothing is left to do.
    async fn is_done(&mut self) -> Result<bool, StoreError> {
        let ticked = self.tick().await?;
        let closed = self.control.order() != Order::Work || ticked.blocked;
        Ok(ticked.running == 0 && (closed || self.is_empty().await?))
    }

    /// Returns a handle that gives orders to the worker while it works.
    #[must_use]
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// The sandboxes of this worker that people work in, and the way to ask about them.
    #[must_use]
    pub fn interactive(&self) -> Interactive {
        self.interactive.clone()
    }

    /// Waits for some time, or until something was asked for.
    pub(crate) async fn rest(&mut self, pause: Duration) {
        tokio::select! {
            Some(ended) = self.jobs.join_next_with_id() => self.collect(ended),
            () = self.control.changed() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }

    /// Waits for jobs that are being done, and for everything to be written down. It takes further orders meanwhile.
    pub async fn finish(mut self) {
        loop {
            self.obey();
            tokio::select! {
                ended = self.jobs.join_next_with_id() => match ended {
                    Some(ended) => self.collect(ended),
                    None => break,
                },
                () = self.control.changed() => {}
            }
        }
        let swept = async { while self.sweeping.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_SWEEP, swept).await;
        self.sweeping.shutdown().await;
        self.shared.journal.written().await;
    }

    fn start(&mut self, held: Held, asked: Instant) {
        let stop = Arc::new(Stop::default());
        let taken = Taken { what: What::Job(held.lease.clone()), demand: held.demand, stop: Arc::clone(&stop) };
        let execution = Execution::new(Arc::clone(&self.shared), held, stop);
        let task = self.jobs.spawn(execution.run(asked));
        self.slots.take(task.id(), taken);
    }

    fn start_sandbox(&mut self, held: HeldSandbox, asked: Instant) {
        let stop = Arc::new(Stop::default());
        let taken = Taken { what: What::Sandbox, demand: held.sandbox.new.demand, stop: Arc::clone(&stop) };
        let (shared, interactive) = (Arc::clone(&self.shared), self.interactive.clone());
        let task = self.jobs.spawn(Life { shared, interactive, held, stop }.run(asked));
        self.slots.take(task.id(), taken);
    }

    fn obey(&self) {
        match self.control.order() {
            Order::Work => {}
            // They could be wanted for a day.
            Order::Drain => self.slots.stop_sandboxes(Why::Released),
            Order::Release => self.slots.stop_all(Why::Released),
            Order::Cancel => self.slots.stop_all(Why::Cancelled),
        }
    }

    fn collect(&mut self, ended: Result<(task::Id, ()), task::JoinError>) {
        let task = match ended {
            Ok((task, ())) => task,
            Err(error) => {
                // Its lease runs out, and then it is tried again.
                self.shared.observer.tell(Notice::Problem(format!("a job ended in an unexpected way: {error}")));
                error.id()
            }
        };
        self.slots.free(task);
    }

    /// Returns true if no job of the lane is left. A job that another worker does counts as left, for it may have to be
    /// done again.
    async fn is_empty(&self) -> Result<bool, StoreError> {
        let (store, lane) = (&self.shared.store, self.shared.config.lane);
        Ok(store.next_ready(lane).await?.is_none() && store.held().await?.iter().all(|held| held.lane != lane))
    }

    async fn pause(&self) -> Duration {
        let poll = self.shared.config.poll;
        // Without room for another job it does not matter when one is ready: the next look is when one ends.
        if self.slots.room(&self.shared.config) == Room::None {
            return poll;
        }
        let now = self.shared.clock.now();
        match self.shared.store.next_ready(self.shared.config.lane).await {
            Ok(Some(ready)) if ready > now => {
                Duration::try_from(ready.duration_since(now)).unwrap_or(poll).max(Duration::from_millis(1)).min(poll)
            }
            _ => poll,
        }
    }
}
