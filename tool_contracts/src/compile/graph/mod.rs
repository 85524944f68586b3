//! Graph checks: rules that cannot work together, although each is right by itself.
//!
//! To add one: a file with a function that reports, a line in [`check`], and a code of the class `Warning`.

mod dead_tool;
mod envelope_unreferenced;
mod gate_conflict;
mod label_never_set;
mod precondition_cycle;
mod ref_before_bind;
mod trap_phase;
mod unrealized_transition;

use std::collections::BTreeSet;

use super::Compiled;
use crate::read::tool::Tool;
use crate::reader::Reader;

/// The data of the checks about a set.
pub(crate) struct Graph<'a> {
    pub(crate) set: &'a Compiled,
    /// The tools that some run can legally call.
    pub(crate) live: BTreeSet<&'a str>,
}

/// Runs every check.
pub(super) fn check(set: &Compiled, reader: &mut Reader) {
    let graph = Graph::new(set);
    dead_tool::check(&graph, reader);
    precondition_cycle::check(&graph, reader);
    trap_phase::check(&graph, reader);
    unrealized_transition::check(&graph, reader);
    ref_before_bind::check(&graph, reader);
    envelope_unreferenced::check(&graph, reader);
    gate_conflict::check(&graph, reader);
    label_never_set::check(&graph, reader);
}

impl<'a> Graph<'a> {
    pub(crate) fn new(set: &'a Compiled) -> Self {
        Self { set, live: dead_tool::live_tools(set) }
    }

    /// The phases in which a tool may be called; `None` when it may be in all.
    fn phases(&self, tool: &'a Tool) -> Option<Vec<&'a str>> {
        let phases = &self.set.session.phases;
        let written = tool.transitions.as_ref()?.valid_in_phases.as_ref().filter(|_| phases.is_declared())?;
        let names = written.iter().map(|phase| phase.name.as_str());
        Some(names.filter(|name| phases.reachable.is_empty() || phases.reachable.contains(*name)).collect())
    }

    /// True when calls of `earlier` can come before a call of `later`, or in the same phase.
    fn can_precede(&self, earlier: &str, later: &str) -> bool {
        let tool = |name: &str| self.set.tools.get(name);
        let (Some(earlier), Some(later)) = (tool(earlier), tool(later)) else { return true };
        match (self.phases(earlier), self.phases(later)) {
            (Some(before), Some(after)) => before.iter().any(|from| {
                let reach = self.set.session.phases.reach(from);
                after.iter().any(|to| reach.contains(*to))
            }),
            _ => true,
        }
    }
}
