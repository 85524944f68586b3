//! A session whose agent, model and tools are elsewhere: it is told what happens, one request after the other, and answers what may
//! go on.
//!
//! Whoever keeps the requests keeps the session: the same requests, applied again with the times that they had, make the same state
//! and the same hashes in its log. A request that is refused changes nothing, and is not to be kept.

mod answer;
mod held;
mod request;
mod terms;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub use answer::{CallAnswer, HeldAnswer, ModelAnswer, RemoteAnswer, RemovedTool, StepAnswer, StepStatus};
use held::Held;
pub use request::{
    ApprovalTold, CompletionTold, ExecutionTold, ModelRequestTold, OutcomeTold, ProposalTold, RemoteRequest,
    ResultTold, StepTold,
};
pub use terms::RemoteTerms;

use crate::call::{Exchange, ModelRequest, Outcome, Provenance};
use crate::compile::Compiled;
use crate::hold::Resolution;
use crate::live::{
    ExecutionSeen, ExecutionStage, LiveSession, ModelRequestSeen, Now, OfferedTool, ProposedCall, Redact,
    SessionOpening, Step, ToolResultSeen, Via,
};
use crate::state_question::StateAnswer;

/// A session that is told what happens.
pub struct RemoteSession {
    live: LiveSession,
    /// The answers about all steps, by their numbers.
    steps: BTreeMap<u64, StepAnswer>,
    held: Option<Held>,
    /// The hash of the arguments of the call on which nobody decided in time last.
    expired: Option<String>,
}

/// A request that is refused, and changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteRefused {
    /// A call is held, and others wait.
    #[error("the session is paused: step {0} waits for an approval")]
    Paused(u64),
    /// The deadline of the held call has passed, which is to be told first.
    #[error("the deadline of the held call has passed")]
    Due,
    /// Nothing is held.
    #[error("no call waits for an approval")]
    NothingHeld,
    /// The deadline of the held call is still to come.
    #[error("the deadline of the held call has not passed")]
    NotDue,
    /// Nobody decided on the call in time.
    #[error("the deadline of this call has passed")]
    Expired,
    /// The approval is for other arguments.
    #[error("`args_hash` is not that of the held call")]
    OtherArguments,
    /// There is no such open call.
    #[error("there is no open call `{0}`: it was not let out, or is completed already")]
    UnknownCall(String),
    /// The session was killed or closed.
    #[error("the session has ended")]
    Ended,
}

impl RemoteSession {
    /// Opens a session.
    #[must_use]
    pub fn open(set: Arc<Compiled>, opening: SessionOpening, redact: Redact, now: &Now) -> Self {
        Self { live: LiveSession::open(set, opening, redact, now), steps: BTreeMap::new(), held: None, expired: None }
    }

    /// The session itself: its state and its log.
    #[must_use]
    pub fn live(&self) -> &LiveSession {
        &self.live
    }

    /// The answer about a step as it stands.
    #[must_use]
    pub fn step(&self, number: u64) -> Option<&StepAnswer> {
        self.steps.get(&number)
    }

    /// The call that waits for an approval.
    #[must_use]
    pub fn held(&self) -> Option<&HeldAnswer> {
        self.held.as_ref().and_then(|held| self.steps.get(&held.number)?.held.as_ref())
    }

    /// True when a call is held whose deadline has passed.
    #[must_use]
    pub fn is_due(&self, at_ms: u64) -> bool {
        self.held.as_ref().is_some_and(|held| held.deadline_ms <= at_ms)
    }

    /// Takes a request.
    ///
    /// # Errors
    /// The request is not possible now. Nothing has changed.
    pub fn take(&mut self, now: &Now, request: RemoteRequest) -> Result<RemoteAnswer, RemoteRefused> {
        if self.is_due(now.at_ms) != (request == RemoteRequest::Deadline) {
            return Err(match (request, &self.held) {
                (RemoteRequest::Deadline, None) => RemoteRefused::NothingHeld,
                (RemoteRequest::Deadline, Some(_)) => RemoteRefused::NotDue,
                _ => RemoteRefused::Due,
            });
        }
        match request {
            RemoteRequest::ModelRequest(told) => self.when_free()?.model_request(now, told),
            RemoteRequest::Step(told) => self.when_free()?.take_step(now, told),
            RemoteRequest::Execution(told) => self.when_free()?.execution(now, told),
            RemoteRequest::Completion(told) => self.completion(now, told),
            RemoteRequest::Approval(told) => self.approval(now, &told),
            RemoteRequest::Deadline => self.resolve(now, Resolution::DeadlinePassed, "", "the deadline passed"),
            RemoteRequest::Label { label, origin } => {
                self.unless_over()?.change(|live| live.add_label(now, &label, &origin))
            }
            RemoteRequest::Filter { tools } => self.unless_over()?.change(|live| live.set_filter(now, tools)),
            RemoteRequest::Kill { cause } => self.unless_over()?.kill(now, &cause),
            RemoteRequest::Close => self.unless_over()?.close(now),
        }
    }

    fn when_free(&mut self) -> Result<&mut Self, RemoteRefused> {
        match &self.held {
            Some(held) => Err(RemoteRefused::Paused(held.number)),
            None => Ok(self),
        }
    }

