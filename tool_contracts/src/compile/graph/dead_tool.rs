//! Tools that no run can legally call.

use std::collections::BTreeSet;

use super::Graph;
use crate::code::Code;
use crate::compile::Compiled;
use crate::read::tool::Tool;
use crate::reader::Reader;

/// The tools that can be called: those that nothing blocks, and whose prior tools can be called.
pub(super) fn live_tools(set: &Compiled) -> BTreeSet<&str> {
    let mut live: BTreeSet<&str> = BTreeSet::new();
    loop {
        let is_new = |tool: &&Tool| !live.contains(tool.name.as_str()) && can_be_called(tool, set, &live);
        let new: Vec<&str> = set.tools.values().filter(is_new).map(|tool| tool.name.as_str()).collect();
        if new.is_empty() {
            return live;
        }
        live.extend(new);
    }
}

fn can_be_called(tool: &Tool, set: &Compiled, live: &BTreeSet<&str>) -> bool {
    !set.is_gated(tool) && !is_out_of_reach(tool, set) && priors(tool).all(|prior| live.contains(prior))
}

/// True when it is only valid in phases that cannot be reached.
fn is_out_of_reach(tool: &Tool, set: &Compiled) -> bool {
    let phases = &set.session.phases;
    let written = tool.transitions.as_ref().and_then(|transitions| transitions.valid_in_phases.as_ref());
    written.is_some_and(|written| {
        !phases.reachable.is_empty() && !written.iter().any(|phase| phases.reachable.contains(&phase.name))
    })
}

/// The tools that must have been called before.
pub(super) fn priors(tool: &Tool) -> impl Iterator<Item = &str> {
    tool.preconditions.iter().filter_map(|one| one.prior.as_ref()).map(|prior| prior.tool.name.as_str())
}

/// Reports dead tools with the cause.
pub(super) fn check(graph: &Graph<'_>, reader: &mut Reader) {
    for tool in graph.set.tools.values().filter(|tool| !graph.live.contains(tool.name.as_str())) {
        let message = format!("no run can call `{}`: {}", tool.name, cause(tool, graph));
        reader.diagnostics.report(Code::DeadTool, &tool.place, message).about(&tool.name);
    }
}

fn cause(tool: &Tool, graph: &Graph<'_>) -> String {
    if graph.set.is_gated(tool) {
        return "its gate blocks it".to_owned();
    }
    if is_out_of_reach(tool, graph.set) {
        return "none of its phases can be reached".to_owned();
    }
    let dead = priors(tool).find(|prior| !graph.live.contains(prior)).unwrap_or_default();
    format!("it requires `{dead}`, which cannot be called before it")
}
