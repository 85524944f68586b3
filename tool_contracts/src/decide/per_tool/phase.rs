//! R8: the tool is valid in the session's phase, and advances along a declared edge.

use crate::code::Code;
use crate::decide::{Context, Reason};
use crate::read::tool::{Tool, ToolTransitions};
use crate::state::SessionState;

/// Refuses calls in the wrong phase, along an edge that is not declared, or in two directions at once.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    let Some(tool) = context.tool else { return };
    if let Some(reason) = wrong_phase(context.state, tool) {
        reasons.push(reason);
        return;
    }
    let (Some(current), Some(transitions)) = (&context.state.phase, &tool.transitions) else { return };
    let Some(target) = transitions.advances_to.as_ref().filter(|target| target.name != *current) else { return };
    if !context.set.session.phases.leads(current, &target.name) {
        let sentence =
            format!("`{}` would go from `{current}` to `{}`, and there is no such transition", tool.name, target.name);
        reasons.push(
            Reason::new(Code::IllegalTransition, "transitions/advances_to", sentence).found("phase", current.as_str()),
        );
        return;
    }
    let is_other = |to: &&str| *to != current && *to != target.name;
    let advances = context.batch.accepted.iter().filter_map(|call| advance(context, &call.tool));
    if let Some(other) = advances.clone().find(is_other) {
        let sentence = format!("`{}` would go to `{}`, and a call before it goes to `{other}`", tool.name, target.name);
        reasons.push(
            Reason::new(Code::AmbiguousPhaseTransition, "transitions/advances_to", sentence)
                .found("phase", current.as_str()),
        );
    }
}

/// The phase that a call of a tool leads to.
fn advance<'a>(context: &Context<'a>, tool: &str) -> Option<&'a str> {
    let transitions = context.set.tools.get(tool)?.transitions.as_ref()?;
    transitions.advances_to.as_ref().map(|target| target.name.as_str())
}

/// Returns why a tool is not valid in the current phase.
pub(crate) fn wrong_phase(state: &SessionState, tool: &Tool) -> Option<Reason> {
    let current = state.phase.as_ref()?;
    let ToolTransitions { valid_in_phases, .. } = tool.transitions.as_ref()?;
    let valid: Vec<_> = valid_in_phases.as_ref()?.iter().map(|phase| phase.name.as_str()).collect();
    if valid.contains(&current.as_str()) {
        return None;
    }
    let sentence = format!("`{}` is valid in {}, and the phase is `{current}`", tool.name, phases(&valid));
    let reason = Reason::new(Code::WrongPhase, "transitions/valid_in_phases", sentence);
    Some(reason.checked("valid_in_phases", valid.join(", ")).found("phase", current.as_str()))
}

fn phases(names: &[&str]) -> String {
    match names {
        [] => "no phase".to_owned(),
        _ => yaml_tree::nearest::alternatives(names.iter().copied()),
    }
}
