//! Declared edges that no tool performs.

use super::Graph;
use crate::code::Code;
use crate::reader::Reader;

/// Reports edges between phases along which no tool advances.
pub(super) fn check(graph: &Graph<'_>, reader: &mut Reader) {
    for (from, targets) in &graph.set.session.phases.transitions {
        for target in targets.iter().filter(|target| target.name != *from && !is_performed(graph, from, &target.name)) {
            let message = format!("no tool advances from `{from}` to `{}`", target.name);
            reader.diagnostics.report(Code::UnrealizedTransition, &target.place, message).about(from);
        }
    }
}

fn is_performed(graph: &Graph<'_>, from: &str, to: &str) -> bool {
    graph.set.tools.values().filter_map(|tool| tool.transitions.as_ref()).any(|transitions| {
        let is_valid =
            transitions.valid_in_phases.as_ref().is_none_or(|valid| valid.iter().any(|one| one.name == from));
        is_valid && transitions.advances_to.as_ref().is_some_and(|target| target.name == to)
    })
}
