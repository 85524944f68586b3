//! Blocked tools that other rules need.

use super::Graph;
use super::dead_tool::priors;
use crate::code::Code;
use crate::reader::Reader;

/// Reports blocked tools that are named as a prior tool, bind a slot that is read, or are an envelope's reference.
pub(super) fn check(graph: &Graph<'_>, reader: &mut Reader) {
    for tool in graph.set.tools.values().filter(|tool| graph.set.is_gated(tool)) {
        if let Some(need) = need(graph, &tool.name) {
            let message = format!("`{}` is blocked, and {need}", tool.name);
            reader.diagnostics.report(Code::GateConflict, &tool.place, message).about(&tool.name);
        }
    }
}

fn need(graph: &Graph<'_>, name: &str) -> Option<String> {
    let set = graph.set;
    if let Some(other) = set.tools.values().find(|other| priors(other).any(|prior| prior == name)) {
        return Some(format!("`{}` requires it", other.name));
    }
    let reads = |slot: &str| set.binders.get(slot).is_some_and(|binder| binder == name);
    let reader = set.tools.values().find(|other| {
        other.argument_invariants.iter().filter_map(|one| one.reference.as_ref()).any(|one| reads(&one.slot))
    });
    if let Some(other) = reader {
        return Some(format!("`{}` reads what it binds", other.name));
    }
    let envelope =
        set.session.envelopes.iter().find(|envelope| envelope.references().any(|(_, stage)| stage.tool.name == name));
    envelope.map(|envelope| format!("the envelope `{}` needs its value", envelope.name.name))
}
