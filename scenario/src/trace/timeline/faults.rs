//! Faults among the moments of a timeline.

use std::collections::HashSet;

use super::{Kind, Moment, Source, moment};
use crate::evidence::{Evidence, FaultMark, Firing};

impl Moment<'_> {
    /// Returns true if a fault hit it.
    #[must_use]
    pub fn is_faulted(&self, evidence: &Evidence) -> bool {
        match self.source {
            Source::Model(index) => {
                let calls = evidence.model.as_ref().map_or(&[][..], |model| &model.calls);
                calls.get(index).is_some_and(|call| call.fault.is_some())
            }
            Source::Exchange(service, index) => {
                let exchanges = evidence.journals.get(service).map_or(&[][..], |journal| &journal.exchanges);
                exchanges.get(index).is_some_and(|exchange| exchange.fault.is_some())
            }
            Source::Tool(call) => call.at_gateway().is_some_and(|known| known.fault.is_some()),
            Source::Fault(_) => true,
            Source::Event(_) | Source::Audit(_) | Source::Probe(_) => false,
        }
    }
}

/// Adds the faults that no call with a moment of its own is marked with.
pub(super) fn of_faults<'a>(evidence: &'a Evidence, all: &mut Vec<Moment<'a>>) {
    let marks: HashSet<_> = marks(evidence).map(|mark| (mark.rule.as_str(), mark.call)).collect();
    for (index, firing) in evidence.faults.iter().flat_map(|faults| faults.firings.iter().enumerate()) {
        if !marks.contains(&(firing.rule.as_str(), firing.call)) {
            all.push(moment(firing.at_ms, 0, kind(firing), Source::Fault(index)));
        }
    }
}

/// The marks of all calls that have moments of their own.
fn marks(evidence: &Evidence) -> impl Iterator<Item = &FaultMark> {
    let exchanges = evidence.journals.values().flat_map(|journal| &journal.exchanges);
    let calls = evidence.model.iter().flat_map(|model| &model.calls);
    let tools = evidence.call_trace.0.iter().filter_map(|call| call.execution.as_ref()?.fault.as_ref());
    let exchanges = exchanges.filter_map(|exchange| exchange.fault.as_ref());
    exchanges.chain(calls.filter_map(|call| call.fault.as_ref())).chain(tools)
}

/// The kind of the call that a fault hit.
fn kind(firing: &Firing) -> Kind {
    match firing.rule.split(['[', '.']).next().unwrap_or_default() {
        "llm_faults" => Kind::Model,
        "tool_faults" => Kind::Http,
        "service_faults" if !firing.target.ends_with(":connect") => Kind::Database,
        "service_faults" | "network_faults" => Kind::Network,
        // Attacks that stand in the prompt or in a file from the start.
        _ => Kind::Event,
    }
}
