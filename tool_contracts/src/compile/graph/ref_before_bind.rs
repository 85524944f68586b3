//! Slots that cannot be bound before they are read.

use super::Graph;
use crate::code::Code;
use crate::reader::Reader;

/// Reports references whose binder is dead, or can only run in later phases.
pub(super) fn check(graph: &Graph<'_>, reader: &mut Reader) {
    for tool in graph.set.tools.values() {
        for reference in tool.argument_invariants.iter().filter_map(|invariant| invariant.reference.as_ref()) {
            let Some(binder) = graph.set.binders.get(&reference.slot) else { continue };
            let problem = if !graph.live.contains(binder.as_str()) {
                "can never be called"
            } else if !graph.can_precede(binder, &tool.name) {
                "can only be called in later phases"
            } else {
                continue;
            };
            let message = format!("`{}` is bound by `{binder}`, which {problem}", reference.slot);
            reader.diagnostics.report(Code::RefBeforeBind, &reference.place, message).about(&tool.name);
        }
    }
}
