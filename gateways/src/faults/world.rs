//! Faults that are about no call: something in the sandbox changes, at a time or before a call of something else is answered.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use scenario::chaos::{begins_at, ends_at};
use scenario::plan::Seed;
use scenario::spec::ToolMatcher;
use scenario::spec::sections::chaos::FaultStart;
use scenario::spec::sections::{Chaos, ClockFaultMode, FileFaultMode, ToolTarget, Trigger};
use tokio::sync::{Mutex as AsyncMutex, oneshot};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::ledger::{Ledger, Phase};
use super::rule::{Fault, Rule, RuleSet};
use super::{MODEL, ToolRequest};
use crate::clock::Clock;

/// A fault of the sandbox itself.
#[derive(Debug, Clone, PartialEq)]
pub enum WorldMode {
    /// A fault of the sandbox's files.
    File(FileFaultMode),
    /// A fault of the sandbox's clock.
    Clock(ClockFaultMode),
}

/// A fault of the sandbox that changed nothing.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The path of its file leads out of the workspace.
    #[error("its path leaves the workspace")]
    OutsideWorkspace,
    /// The sandbox could not be changed.
    #[error(transparent)]
    Failed(Box<dyn Error + Send + Sync>),
}

/// Carries faults of the sandbox out.
#[async_trait]
pub trait WorldChanger: Debug + Send + Sync {
    /// Begins the fault of a rule, which has this number.
    ///
    /// # Errors
    ///
    /// Fails when nothing was changed, with the reason.
    async fn begin(&self, rule: usize, mode: &WorldMode) -> Result<(), ChangeError>;

    /// Ends the fault of a rule, as far as it has an end, however often it was begun.
    async fn end(&self, rule: usize, mode: &WorldMode);
}

/// The calls that begin a fault.
#[derive(Debug)]
pub(super) enum BeginsAt {
    /// A time since the agent started, in milliseconds.
    Time(u64),
    /// Calls of the model.
    ModelCalls,
    /// Calls of a service; nothing when its glob cannot be compiled, which validation has refused.
    ToolCalls(Option<ToolMatcher>),
}

impl BeginsAt {
    fn of(start: &FaultStart, trigger: &Trigger) -> Self {
        match &start.calls_of {
            None => Self::Time(begins_at(start, trigger)),
            Some(calls) if calls.as_str() == MODEL => Self::ModelCalls,
            Some(calls) => Self::ToolCalls(ToolMatcher::new(&ToolTarget { tool: calls.clone(), match_url: None })),
        }
    }
}

/// The rules of `file_faults` and `clock_faults`, and their state.
#[derive(Debug)]
pub(super) struct WorldFaults {
    rules: Arc<RuleSet<BeginsAt, WorldMode>>,
    changer: Option<Arc<dyn WorldChanger>>,
    state: Arc<State>,
    timers: Mutex<JoinSet<()>>,
}

/// The state that all timers share.
#[derive(Debug)]
struct State {
    /// The faults that hold, by the places of their rules.
    holding: AsyncMutex<BTreeSet<usize>>,
    /// Reasons why faults changed nothing.
    notes: Mutex<Vec<String>>,
    released: CancellationToken,
}

/// A fault that begins.
#[derive(Debug, Clone)]
struct Beginning {
    fault: Fault<WorldMode>,
    /// The time that it lasts, when not to the end.
    lasting: Option<Duration>,
}

impl WorldFaults {
    /// The rules of a chaos cell.
    pub(super) fn new(chaos: &Chaos, seed: Seed, ledger: &mut Ledger) -> Self {
        let files = chaos.file_faults.iter().enumerate().map(|(index, fault)| Rule {
            id: format!("file_faults[{index}]"),
            target: fault.mode.path().map_or("workspace", |path| path.source()).to_owned(),
            matcher: BeginsAt::of(&fault.start, &fault.trigger),
            trigger: fault.trigger.clone(),
            mode: WorldMode::File(fault.mode.clone()),
        });
        let clocks = chaos.clock_faults.iter().enumerate().map(|(index, fault)| Rule {
            id: format!("clock_faults[{index}]"),
            target: "clock".to_owned(),
            matcher: BeginsAt::of(&fault.start, &fault.trigger),
            trigger: fault.trigger.clone(),
            mode: WorldMode::Clock(fault.mode.clone()),
        });
        let state =
            State { holding: AsyncMutex::default(), notes: Mutex::default(), released: CancellationToken::new() };
        let rules = RuleSet::new(files.chain(clocks), seed, ledger);
        Self { rules: Arc::new(rules), changer: None, state: Arc::new(state), timers: Mutex::default() }
    }

