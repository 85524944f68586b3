//! Tools that require each other.

use std::collections::BTreeSet;

use super::Graph;
use super::dead_tool::priors;
use crate::code::Code;
use crate::compile::Compiled;
use crate::reader::Reader;

/// Reports every tool that requires itself, directly or through others.
pub(super) fn check(graph: &Graph<'_>, reader: &mut Reader) {
    for tool in graph.set.tools.values() {
        if required(&tool.name, graph.set).contains(tool.name.as_str()) {
            let message = format!("`{}` requires itself, through its preconditions", tool.name);
            reader.diagnostics.report(Code::PreconditionCycle, &tool.place, message).about(&tool.name);
        }
    }
}

/// All tools that must have been called before a tool.
fn required<'a>(name: &str, set: &'a Compiled) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut next: Vec<&str> = set.tools.get(name).map(|tool| priors(tool).collect()).unwrap_or_default();
    while let Some(prior) = next.pop() {
        if found.insert(prior) {
            next.extend(set.tools.get(prior).into_iter().flat_map(priors));
        }
    }
    found
}
