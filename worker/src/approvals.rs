//! The place where people see held calls: rows of the store. Servers, pages and commands decide there, so that a hold outlives
//! the worker that asked.
//!
//! A worker asks for the rows that it waits for every now and then, because the decision comes from another process. A database
//! that does not answer for a moment is asked again.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use engine::approvals::{ApprovalAnswer, ApprovalRequest, Approvals, ApprovalsUnavailable, PendingApproval};
use engine::event::Events;
use scenario::event::Event;
use scenario::intervention::Intervention;
use store::{Approval, ApprovalStatus, Clock, Ids, MadeDecision, NewApproval, Retries, RunId, Store, StoreError};
use tokio::time::{Instant, sleep};

use crate::heartbeat::later;

/// The longest time between two looks at a pending approval.
const POLL: Duration = Duration::from_millis(250);
/// The shortest time between two looks for interventions.
const LOOK: Duration = Duration::from_secs(1);
/// The longest time that a database may be unavailable until a held call is refused.
const OUTAGE: Duration = Duration::from_secs(60);
/// The number of tries to withdraw: the deadline ends a request that cannot be withdrawn.
const WITHDRAWALS: u32 = 3;
/// Asking for approvals, as something that is tried again.
const ASKING: &str = "asking for approvals";
/// Looking for interventions of operators, as something that is tried again.
const INTERVENTIONS: &str = "looking for interventions";

/// The approvals of one attempt of a scenario, in the store.
#[derive(Debug)]
pub(crate) struct StoredApprovals {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) retries: Retries,
    /// The events that tell of held calls.
    pub(crate) events: Events,
    pub(crate) run: RunId,
    pub(crate) scenario: String,
    pub(crate) attempt: u32,
    /// The longest time between two looks.
    pub(crate) poll: Duration,
    pub(crate) seen: Mutex<Seen>,
}

/// The memory of an attempt about its approvals.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Approvals that were asked for, by id.
    asked: HashMap<String, NewApproval>,
    /// Approvals that the attempt withdrew itself.
    withdrawn: HashSet<String>,
    /// Approvals whose end was announced.
    told: HashSet<String>,
    /// Approvals that a call of this attempt has used.
    used: HashSet<String>,
}

/// The result of a look at an approval.
enum Looked {
    /// The approval is undecided; the longest time to wait for it.
    Pending(Duration),
    /// The approval needs no more waiting.
    Answered(ApprovalAnswer),
}

#[async_trait]
impl Approvals for StoredApprovals {
    async fn ask(&self, request: &ApprovalRequest) -> Result<PendingApproval, ApprovalsUnavailable> {
        let new = self.new_approval(request);
        let approval = patiently(&self.retries, || self.store.ask_for_approval(&new, self.clock.now())).await?;
        self.tell_held(&approval, new);
        Ok(PendingApproval { id: approval.new.id })
    }

    async fn wait(&self, pending: &PendingApproval) -> Result<ApprovalAnswer, ApprovalsUnavailable> {
        loop {
            match patiently(&self.retries, || self.look(&pending.id)).await? {
                Looked::Pending(left) => sleep(left.min(self.poll).min(POLL).max(Duration::from_millis(1))).await,
                Looked::Answered(answer) => {
                    self.take(&pending.id, &answer)?;
                    self.tell_decided(&pending.id, &answer);
                    return Ok(answer);
                }
            }
        }
    }

    async fn withdraw(&self, pending: &PendingApproval) {
        self.seen().withdrawn.insert(pending.id.clone());
        let mut observer = self.retries.observe(ASKING);
        for _ in 0..WITHDRAWALS {
            match self.store.withdraw_approval(&pending.id, self.clock.now()).await {
                Ok(_) => return,
                Err(error) => observer.failed(error),
            };
            sleep(POLL).await;
        }
    }

    async fn next_intervention(&self, after: u64) -> (u64, Intervention) {
        let mut observer = self.retries.observe(INTERVENTIONS);
        loop {
            match self.store.next_intervention(self.run, &self.scenario, after).await {
                Ok(Some(next)) => return next,
                Ok(None) => observer.succeeded(),
                Err(error) => {
                    observer.failed(error);
                }
            }
            sleep(self.poll.max(LOOK)).await;
        }
    }
}

impl StoredApprovals {
    fn new_approval(&self, request: &ApprovalRequest) -> NewApproval {
        let request = request.clone();
        NewApproval {
            id: format!("ap_{}", self.ids.hex(24)),
            run: self.run,
            scenario: self.scenario.clone(),
            session: request.session,
            tool: request.tool,
            arguments_hash: request.arguments_hash,
            contract: request.contract,
            repetition: request.repetition,
            call: request.call,
            state_version: request.state_version,
            context: request.context,
            checkpoints: request.checkpoints,
            reason: request.reason,
            deadline: later(self.clock.now(), request.timeout),
            allows_on_timeout: request.allows_on_timeout,
        }
    }

    /// Reads an approval. One whose deadline has passed expires, unless a person decides at this moment. One that was
    /// approved is used up by this attempt before the call goes on.
    async fn look(&self, id: &str) -> Result<Looked, StoreError> {
        let now = self.clock.now();
        let missing = || StoreError::NotFound(format!("the approval `{id}` was removed"));
        let approval = self.store.approval(id).await?.ok_or_else(missing)?;
        Ok(match (approval.status, approval.decision) {
            (ApprovalStatus::Pending, _) if approval.new.deadline > now => {
                Looked::Pending(Duration::try_from(approval.new.deadline.duration_since(now)).unwrap_or_default())
            }
            (ApprovalStatus::Pending, _) => {
                self.store.expire_approval(id, now).await?;
                Looked::Pending(Duration::ZERO)
            }
            (ApprovalStatus::Approved | ApprovalStatus::Used, decision) => {
                if !self.store.use_approval(id, self.attempt).await? {
                    return Err(StoreError::Conflict(format!("the approval `{id}` is used by a later attempt")));
                }
                let MadeDecision { by, note, .. } = decision.unwrap_or_else(nobody);
                Looked::Answered(ApprovalAnswer::Approved { by, note })
            }
            (ApprovalStatus::Denied, decision) => {
                let MadeDecision { by, note, .. } = decision.unwrap_or_else(nobody);
                Looked::Answered(ApprovalAnswer::Denied { by, note })
            }
            (ApprovalStatus::Expired, _) => Looked::Answered(ApprovalAnswer::DeadlinePassed),
            (ApprovalStatus::Withdrawn, _) => self.ask_again(id).await?,
        })
    }