    /// Sets the changer that carries the faults out; without it nothing happens.
    pub(super) fn carried_out_by(&mut self, changer: Arc<dyn WorldChanger>) {
        self.changer = Some(changer);
    }

    pub(super) fn rules(&self) -> &RuleSet<BeginsAt, WorldMode> {
        &self.rules
    }

    /// Returns the reasons why faults changed nothing.
    pub(super) fn notes(&self) -> Vec<String> {
        self.state.notes().clone()
    }

    /// True when calls of services begin something.
    pub(super) fn counts_tools(&self) -> bool {
        self.rules.any(|begins| matches!(begins, BeginsAt::ToolCalls(_)))
    }

    /// Begins the faults that begin with the agent, which is about to start, and sets timers for the rest.
    pub(super) async fn start(&self, ledger: &Arc<Mutex<Ledger>>, clock: &Arc<Clock>) {
        let times = self.rules.rules.iter().enumerate().filter_map(|(index, rule)| match rule.matcher {
            BeginsAt::Time(at) => Some((index, at)),
            _ => None,
        });
        for (index, at) in times.collect::<Vec<_>>() {
            if at == 0 {
                let beginning = self.due(ledger, index, 0);
                self.begin(ledger, beginning.into_iter().collect()).await;
            } else {
                self.begin_later(ledger, clock, index, at);
            }
        }
    }

    /// Begins the faults that this call of a service triggers, before it is answered.
    pub(super) async fn before_tool(&self, ledger: &Arc<Mutex<Ledger>>, at_ms: u64, request: ToolRequest<'_>) {
        if !self.counts_tools() {
            return;
        }
        let target = format!("{}:{} {}", request.service, request.method, request.path);
        let fired = self.fired(ledger, at_ms, &target, |begins| match begins {
            BeginsAt::ToolCalls(Some(matcher)) => matcher.matches(request.service, &target, request.url),
            _ => false,
        });
        self.begin(ledger, fired).await;
    }

    /// Begins the faults that this call of the model triggers, before it is answered.
    pub(super) async fn before_model(&self, ledger: &Arc<Mutex<Ledger>>, at_ms: u64) {
        if !self.rules.any(|begins| matches!(begins, BeginsAt::ModelCalls)) {
            return;
        }
        let fired = self.fired(ledger, at_ms, MODEL, |begins| matches!(begins, BeginsAt::ModelCalls));
        self.begin(ledger, fired).await;
    }

    /// The agent has ended: ends everything that holds.
    pub(super) async fn release(&self) {
        self.state.released.cancel();
        let mut timers = std::mem::take(&mut *self.timers());
        while timers.join_next().await.is_some() {}
        let Some(changer) = &self.changer else { return };
        let holding = std::mem::take(&mut *self.state.holding.lock().await);
        // What began last ends first.
        for place in holding.into_iter().rev() {
            changer.end(place, &self.rules.rules[place - self.rules.offset].mode).await;
        }
    }

    /// The fault of a rule that begins at a time, unless chance is against it.
    fn due(&self, ledger: &Mutex<Ledger>, index: usize, at_ms: u64) -> Option<Beginning> {
        let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
        let rule = &self.rules.rules[index];
        let fault = self.rules.fire_one(&mut ledger, index, at_ms, &rule.target)?;
        Some(Beginning { fault, lasting: lasting(&rule.trigger, at_ms) })
    }

    fn fired(
        &self,
        ledger: &Mutex<Ledger>,
        at_ms: u64,
        target: &str,
        is_about: impl Fn(&BeginsAt) -> bool,
    ) -> Vec<Beginning> {
        let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
        if ledger.phase != Phase::During {
            return Vec::new();
        }
        let rules = self.rules.rules.iter().enumerate().filter(|(_, rule)| is_about(&rule.matcher));
        let fired = rules.filter_map(|(index, rule)| {
            let fault = self.rules.fire_one(&mut ledger, index, at_ms, target)?;
            Some(Beginning { fault, lasting: lasting(&rule.trigger, at_ms) })
        });
        fired.collect()
    }

