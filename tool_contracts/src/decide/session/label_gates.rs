//! R16: no label of the session denies the tool.

use crate::code::Code;
use crate::compile::Compiled;
use crate::decide::{Context, Reason};
use crate::reason::name;
use crate::state::SessionState;

/// Refuses tools that a label denies; labels that accepted calls of the batch will set count.
pub(crate) fn judge(context: &Context<'_>, reasons: &mut Vec<Reason>) {
    let in_batch = context.batch.accepted.iter().filter_map(|call| context.set.tools.get(&call.tool));
    let in_batch: Vec<&str> = in_batch.flat_map(|tool| &tool.labels_on_success).map(String::as_str).collect();
    let has = |label: &str| context.state.labels.contains_key(label) || in_batch.contains(&label);
    reasons.extend(denials(context.set, &context.call.tool, has));
}

/// Returns why labels of the state deny a tool.
pub(crate) fn denied(set: &Compiled, state: &SessionState, tool: &str) -> Option<Reason> {
    denials(set, tool, |label| state.labels.contains_key(label)).next()
}

fn denials(set: &Compiled, tool: &str, has: impl Fn(&str) -> bool) -> impl Iterator<Item = Reason> {
    let gates = set.session.policy.label_gates.iter();
    gates.filter(move |gate| gate.denies(tool) && has(&gate.label.name)).map(move |gate| {
        let label = &gate.label.name;
        let sentence = format!("the label `{label}` denies {}", name(tool));
        let reason = Reason::new(Code::LabelGateDenied, gate.rule.clone(), sentence).because(&gate.reason);
        reason.found("label", label.as_str())
    })
}
