//! Tools as a recorded run used them.

use std::collections::BTreeMap;

use super::{SeenCall, SeenTool};
use crate::offline::{Sighting, TraceEntry, call_of};

/// Returns the tools in a call trace, each with its calls: the model's proposals, and the executions without a
/// proposal.
#[must_use]
pub fn seen_in_trace(trace: &[TraceEntry]) -> Vec<SeenTool> {
    let is_call = |entry: &&TraceEntry| match entry.source {
        Sighting::Proposed => true,
        Sighting::Executed => entry.proposal.is_none(),
        Sighting::Reported => false,
    };
    let mut tools: BTreeMap<&str, Vec<SeenCall>> = BTreeMap::new();
    for entry in trace.iter().filter(is_call) {
        let call = SeenCall { place: entry.seq, arguments: call_of(entry).arguments };
        tools.entry(&entry.tool).or_default().push(call);
    }
    let seen = |(name, calls): (&str, Vec<SeenCall>)| SeenTool { name: name.to_owned(), calls, ..SeenTool::default() };
    tools.into_iter().map(seen).collect()
}