    /// Begins faults, and waits until they have begun. In a task of its own: a client that hangs up must not leave one half begun.
    async fn begin(&self, ledger: &Arc<Mutex<Ledger>>, beginnings: Vec<Beginning>) {
        let Some(changer) = self.changer.clone().filter(|_| !beginnings.is_empty()) else { return };
        let (state, ledger) = (Arc::clone(&self.state), Arc::clone(ledger));
        let (begun, has_begun) = oneshot::channel();
        self.timers().spawn(async move {
            let mut ends = Vec::new();
            for Beginning { fault, lasting } in beginnings {
                if state.begin(&*changer, &ledger, &fault).await {
                    ends.extend(lasting.map(|lasting| (lasting, fault)));
                }
            }
            let _ = begun.send(());
            ends.sort_by_key(|(lasting, _)| *lasting);
            let mut waited = Duration::ZERO;
            for (lasting, fault) in ends {
                if !state.wait(lasting.saturating_sub(waited)).await {
                    return;
                }
                waited = lasting;
                state.end(&*changer, &fault).await;
            }
        });
        let _ = has_begun.await;
    }

    /// Sets a timer for a fault that begins while the agent acts.
    fn begin_later(&self, ledger: &Arc<Mutex<Ledger>>, clock: &Arc<Clock>, index: usize, at_ms: u64) {
        let Some(changer) = self.changer.clone() else { return };
        let (rules, state) = (Arc::clone(&self.rules), Arc::clone(&self.state));
        let (ledger, clock) = (Arc::clone(ledger), Arc::clone(clock));
        self.timers().spawn(async move {
            // The clock starts a moment after the timer does.
            while clock.elapsed_ms() < at_ms {
                if !state.wait(Duration::from_millis(at_ms - clock.elapsed_ms())).await {
                    return;
                }
            }
            let rule = &rules.rules[index];
            let now = clock.elapsed_ms();
            let fault = {
                let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
                rules.fire_one(&mut ledger, index, now, &rule.target)
            };
            let Some(fault) = fault else { return };
            let has_begun = state.begin(&*changer, &ledger, &fault).await;
            if let Some(lasting) = lasting(&rule.trigger, now).filter(|_| has_begun)
                && state.wait(lasting).await
            {
                state.end(&*changer, &fault).await;
            }
        });
    }

    fn timers(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.timers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Begins a fault. One that holds already, or that changes nothing, is none.
    async fn begin(&self, changer: &dyn WorldChanger, ledger: &Mutex<Ledger>, fault: &Fault<WorldMode>) -> bool {
        let mut holding = self.holding.lock().await;
        let is_repeated = fault.mode.is_repeatable();
        let begun = match holding.contains(&fault.rule) && !is_repeated {
            true => Err(None),
            false => changer.begin(fault.rule, &fault.mode).await.map_err(Some),
        };
        match begun {
            Ok(()) => {
                holding.insert(fault.rule);
                true
            }
            Err(reason) => {
                ledger.lock().unwrap_or_else(PoisonError::into_inner).take_back(fault.rule, &fault.mark);
                let note = reason.map(|reason| format!("{} changed nothing: {reason}", fault.mark.rule));
                self.notes().extend(note);
                false
            }
        }
    }

    /// Ends a fault, unless it has ended already.
    async fn end(&self, changer: &dyn WorldChanger, fault: &Fault<WorldMode>) {
        let mut holding = self.holding.lock().await;
        if holding.remove(&fault.rule) {
            changer.end(fault.rule, &fault.mode).await;
        }
    }

    /// Waits; `false` when the agent ends before that.
    async fn wait(&self, time: Duration) -> bool {
        tokio::select! {
            () = self.released.cancelled() => false,
            () = sleep(time) => true,
        }
    }

    fn notes(&self) -> MutexGuard<'_, Vec<String>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WorldMode {
    /// Returns true if it can begin again before it has ended: each jump moves a clock again, and a file is replaced
    /// again.
    fn is_repeatable(&self) -> bool {
        matches!(self, Self::Clock(ClockFaultMode::Jump(_)) | Self::File(FileFaultMode::ChangedUnderneath(_)))
    }
}

/// The time that a fault lasts which began at this time, when not to the end.
fn lasting(trigger: &Trigger, began_ms: u64) -> Option<Duration> {
    ends_at(trigger, began_ms).map(|end| Duration::from_millis(end.saturating_sub(began_ms)))
}
