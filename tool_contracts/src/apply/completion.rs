//! The end of a call: whether it commits, and what that changes.

use serde_json::Value as Json;

use super::rules;
use crate::call::{Outcome, Provenance};
use crate::code::Code;
use crate::compile::Compiled;
use crate::finding::Finding;
use crate::options::Mode;
use crate::read::tool::{CommitRequirement, EvidenceClass, Tool};
use crate::state::aggregate::Contribution;
use crate::state::{OpenCall, Prior, SessionState};

/// The effect of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// It happened: everything applies.
    Committed,
    /// It may have happened: what restricts applies, and what permits does not.
    Uncertain,
    /// It did not happen.
    Rejected,
}

/// Applies the end of a call.
pub(super) fn apply(
    set: &Compiled,
    state: &mut SessionState,
    id: &str,
    outcome: &Outcome,
    provenance: Provenance,
) -> Vec<Finding> {
    let Some(open) = state.open.remove(id) else {
        return vec![Finding::of_call(Code::OrphanResult, "", id, "there is no open call with this id")];
    };
    state.aggregates.iter_mut().for_each(|aggregate| aggregate.release(id));
    rules::forget_answers(state, id);
    let tool = set.tools.get(&open.tool);
    let mut findings = Vec::new();
    match commit_of(set, tool, outcome, provenance) {
        Effect::Committed => {
            state.consecutive_errors = 0;
            restrict(set, state, id, &open, outcome);
            permit(set, state, id, &open, outcome, &mut findings);
        }
        Effect::Uncertain => {
            restrict(set, state, id, &open, outcome);
            let message = format!("it cannot be told whether the call of `{}` happened", open.tool);
            findings.push(Finding::of_call(Code::CommitUncertain, &open.tool, id, message));
        }
        Effect::Rejected => {
            rules::withdraw(state, id);
            findings.extend(count_error(set, state, id, &open, outcome));
        }
    }
    findings.extend(rules::overdue(set, state));
    findings
}

fn commit_of(set: &Compiled, tool: Option<&Tool>, outcome: &Outcome, provenance: Provenance) -> Effect {
    let requirement = tool.map_or(CommitRequirement::Acknowledged, |tool| tool.commit_requirement);
    let evidence = tool.map_or(EvidenceClass::LocalTransaction, |tool| tool.evidence_class);
    let needs_nothing = requirement == CommitRequirement::None || evidence == EvidenceClass::Unverifiable;
    let is_hearsay = provenance == Provenance::SelfReported
        && set.run.mode == Mode::Govern
        && !set.run.trust_self_reported
        && tool.is_some_and(|tool| tool.side_effect.is_high_risk());
    match outcome {
        Outcome::Error(_) => Effect::Rejected,
        _ if is_hearsay => Effect::Uncertain,
        Outcome::Ok(_) => Effect::Committed,
        Outcome::OkEmpty if needs_nothing || evidence == EvidenceClass::AckOnly => Effect::Committed,
        Outcome::Lost if needs_nothing => Effect::Committed,
        Outcome::OkEmpty | Outcome::Lost => Effect::Uncertain,
    }
}

/// The effects that count against later calls.
fn restrict(set: &Compiled, state: &mut SessionState, id: &str, open: &OpenCall, outcome: &Outcome) {
    rules::restrict(set, state, id, open, outcome);
    for (aggregate, kept) in set.session.aggregates.iter().zip(&mut state.aggregates) {
        if let Ok(Some(contribution)) = Contribution::of(aggregate, &open.tool, &open.arguments) {
            kept.commit(&contribution);
        }
    }
    for (envelope, kept) in set.session.envelopes.iter().zip(&mut state.envelopes) {
        kept.advance(envelope, &open.tool, &open.arguments);
    }
    let Some(tool) = set.tools.get(&open.tool) else { return };
    for forbidden in &tool.forbids_after {
        state.forbidden.entry(forbidden.name.clone()).or_insert_with(|| id.to_owned());
    }
    for label in &tool.labels_on_success {
        state.labels.entry(label.clone()).or_insert_with(|| id.to_owned());
    }
}

/// The effects that count for later calls.
fn permit(
    set: &Compiled,
    state: &mut SessionState,
    id: &str,
    open: &OpenCall,
    outcome: &Outcome,
    findings: &mut Vec<Finding>,
) {
    rules::permit(set, state, id, open);
    let nothing = Json::Null;
    let output = if let Outcome::Ok(output) = outcome { output } else { &nothing };
    for (envelope, kept) in set.session.envelopes.iter().zip(&mut state.envelopes) {
        kept.capture(envelope, &open.tool, &open.arguments, output);
    }
    let Some(tool) = set.tools.get(&open.tool) else { return };
    advance_phase(set, state, tool);
    if let Some(needed) = set.needed.get(&tool.name) {
        let prior = Prior {
            step: open.step,
            call: id.to_owned(),
            arguments: needed.arguments.of(&open.arguments),
            output: needed.output.of(output),
        };
        state.history.entry(tool.name.clone()).or_default().push(prior);
    }
    for bind in &tool.binds {
        match bind.source.value(&bind.path, &open.arguments, output) {
            Some(value) => {
                state.bindings.insert(bind.slot.name.clone(), (value.clone(), id.to_owned()));
            }
            None => {
                let message = format!("`{}` was not there to bind to `{}`", bind.path, bind.slot.name);
                findings.push(Finding::of_call(Code::BindPathMissing, &tool.name, id, message));
            }
        }
    }
}

/// Advances along a declared edge; a call that ran although it was refused changes no phase otherwise.
fn advance_phase(set: &Compiled, state: &mut SessionState, tool: &Tool) {
    let target = tool.transitions.as_ref().and_then(|transitions| transitions.advances_to.as_ref());
    if let (Some(current), Some(target)) = (&state.phase, target)
        && set.session.phases.leads(current, &target.name)
    {
        state.phase = Some(target.name.clone());
    }
}

/// Counts an error, unless the contract expects it.
fn count_error(
    set: &Compiled,
    state: &mut SessionState,
    id: &str,
    open: &OpenCall,
    outcome: &Outcome,
) -> Option<Finding> {
    let Outcome::Error(error) = outcome else { return None };
    let allowed = set.tools.get(&open.tool).map_or(&[][..], |tool| tool.allowed_errors.as_slice());
    if allowed.iter().any(|one| one.covers(error)) {
        return None;
    }
    state.consecutive_errors += 1;
    if set.session.limits.consecutive_errors.is_some_and(|most| state.consecutive_errors >= most) {
        state.kill("circuit_breaker_errors");
    }
    let message = format!("`{}` answered with an error that its contract does not expect", open.tool);
    Some(Finding::of_call(Code::UnexpectedError, &open.tool, id, message))
}
