//! Held calls: made known, waited for, and resolved.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::Shared;
use scenario::spec::sections::PauseScope;
use tokio::sync::OwnedMutexGuard;
use tokio_util::task::TaskTracker;
use tool_contracts::canonical::{canonical, hash_text};
use tool_contracts::{Judged, Resolution, Step};

use super::Inner;
use super::approver::Decided;
use super::executions::Permit;
use crate::approvals::ApprovalRequest;

/// A decision that comes later. Callers with the same call wait for the same one.
pub(super) type Later = Shared<Pin<Box<dyn Future<Output = Permit> + Send>>>;

/// The turn of whoever is decided on; `None` while it is given to others.
pub(super) type Turn = Option<OwnedMutexGuard<()>>;

/// The holds of a session.
#[derive(Default)]
pub(super) struct Holds {
    /// Executions that are held, by tool and arguments.
    waiting: Mutex<BTreeMap<String, Waiting>>,
    /// The number of times that each call was held.
    repetitions: Mutex<BTreeMap<String, u64>>,
    tasks: TaskTracker,
}

/// A held execution.
#[derive(Clone)]
pub(super) struct Waiting {
    pub(super) later: Later,
}

impl Holds {
    /// Starts waiting for an execution that is held, for all callers of it.
    pub(super) fn begin(&self, key: &str, work: impl Future<Output = Permit> + Send + 'static) -> Later {
        let task = self.tasks.spawn(work);
        let later: Later = async move { task.await.unwrap_or_else(|_| Permit::broken()) }.boxed().shared();
        let waiting = Waiting { later: later.clone() };
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), waiting);
        later
    }

    /// Runs work that goes on when nobody waits for it any more.
    pub(super) async fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        match self.tasks.spawn(work).await {
            Ok(done) => done,
            Err(failed) => std::panic::resume_unwind(failed.into_panic()),
        }
    }

    /// The hold of the same call.
    pub(super) fn find(&self, key: &str) -> Option<Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Forgets a decision that a caller took: the next call is another one.
    pub(super) fn forget(&self, key: &str) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// Waits for holds that end because the session does.
    pub(super) async fn settle(&self) {
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn count(&self, key: String) -> u64 {
        let mut repetitions = self.repetitions.lock().unwrap_or_else(PoisonError::into_inner);
        let count = repetitions.entry(key).or_default();
        *count += 1;
        *count - 1
    }
}

/// The text by which the same call is known again.
pub(super) fn key_of(tool: &str, arguments: &serde_json::Value) -> String {
    format!("{tool} {}", canonical(arguments))
}

impl Inner {
    /// Resolves every hold of a step. The turn is kept meanwhile, so that nothing else is decided, or given to others where only
    /// the held call pauses. The caller has it again afterwards.
    pub(super) async fn resolve_holds(&self, step: &mut Step, turn: &mut Turn) {
        while let Some(place) = step.next_held() {
            self.resolve_hold(step, place, turn).await;
        }
    }

    async fn resolve_hold(&self, step: &mut Step, place: usize, turn: &mut Turn) {
        let Some(request) = self.request_of(step, place) else { return };
        let arguments = step.calls[place].call.arguments.clone();
        let asked = self.approver.ask(&request, &arguments).await;
        let id = asked.as_ref().ok().and_then(|asked| asked.id().map(ToOwned::to_owned));
        self.with(|live, now| live.hold(now, step, place, id.as_deref()));
        if self.pause_scope == PauseScope::Call {
            *turn = None;
        }
        let decided = match asked {
            Err(unavailable) => Err(unavailable),
            Ok(asked) => tokio::select! {
                decided = asked.wait() => decided,
                () = self.over.cancelled() => {
                    asked.withdraw().await;
                    Ok(Decided { resolution: Resolution::Denied, by: String::new(), note: "the session ended".to_owned() })
                }
            },
        };
        let Decided { resolution, by, note } = decided.unwrap_or_else(|unavailable| {
            let note = unavailable.to_string();
            self.fail(note.clone());
            Decided { resolution: Resolution::Denied, by: String::new(), note }
        });
        if turn.is_none() {
            *turn = Some(Arc::clone(&self.turn).lock_owned().await);
        }
        // The world may be another one by now.
        if let Some(judged) = step.calls.get(place) {
            self.ask_world(std::slice::from_ref(&judged.call)).await;
        }
        self.with(|live, now| live.resolve(now, step, place, resolution, &by, &note));
    }

    /// The request to the approver.
    fn request_of(&self, step: &Step, place: usize) -> Option<ApprovalRequest> {
        let Judged { call, decision } = step.calls.get(place)?;
        let hold = decision.hold.as_ref()?;
        let shown = |value: &serde_json::Value| {
            let text = self.redactor.text(&value.to_string());
            serde_json::from_str(&text).unwrap_or_else(|_| text.into())
        };
        let live = self.live();
        Some(ApprovalRequest {
            session: self.session.clone(),
            call: self.redactor.text(&call.id),
            tool: self.redactor.text(&call.tool),
            arguments_hash: hash_text(&canonical(&call.arguments)),
            contract: live.set().hash.clone(),
            state_version: live.state().version,
            repetition: self.holds.count(key_of(&call.tool, &call.arguments)),
            context: hold.context.iter().map(|(label, value)| (label.clone(), shown(value))).collect(),
            checkpoints: hold.checkpoints.clone(),
            reason: self.redactor.text(&decision.explain()),
            timeout: Duration::from_secs(hold.timeout_seconds),
            allows_on_timeout: hold.allows_on_timeout,
        })
    }
}

impl Inner {
    /// Waits for a held execution as long as its request may stay open.
    pub(super) async fn wait_for(self: &Arc<Self>, key: &str, waiting: Waiting) -> Permit {
        match tokio::time::timeout(self.hold_wait, waiting.later).await {
            Ok(permit) => {
                self.holds.forget(key);
                permit
            }
            Err(_) => Permit::pending(),
        }
    }
}
