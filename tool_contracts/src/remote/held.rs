//! The held call of a remote session: approved, denied, or left until its deadline.

use super::answer::{CallAnswer, HeldAnswer, StepAnswer, StepStatus};
use super::request::ApprovalTold;
use super::{RemoteAnswer, RemoteRefused, RemoteSession};
use crate::canonical::{canonical, hash_text};
use crate::hold::Resolution;
use crate::live::{Now, Step};

/// A step of which a call waits for an approval.
pub(super) struct Held {
    pub(super) number: u64,
    place: usize,
    step: Step,
    /// The tool, for an execution that goes out at once when it is approved.
    execution: Option<String>,
    pub(super) deadline_ms: u64,
}

impl Held {
    pub(super) fn new(now: &Now, number: u64, place: usize, step: Step, execution: Option<String>) -> Self {
        let hold = step.calls.get(place).and_then(|judged| judged.decision.hold.as_ref());
        let seconds = hold.map_or(0, |hold| hold.timeout_seconds);
        let deadline_ms = now.at_ms.saturating_add(seconds.saturating_mul(1000));
        Self { number, place, step, execution, deadline_ms }
    }

    fn arguments_hash(&self) -> String {
        let arguments = self.step.calls.get(self.place).map(|judged| canonical(&judged.call.arguments));
        hash_text(&arguments.unwrap_or_default())
    }

    /// The answer about the step while it waits: nothing is let out.
    pub(super) fn answer(&self) -> StepAnswer {
        let calls = self.step.calls.iter().map(|judged| CallAnswer::of(judged, false)).collect();
        let held = self.step.calls.get(self.place).and_then(|judged| {
            let hold = judged.decision.hold.as_ref()?;
            Some(HeldAnswer {
                step: self.number,
                call: judged.call.id.clone(),
                tool: judged.call.tool.clone(),
                args_hash: self.arguments_hash(),
                context: hold.context.clone(),
                checkpoints: hold.checkpoints.clone(),
                deadline_ms: self.deadline_ms,
                allows_on_timeout: hold.allows_on_timeout,
            })
        });
        StepAnswer { step: self.number, status: StepStatus::Held, calls, held }
    }
}

impl RemoteSession {
    pub(super) fn approval(&mut self, now: &Now, told: &ApprovalTold) -> Result<RemoteAnswer, RemoteRefused> {
        let Some(held) = &self.held else {
            let is_expired = self.expired.as_ref() == Some(&told.args_hash);
            return Err(if is_expired { RemoteRefused::Expired } else { RemoteRefused::NothingHeld });
        };
        if held.arguments_hash() != told.args_hash {
            return Err(RemoteRefused::OtherArguments);
        }
        let resolution = if told.is_approved { Resolution::Approved } else { Resolution::Denied };
        self.resolve(now, resolution, &told.by, &told.note)
    }

    pub(super) fn resolve(
        &mut self,
        now: &Now,
        resolution: Resolution,
        by: &str,
        note: &str,
    ) -> Result<RemoteAnswer, RemoteRefused> {
        let held = self.held.take().ok_or(RemoteRefused::NothingHeld)?;
        if resolution == Resolution::DeadlinePassed {
            self.expired = Some(held.arguments_hash());
        }
        let Held { number, place, mut step, execution, .. } = held;
        let calls = step.calls.get(place).map(|judged| judged.call.clone());
        // The world may be another one by now.
        self.leave_world_unanswered(now, calls.as_slice());
        self.live.resolve(now, &mut step, place, resolution, by, note);
        Ok(RemoteAnswer::Step(self.settle(now, number, step, execution)))
    }

    pub(super) fn kill(&mut self, now: &Now, cause: &str) -> Result<RemoteAnswer, RemoteRefused> {
        self.live.kill(now, cause);
        self.deny_held(now);
        Ok(RemoteAnswer::Done)
    }

    pub(super) fn close(&mut self, now: &Now) -> Result<RemoteAnswer, RemoteRefused> {
        self.deny_held(now);
        self.live.close(now);
        Ok(RemoteAnswer::Done)
    }

    /// Denies everything that waits, because the session ends.
    fn deny_held(&mut self, now: &Now) {
        while self.held.is_some() {
            let _ = self.resolve(now, Resolution::Denied, "", "the session ended");
        }
    }
}
