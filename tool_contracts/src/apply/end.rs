//! The end of a session.

use super::rules;
use crate::code::Code;
use crate::compile::Compiled;
use crate::decide::session::aggregates::violation;
use crate::finding::Finding;
use crate::state::aggregate::bounds;
use crate::state::{SessionState, Status};

/// Closes a session, and judges what only its end shows.
pub(super) fn apply(set: &Compiled, state: &mut SessionState) -> Vec<Finding> {
    let mut findings: Vec<_> = unfinished(set, state).into_iter().collect();
    for (aggregate, kept) in set.session.aggregates.iter().zip(&state.aggregates).filter(|(one, _)| one.is_at_end) {
        let bounds = bounds(aggregate, &state.bindings);
        let Some(figure) = kept.figure(aggregate.metric, &[]) else { continue };
        if !bounds.hold(aggregate.metric, figure) {
            let reason = violation(aggregate, &bounds, figure, "at the end of the session it is");
            findings.push(Finding::of_reason(&reason, "", ""));
        }
    }
    findings.extend(rules::end(set, state));
    if !state.is_final() {
        state.status = Status::Closed;
    }
    findings
}

fn unfinished(set: &Compiled, state: &SessionState) -> Option<Finding> {
    let phase = set.session.phases.get(state.phase.as_ref()?)?;
    if phase.is_terminal {
        return None;
    }
    let message = format!("the session ended in the phase `{}`, which is not terminal", phase.name.name);
    Some(Finding::of_session(Code::SessionNotTerminal, "phases", message))
}