    /// Requests again an approval that an earlier attempt withdrew late, when this attempt already waited for it.
    async fn ask_again(&self, id: &str) -> Result<Looked, StoreError> {
        let wanted = {
            let seen = self.seen();
            seen.asked.get(id).filter(|_| !seen.withdrawn.contains(id)).cloned()
        };
        let withdrawn = || StoreError::Conflict(format!("the approval `{id}` was withdrawn"));
        self.store.ask_for_approval(&wanted.ok_or_else(withdrawn)?, self.clock.now()).await?;
        Ok(Looked::Pending(Duration::ZERO))
    }

    /// Marks an approval as used by one call of this attempt.
    fn take(&self, id: &str, answer: &ApprovalAnswer) -> Result<(), ApprovalsUnavailable> {
        let is_approved = matches!(answer, ApprovalAnswer::Approved { .. });
        if is_approved && !self.seen().used.insert(id.to_owned()) {
            return Err(ApprovalsUnavailable { reason: format!("the approval `{id}` was used by another call") });
        }
        Ok(())
    }

    /// Announces once that a call waits. An approval that was decided before, by an earlier attempt, is not announced.
    fn tell_held(&self, approval: &Approval, asked: NewApproval) {
        let NewApproval { id, tool, deadline, .. } = &approval.new;
        let is_new = self.seen().asked.insert(id.clone(), asked).is_none();
        if is_new && approval.status_at(self.clock.now()) == ApprovalStatus::Pending {
            let (approval, tool) = (id.clone(), tool.clone());
            self.events.tell(Event::CallHeld { approval, tool, deadline: *deadline });
        }
    }

    fn tell_decided(&self, id: &str, answer: &ApprovalAnswer) {
        let (word, by) = match answer {
            ApprovalAnswer::Approved { by, .. } => ("approved", by.as_str()),
            ApprovalAnswer::Denied { by, .. } => ("denied", by.as_str()),
            ApprovalAnswer::DeadlinePassed => ("expired", ""),
        };
        let mut seen = self.seen();
        let tool = seen.asked.get(id).map(|asked| asked.tool.clone()).unwrap_or_default();
        if !seen.told.insert(id.to_owned()) {
            return;
        }
        drop(seen);
        let (approval, answer, by) = (id.to_owned(), word.to_owned(), by.to_owned());
        self.events.tell(Event::CallDecided { approval, tool, answer, by });
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn nobody() -> MadeDecision {
    MadeDecision { by: String::new(), key: String::new(), note: String::new() }
}

/// Retries a question to the store for some time while the database fails.
async fn patiently<T, F>(retries: &Retries, ask: impl FnMut() -> F + Send) -> Result<T, ApprovalsUnavailable>
where
    F: Future<Output = Result<T, StoreError>> + Send,
{
    within(OUTAGE, POLL, retries, ask).await
}

async fn within<T, F>(
    outage: Duration,
    pause: Duration,
    retries: &Retries,
    mut ask: impl FnMut() -> F + Send,
) -> Result<T, ApprovalsUnavailable>
where
    F: Future<Output = Result<T, StoreError>> + Send,
{
    let until = Instant::now() + outage;
    let mut observer = retries.observe(ASKING);
    loop {
        match ask().await {
            Ok(answer) => {
                observer.succeeded();
                return Ok(answer);
            }
            Err(error) if may_pass(&error) && Instant::now() < until => {
                observer.failed(&error);
                sleep(pause).await;
            }
            Err(error) => return Err(ApprovalsUnavailable { reason: error.to_string() }),
        }
    }
}

/// Returns true if the store may answer in a moment.
fn may_pass(error: &StoreError) -> bool {
    matches!(error, StoreError::Database(_) | StoreError::Server { .. })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use store::{Retries, StoreError};

    use super::within;

    const OUTAGE: Duration = Duration::from_millis(300);
    const PAUSE: Duration = Duration::from_millis(10);

    /// Fails this many times with an error; returns the number of tries, and whether the last one succeeded.
    async fn check(failures: u32, error: fn() -> StoreError) -> (u32, bool) {
        let tried = AtomicU32::new(0);
        let ask = || {
            let tries = tried.fetch_add(1, Ordering::SeqCst) + 1;
            async move { if tries <= failures { Err(error()) } else { Ok(()) } }
        };
        let went_well = within(OUTAGE, PAUSE, &Retries::told_to(drop), ask).await.is_ok();
        (tried.into_inner(), went_well)
    }

    fn away() -> StoreError {
        StoreError::Server { host: "db".to_owned(), database: "t".to_owned(), reason: "it restarts".to_owned() }
    }

    #[tokio::test]
    async fn a_database_that_restarts_is_asked_again_for_some_time() {
        assert_eq!(check(5, away).await, (6, true));
        let (tried, went_well) = check(u32::MAX, away).await;
        assert!(!went_well && tried > 2, "{tried}");
        assert_eq!(check(1, || StoreError::NotFound("it was removed".to_owned())).await, (1, false));
    }
}
