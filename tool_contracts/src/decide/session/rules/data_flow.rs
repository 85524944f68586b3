//! `never A, with … from T`: a value from one tool does not appear in an argument of another.

use super::violation;
use crate::decide::{Context, Reason};
use crate::read::rule::{DataFlow, Flow, SessionRule};
use crate::reason::name;
use crate::state::rules::{LeafMatch, Leaves};

/// Returns the reason when an argument contains a value from the tool. The value itself is not shown: it may be a
/// secret.
pub(super) fn problem(
    context: &Context<'_>,
    rule: &SessionRule,
    data_flow: &DataFlow,
    leaves: &[Leaves],
) -> Option<Reason> {
    let found = data_flow.flows.iter().zip(leaves).find_map(|(flow, leaves)| {
        let values = flow.argument.nodes(&context.call.arguments);
        values.into_iter().find_map(|value| leaves.find(value)).map(|found| (flow, found))
    });
    let (flow, found) = found?;
    let (sentence, from) = described(context, flow, found);
    let reason = violation(rule, &sentence, &[from, &context.call.id]);
    Some(reason.at(flow.argument.text()).checked("from", flow.from.name.as_str()))
}

fn described<'a>(context: &Context<'_>, flow: &Flow, found: LeafMatch<'a>) -> (String, &'a str) {
    let (tool, from, path) = (name(&context.call.tool), name(&flow.from.name), &flow.argument);
    match found {
        LeafMatch::From(call) => (format!("`{path}` of {tool} contains a value that {from} gave"), call),
        LeafMatch::Unknown(call) => {
            let sentence =
                format!("{from} gave more than is remembered, so nobody can tell what `{path}` of {tool} contains");
            (sentence, call)
        }
    }
}
