//! Scripted sandboxes, which remember their attempts.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use engine::approvals::ApprovalAnswer;
use engine::attempt::{Attempt, Keep};
use engine::backend::{Identity, Space, Swept};
use engine::error::EngineError;
use engine::event::{Event, Events, Phase};
use scenario::evidence::{
    Answer, Captured, CommandAnswer, Evidence, Exit, ModelRecord, ProviderFailure, ProviderFailureKind,
};
use scenario::interactive::{Ask, CommandReply, Refusal, RefusalKind, Reply, ServiceState};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use worker::{LiveSandbox, Sandboxes};

use crate::approvals::request;

/// Behaviour of a fake sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// The agent succeeds.
    Pass,
    /// The agent succeeds, and prints a lot.
    PassLoudly,
    /// The agent succeeds, and a lot happens meanwhile.
    PassEventfully,
    /// The agent fails.
    Fail,
    /// The provider of the agent's model is down, and the agent fails.
    Outage,
    /// The provider is down, and the agent succeeds all the same.
    PassInOutage,
    /// The provider of the agent's model refuses our key.
    Misconfigured,
    /// We fail, and another attempt could go better.
    Break,
    /// We fail, and another attempt would not go better.
    BreakForGood,
    /// We panic.
    Panic,
    /// Reports that it was cancelled, which nobody asked for.
    CancelItself,
    /// The agent succeeds once the gate is open; it can be stopped before.
    Wait,
    /// The same, but it cannot be stopped, and prints a lot.
    WaitStubbornly,
    /// Waits to be stopped, and then for the gate.
    StopSlowly,
    /// Waits to be stopped, and then fails.
    BreakWhenStopped,
    /// The agent succeeds once a person decided on a call of it.
    Hold,
    /// The same, and then the same call is made with the same approval.
    HoldTwice,
    /// The agent makes a call that is held, and its session ends.
    HoldAndWithdraw,
}

/// Record of an attempt.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) identity: Identity,
    pub(crate) secrets: BTreeMap<String, String>,
    /// The content of `data.txt` beside the spec.
    pub(crate) data: Option<String>,
    pub(crate) kept: Kept,
    /// The name and version of the uploaded agent, and how large its archive is.
    pub(crate) snapshot: Option<(String, i64, usize)>,
}

/// Tells if the sandbox would have been kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    Never,
    Always,
    When { passed: bool, failed: bool },
}

/// Scripted sandboxes.
#[derive(Debug)]
pub(crate) struct Fake {
    acts: Mutex<HashMap<String, VecDeque<Act>>>,
    otherwise: Mutex<Act>,
    seen: Mutex<Vec<Seen>>,
    stopped: Mutex<Vec<Identity>>,
    running: AtomicUsize,
    peak: AtomicUsize,
    gate: watch::Sender<bool>,
    pub(crate) free: AtomicU64,
    /// True when the engine is unavailable.
    pub(crate) is_away: AtomicBool,
    pub(crate) sweeps: AtomicUsize,
    /// Number of sandboxes that have begun to stop slowly.
    pub(crate) stopping: AtomicUsize,
    /// The interactive sandboxes, by id.
    live: Mutex<HashMap<String, Arc<FakeSandbox>>>,
    /// The answers to held calls, or why there was none.
    answers: Mutex<Vec<Result<ApprovalAnswer, String>>>,
    /// Number of removals that fail before one succeeds.
    pub(crate) stuck: Arc<AtomicUsize>,
}

/// A fake interactive sandbox, which echoes requests.
#[derive(Debug)]
pub(crate) struct FakeSandbox {
    /// The values of its secrets.
    pub(crate) secrets: BTreeMap<String, String>,
    /// Reason why it broke.
    broken: watch::Sender<Option<String>>,
    destroyed: AtomicUsize,
    stuck: Arc<AtomicUsize>,
}

impl FakeSandbox {
    /// Breaks it.
    pub(crate) fn break_it(&self, why: &str) {
        self.broken.send_replace(Some(why.to_owned()));
    }

