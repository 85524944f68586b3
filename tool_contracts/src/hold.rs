//! The end of a hold: an approval, a refusal, or the deadline.

use crate::call::{Batch, Call};
use crate::code::Code;
use crate::compile::Compiled;
use crate::decide::{Decision, HoldSpec, Layer, Reason, Verdict, decide_without_approval};
use crate::finding::Finding;
use crate::state::SessionState;

/// The decision of an approver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// The call may go on.
    Approved,
    /// The call may not go on.
    Denied,
    /// No decision came in time.
    DeadlinePassed,
}

impl Resolution {
    /// The word for it in records.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Approved => "approve",
            Self::Denied => "deny",
            Self::DeadlinePassed => "timeout",
        }
    }

    /// The resolution with this word.
    #[must_use]
    pub fn find(word: &str) -> Option<Self> {
        [Self::Approved, Self::Denied, Self::DeadlinePassed].into_iter().find(|one| one.name() == word)
    }
}

/// Decides on a held call once it is resolved. It is judged again by the current state: changes during the wait can
/// still refuse it.
#[must_use]
pub fn resolve_hold(
    set: &Compiled,
    state: &SessionState,
    batch: &Batch,
    call: &Call,
    hold: &HoldSpec,
    resolution: Resolution,
) -> (Decision, Vec<Finding>) {
    let refused = |code: Code| {
        let rule = hold.checkpoints.join(", ");
        (Decision::blocked(Layer::L4, vec![Reason::new(code, rule, code.explanation())]), Vec::new())
    };
    let finding = |code: Code| Finding::of_call(code, &call.tool, &call.id, code.explanation());
    let again = || decide_without_approval(set, state, batch, call);
    match resolution {
        Resolution::Denied => refused(Code::CheckpointDenied),
        Resolution::DeadlinePassed if !hold.allows_on_timeout => refused(Code::CheckpointTimeout),
        Resolution::Approved | Resolution::DeadlinePassed => {
            let decision = again();
            let is_blocked = decision.verdict == Verdict::Block;
            let by_itself =
                (resolution == Resolution::DeadlinePassed && !is_blocked).then(|| finding(Code::CheckpointAutoAllowed));
            let invalid = is_blocked.then(|| finding(Code::ApprovedButInvalid));
            (decision, by_itself.into_iter().chain(invalid).collect())
        }
    }
}
