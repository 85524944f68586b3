//! Phases that no tool leaves.

use super::Graph;
use crate::code::Code;
use crate::reader::Reader;

/// Reports reachable phases, terminal ones left out, that no live tool can leave.
pub(super) fn check(graph: &Graph<'_>, reader: &mut Reader) {
    let phases = &graph.set.session.phases;
    let inner = phases.list.iter().filter(|phase| !phase.is_terminal && phases.reachable.contains(&phase.name.name));
    for phase in inner.filter(|phase| !can_leave(graph, &phase.name.name)) {
        let name = &phase.name;
        let message = format!("no tool that can be called leaves `{}`", name.name);
        reader.diagnostics.report(Code::TrapPhase, &name.place, message).about(&name.name);
    }
}

fn can_leave(graph: &Graph<'_>, phase: &str) -> bool {
    let phases = &graph.set.session.phases;
    graph.live.iter().filter_map(|name| graph.set.tools.get(*name)?.transitions.as_ref()).any(|transitions| {
        let is_valid =
            transitions.valid_in_phases.as_ref().is_none_or(|valid| valid.iter().any(|one| one.name == phase));
        let target = transitions.advances_to.as_ref();
        is_valid && target.is_some_and(|target| target.name != phase && phases.leads(phase, &target.name))
    })
}