    /// Returns the number of times it was removed.
    pub(crate) fn destroyed(&self) -> usize {
        self.destroyed.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl LiveSandbox for FakeSandbox {
    async fn answer(&self, ask: Ask) -> Result<Reply, Refusal> {
        match ask {
            _ if self.destroyed() > 0 => Err(Refusal::new(RefusalKind::Gone, "it was removed")),
            Ask::Command { command, .. } => {
                Ok(Reply::Command(CommandReply { stdout: command.clone(), command, ..CommandReply::default() }))
            }
            _ => Ok(Reply::Done),
        }
    }

    fn services(&self) -> BTreeMap<String, ServiceState> {
        let mail = ServiceState { host: "mail.services.internal".to_owned(), port: 80, ready: true };
        BTreeMap::from([("mail".to_owned(), mail)])
    }

    async fn ended(&self) -> String {
        let mut broken = self.broken.subscribe();
        let why = broken.wait_for(Option::is_some).await.unwrap().clone();
        why.unwrap()
    }

    async fn destroy(&self) -> Result<(), EngineError> {
        if self.stuck.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Err(broken());
        }
        self.destroyed.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// Counts a sandbox as long as it exists.
struct Counted<'a>(&'a Fake);

impl<'a> Counted<'a> {
    fn new(fake: &'a Fake) -> Self {
        let running = fake.running.fetch_add(1, Ordering::SeqCst) + 1;
        fake.peak.fetch_max(running, Ordering::SeqCst);
        Self(fake)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Fake {
    pub(crate) fn new() -> Self {
        Self {
            acts: Mutex::default(),
            otherwise: Mutex::new(Act::Pass),
            seen: Mutex::default(),
            stopped: Mutex::default(),
            running: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            gate: watch::Sender::new(false),
            free: AtomicU64::new(u64::MAX),
            is_away: AtomicBool::new(false),
            sweeps: AtomicUsize::new(0),
            stopping: AtomicUsize::new(0),
            live: Mutex::default(),
            answers: Mutex::default(),
            stuck: Arc::default(),
        }
    }

    /// Returns an interactive sandbox.
    pub(crate) fn sandbox(&self, id: &str) -> Arc<FakeSandbox> {
        Arc::clone(self.live.lock().unwrap().get(id).expect("the sandbox was made"))
    }

    /// Returns the number of sandboxes that were made and not removed.
    pub(crate) fn live(&self) -> usize {
        self.live.lock().unwrap().values().filter(|sandbox| sandbox.destroyed() == 0).count()
    }

    /// Sets the behaviour of a scenario's attempts, one after the other.
    pub(crate) fn script(&self, scenario: &str, acts: impl IntoIterator<Item = Act>) {
        self.acts.lock().unwrap().insert(scenario.to_owned(), acts.into_iter().collect());
    }

    /// Sets the behaviour of all other scenarios.
    pub(crate) fn otherwise(&self, act: Act) {
        *self.otherwise.lock().unwrap() = act;
    }

    /// Releases the sandboxes that wait at the gate.
    pub(crate) fn open_gate(&self) {
        self.gate.send_replace(true);
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The attempts of a scenario that were seen.
    pub(crate) fn attempts_of(&self, scenario: &str) -> Vec<u32> {
        self.seen()
            .into_iter()
            .filter(|seen| seen.identity.scenario == scenario)
            .map(|seen| seen.identity.attempt)
            .collect()
    }

    /// Returns the attempts that were stopped before their time.
    pub(crate) fn stopped(&self) -> Vec<Identity> {
        self.stopped.lock().unwrap().clone()
    }

    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    /// Returns the highest number of sandboxes that existed at once.
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Ordering::SeqCst)
    }

    fn next_act(&self, scenario: &str) -> Act {
        let scripted = self.acts.lock().unwrap().get_mut(scenario).and_then(VecDeque::pop_front);
        scripted.unwrap_or_else(|| *self.otherwise.lock().unwrap())
    }

    fn see(&self, attempt: &Attempt<'_>) {
        let kept = match attempt.keep {
            Keep::Never => Kept::Never,
            Keep::Always => Kept::Always,
            Keep::When(is_wanted) => {
                Kept::When { passed: is_wanted(&evidence(0, 0)), failed: is_wanted(&evidence(1, 0)) }
            }
        };
        let data = attempt.bundle.read("data.txt").ok().map(|data| String::from_utf8(data).unwrap());
        let snapshot = attempt.snapshot.map(|used| (used.name.clone(), used.version, used.archive.len()));
        let seen = Seen { identity: attempt.identity.clone(), secrets: attempt.secrets.clone(), data, kept, snapshot };
        self.seen.lock().unwrap().push(seen);
    }

    async fn wait_for_gate(&self) {
        let mut gate = self.gate.subscribe();
        gate.wait_for(|open| *open).await.unwrap();
    }

    /// The answers to held calls, or why there was none.
    pub(crate) fn answers(&self) -> Vec<Result<ApprovalAnswer, String>> {
        self.answers.lock().unwrap().clone()
    }

    /// Holds a call as the gateway does.
    async fn hold(&self, act: Act, attempt: &Attempt<'_>) {
        let approvals = attempt.approvals.expect("people can decide");
        let pending = approvals.ask(&request()).await.unwrap();
        if act == Act::HoldAndWithdraw {
            approvals.withdraw(&pending).await;
        }
        for _ in 0..if act == Act::HoldTwice { 2 } else { 1 } {
            let answer = approvals.wait(&pending).await.map_err(|error| error.to_string());
            self.answers.lock().unwrap().push(answer);
        }
    }

    async fn act(&self, act: Act, cancel: &CancellationToken) -> Result<Evidence, EngineError> {
        match act {
            Act::Pass | Act::PassEventfully | Act::Hold | Act::HoldTwice | Act::HoldAndWithdraw => Ok(evidence(0, 0)),
            Act::PassLoudly => Ok(evidence(0, 100_000)),
            Act::Fail => Ok(evidence(1, 0)),
            Act::Outage => Ok(with_provider(ProviderFailureKind::Unavailable, 1)),
            Act::PassInOutage => Ok(with_provider(ProviderFailureKind::Unavailable, 0)),
            Act::Misconfigured => Ok(with_provider(ProviderFailureKind::Refused, 1)),
            Act::Break => Err(broken()),
            Act::BreakForGood => Err(EngineError::UnfitEngine("the engine is unfit".to_owned())),
            Act::Panic => panic!("the sandbox panics as it was told to"),
            Act::CancelItself => Err(EngineError::Cancelled),
            Act::Wait => tokio::select! {
                () = cancel.cancelled() => Err(EngineError::Cancelled),
                () = self.wait_for_gate() => Ok(evidence(0, 0)),
            },
            Act::WaitStubbornly => {
                self.wait_for_gate().await;
                Ok(evidence(0, 100_000))
            }
            Act::StopSlowly => {
                cancel.cancelled().await;
                self.stopping.fetch_add(1, Ordering::SeqCst);
                self.wait_for_gate().await;
                Err(EngineError::Cancelled)
            }
            Act::BreakWhenStopped => {
                cancel.cancelled().await;
                Err(broken())
            }
        }
    }
}

#[async_trait]
impl Sandboxes for Fake {
    async fn run(
        &self,
        attempt: &Attempt<'_>,
        events: &Events,
        cancel: &CancellationToken,
    ) -> Result<Evidence, EngineError> {
        let _counted = Counted::new(self);
        self.see(attempt);
        let act = self.next_act(&attempt.identity.scenario);
        let name = attempt.identity.name();
        for phase in [Phase::Prepare, Phase::Act, Phase::Probe] {
            events.tell(Event::PhaseStarted(phase));
            if phase == Phase::Prepare {
                events.tell(Event::SandboxCreated { name: name.clone() });
            }
            events.tell(Event::PhaseEnded(phase, Duration::from_millis(1)));
            // Others get their turn, as they do with real sandboxes.
            tokio::task::yield_now().await;
        }
        if act == Act::PassEventfully {
            (0..2000).for_each(|number| events.tell(Event::Note(format!("something happened: {number}"))));
        }
        if matches!(act, Act::Hold | Act::HoldTwice | Act::HoldAndWithdraw) {
            self.hold(act, attempt).await;
        }
        let acted = self.act(act, cancel).await;
        if cancel.is_cancelled() {
            self.stopped.lock().unwrap().push(attempt.identity.clone());
        }
        events.tell(Event::PhaseStarted(Phase::Destroy));
        events.tell(Event::SandboxDestroyed { name });
        events.tell(Event::PhaseEnded(Phase::Destroy, Duration::from_millis(1)));
        acted
    }

    async fn open(
        &self,
        attempt: &Attempt<'_>,
        _events: &Events,
        cancel: &CancellationToken,
    ) -> Result<Arc<dyn LiveSandbox>, EngineError> {
        let id = attempt.sandbox_id.expect("a sandbox knows its id").to_owned();
        self.act(self.next_act(&id), cancel).await?;
        let secrets = attempt.secrets.clone();
        let (stuck, broken) = (Arc::clone(&self.stuck), watch::Sender::new(None));
        let sandbox = Arc::new(FakeSandbox { secrets, broken, destroyed: AtomicUsize::new(0), stuck });
        self.live.lock().unwrap().insert(id, Arc::clone(&sandbox));
        Ok(sandbox)
    }

    async fn sweep(&self) -> Result<Swept, EngineError> {
        self.sweeps.fetch_add(1, Ordering::SeqCst);
        Ok(Swept::default())
    }

    async fn make_room(&self, _watermark: u64) -> Result<Space, EngineError> {
        Ok(Space { free: self.free.load(Ordering::SeqCst), evicted: Vec::new() })
    }

    async fn answers(&self) -> Result<(), EngineError> {
        if self.is_away.load(Ordering::SeqCst) { Err(broken()) } else { Ok(()) }
    }
}

fn broken() -> EngineError {
    EngineError::Files { operation: "write a file".to_owned(), cause: io::Error::other("the disk is broken") }
}

/// Makes evidence of an attempt in which the provider of the agent's model failed too.
fn with_provider(kind: ProviderFailureKind, code: i32) -> Evidence {
    let failure = ProviderFailure { kind, message: "the upstream answered 503".to_owned() };
    let record = ModelRecord { provider_failures: vec![failure], ..ModelRecord::default() };
    Evidence { model: Some(record), ..evidence(code, 0) }
}

/// Makes evidence of a check's command that ended with this code, and of an agent that printed this many bytes.
fn evidence(code: i32, printed: usize) -> Evidence {
    let command = CommandAnswer {
        exit: Some(Exit::Code(code)),
        stdout: Captured::default(),
        stderr: Captured::default(),
        image_changes: Vec::new(),
    };
    let mut evidence = Evidence::default();
    evidence.agent.exit = Some(Exit::Code(0));
    evidence.agent.stdout.head = "x".repeat(printed);
    evidence.answers.insert("fine".to_owned(), vec![Answer::Command(command)]);
    evidence
}