    fn unless_over(&mut self) -> Result<&mut Self, RemoteRefused> {
        if self.live.is_over() { Err(RemoteRefused::Ended) } else { Ok(self) }
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is an arm of `take`")]
    fn change(&mut self, work: impl FnOnce(&mut LiveSession)) -> Result<RemoteAnswer, RemoteRefused> {
        work(&mut self.live);
        Ok(RemoteAnswer::Done)
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is an arm of `take`")]
    fn model_request(&mut self, now: &Now, told: ModelRequestTold) -> Result<RemoteAnswer, RemoteRefused> {
        let ModelRequestTold { provider, body, offered, results } = told;
        let seen = ModelRequestSeen {
            request: ModelRequest { provider, body },
            offered: offered.into_iter().map(|(name, schema)| OfferedTool { name, schema }).collect(),
            results: results
                .into_iter()
                .map(|result| ToolResultSeen { id: result.id, text: result.text, is_error: result.is_error })
                .collect(),
        };
        let decision = self.live.request(now, &seen);
        let removed = decision.removed.into_iter().map(|one| RemovedTool { tool: one.tool, reason: one.reason });
        Ok(RemoteAnswer::Model(ModelAnswer { refusal: decision.refusal, removed: removed.collect() }))
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is an arm of `take`")]
    fn take_step(&mut self, now: &Now, told: StepTold) -> Result<RemoteAnswer, RemoteRefused> {
        self.live.add_cost(now, told.cost_micros);
        let proposed =
            told.calls.into_iter().map(|call| ProposedCall { id: call.id, tool: call.tool, arguments: call.arguments });
        let calls = self.live.prepare(proposed.collect());
        self.leave_world_unanswered(now, &calls);
        let exchange = told.exchange.map(|(request, response)| Exchange { request, response });
        let step = self.live.propose(now, calls, exchange);
        Ok(RemoteAnswer::Step(self.settle(now, self.next_number(), step, None)))
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is an arm of `take`")]
    fn execution(&mut self, now: &Now, told: ExecutionTold) -> Result<RemoteAnswer, RemoteRefused> {
        let tool = told.tool.clone();
        let seen = ExecutionSeen { via: Via::Http, tool: told.tool, arguments: told.arguments, model_id: told.call };
        let execution = self.live.execute(now, seen);
        let number = self.next_number();
        let answer = match execution.stage {
            ExecutionStage::Allowed => {
                self.live.dispatched(now, &execution.call, &tool, Via::Http);
                StepAnswer::of_one(number, CallAnswer::let_out(&execution.call, &tool))
            }
            ExecutionStage::Blocked(reason) => {
                StepAnswer::of_one(number, CallAnswer::refused(&execution.call, &tool, reason))
            }
            ExecutionStage::ToJudge(to_judge) => {
                self.leave_world_unanswered(now, std::slice::from_ref(&to_judge.call));
                let step = self.live.judge_execution(now, to_judge);
                return Ok(RemoteAnswer::Step(self.settle(now, number, step, Some(tool))));
            }
        };
        self.steps.insert(number, answer.clone());
        Ok(RemoteAnswer::Step(answer))
    }

    fn completion(&mut self, now: &Now, told: CompletionTold) -> Result<RemoteAnswer, RemoteRefused> {
        if !self.live.state().is_open(&told.call) {
            return Err(RemoteRefused::UnknownCall(told.call));
        }
        let outcome = match told.outcome {
            OutcomeTold::Ok if told.output.is_null() => Outcome::OkEmpty,
            OutcomeTold::Ok => Outcome::Ok(told.output),
            OutcomeTold::Error => Outcome::Error(told.output),
            OutcomeTold::Lost => Outcome::Lost,
        };
        let provenance = if told.is_self_reported { Provenance::SelfReported } else { Provenance::Gateway };
        self.change(|live| live.complete_as(now, &told.call, &outcome, provenance, told.latency_ms))
    }

    /// Nobody here can look at the world: rules that ask about it cannot be evaluated.
    fn leave_world_unanswered(&mut self, now: &Now, calls: &[crate::call::Call]) {
        let nobody = StateAnswer::Unavailable("nobody can look here".to_owned());
        for (call, question) in self.live.questions(calls) {
            self.live.answer(now, &call, &question, &nobody);
        }
    }

    fn next_number(&self) -> u64 {
        self.steps.last_key_value().map_or(1, |(last, _)| last + 1)
    }

    /// Lets the calls of a step out, or holds the first one that needs an approval.
    fn settle(&mut self, now: &Now, number: u64, mut step: Step, execution: Option<String>) -> StepAnswer {
        let answer = match step.next_held().filter(|_| self.live.governs()) {
            Some(place) => {
                self.live.hold(now, &mut step, place, None);
                let held = Held::new(now, number, place, step, execution);
                let answer = held.answer();
                self.held = Some(held);
                answer
            }
            None => {
                let judged = step.calls.clone();
                let released = self.live.release(now, step);
                if let (Some(tool), [judged], [true]) = (&execution, &judged[..], &released.calls[..]) {
                    self.live.dispatched(now, &judged.call.id, tool, Via::Http);
                }
                StepAnswer::decided(number, &judged, &released.calls)
            }
        };
        self.steps.insert(number, answer.clone());
        answer
    }
}

impl fmt::Debug for RemoteSession {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RemoteSession").field("live", &self.live).finish_non_exhaustive()
    }
}
