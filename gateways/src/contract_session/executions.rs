//! Executions: permitted before they are carried out, and completed before they are answered.

use std::sync::Arc;

use serde_json::Value as Json;
use tokio::sync::OwnedMutexGuard;
use tool_contracts::{ExecutionSeen, ExecutionStage, Outcome, Reason, Step, Via};

use super::holds::{Turn, Waiting, key_of};
use super::workflow::Entered;
use super::{ContractSession, Inner};

/// An execution that is about to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutionRequest {
    /// The way on which it came.
    pub via: Via,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Json,
    /// The model's id of the call, where the agent's client tells it.
    pub model_id: Option<String>,
}

/// The leave to carry a call out, or the reason why there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum Permit {
    /// The agent has not started, so that nothing is decided.
    NotJudged,
    /// The call may be carried out, and is to be completed under this id.
    Granted(String),
    /// The call may not be carried out.
    Refused {
        /// The call's id in the session.
        call: String,
        /// The reason.
        reason: Box<Reason>,
    },
    /// The call waits for a person's decision, and the request does not wait any longer. The same call again waits for
    /// the same decision.
    Pending,
    /// The session broke off, so that nothing was decided.
    Broken,
}

impl Permit {
    pub(super) fn pending() -> Self {
        Self::Pending
    }

    pub(super) fn broken() -> Self {
        Self::Broken
    }
}

impl ContractSession {
    /// Requests permission to carry a call out. Waits while another call is held, and while this one is.
    pub async fn permit(&self, request: ExecutionRequest) -> Permit {
        Arc::clone(&self.inner).permit(request).await
    }

    /// Records the outcome of a call. It must be called before the agent gets the answer.
    pub fn complete(&self, call: &str, outcome: &Outcome, latency_ms: u64) {
        self.inner.with(|live, now| live.complete(now, call, outcome, latency_ms));
        self.inner.leave_workflow(call);
    }
}

impl Inner {
    async fn permit(self: Arc<Self>, request: ExecutionRequest) -> Permit {
        if !self.has_begun() {
            return Permit::NotJudged;
        }
        let key = key_of(&request.tool, &request.arguments);
        if let Some(waiting) = self.holds.find(&key) {
            return self.wait_for(&key, waiting).await;
        }
        let entered = match self.enter_workflow(&request).await {
            Ok(entered) => entered,
            Err(refused) => return refused,
        };
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let ExecutionRequest { via, tool, arguments, model_id } = request;
        let seen = ExecutionSeen { via, tool: tool.clone(), arguments, model_id };
        let execution = self.with(|live, now| live.execute(now, seen));
        let call = execution.call;
        match execution.stage {
            ExecutionStage::Allowed => self.granted(call, &tool, via, entered).await,
            ExecutionStage::Blocked(reason) => Permit::Refused { call, reason: Box::new(reason) },
            ExecutionStage::ToJudge(to_judge) => {
                self.ask_world(std::slice::from_ref(&to_judge.call)).await;
                let step = self.with(|live, now| live.judge_execution(now, to_judge));
                self.judged(call, (&tool, via), step, turn, entered).await
            }
        }
    }

    /// Finishes an execution that was judged: at once, or when a person has decided.
    async fn judged(
        self: &Arc<Self>,
        call: String,
        (tool, via): (&str, Via),
        step: Step,
        turn: OwnedMutexGuard<()>,
        entered: Option<Entered>,
    ) -> Permit {
        let mut turn = Some(turn);
        if !self.waits_for_somebody(&step) {
            return self.finish(call, (tool, via), step, entered, &mut turn).await;
        }
        let (inner, tool) = (Arc::clone(self), tool.to_owned());
        let key = step.calls.first().map(|judged| key_of(&tool, &judged.call.arguments)).unwrap_or_default();
        let later = self.holds.begin(&key, async move {
            let permit = inner.finish(call, (&tool, via), step, entered, &mut turn).await;
            drop(turn);
            permit
        });
        self.wait_for(&key, Waiting { later }).await
    }

    /// True when a step cannot be decided at once. Only in govern mode anybody is waited for.
    fn waits_for_somebody(&self, step: &Step) -> bool {
        step.next_held().is_some() && self.live().governs()
    }

    async fn finish(
        &self,
        call: String,
        (tool, via): (&str, Via),
        mut step: Step,
        entered: Option<Entered>,
        turn: &mut Turn,
    ) -> Permit {
        if self.waits_for_somebody(&step) {
            self.resolve_holds(&mut step, turn).await;
        }
        let released = self.with(|live, now| live.release(now, step));
        match released.refusal {
            Some((_, reason)) if released.is_empty() => Permit::Refused { call, reason: Box::new(reason) },
            _ => self.granted(call, tool, via, entered).await,
        }
    }

    async fn granted(&self, call: String, tool: &str, via: Via, entered: Option<Entered>) -> Permit {
        if let Some(entered) = entered
            && let Err(reason) = self.dispatch_in_workflow(&call, tool, entered).await
        {
            return Permit::Refused { call, reason: Box::new(reason) };
        }
        self.with(|live, now| live.dispatched(now, &call, tool, via));
        Permit::Granted(call)
    }
}
