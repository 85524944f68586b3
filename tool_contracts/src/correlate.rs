//! Pairs the sightings of a call: proposed by the model, executed on the wire, reported back.

use serde_json::Value as Json;

use crate::canonical::canonical;
use crate::code::Code;

/// A proposal, and what was seen of it since.
#[derive(Debug, Clone)]
struct Proposal {
    id: String,
    tool: String,
    arguments: String,
    is_released: bool,
    is_executed: bool,
    is_reported: bool,
}

/// The proposals of a session.
#[derive(Debug, Clone, Default)]
pub struct Correlator {
    proposals: Vec<Proposal>,
    unproposed: u64,
}

/// The proposal that an execution or a result belongs to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pairing {
    /// The id of the proposal; `None` when there is none.
    pub proposal: Option<String>,
    /// The problems with it.
    pub findings: Vec<Code>,
    /// True when a result is the first that is known of the call, so that only the agent says so.
    pub is_self_reported: bool,
}

impl Correlator {
    /// Notes a proposal, and whether it was released.
    pub fn propose(&mut self, id: &str, tool: &str, arguments: &Json, is_released: bool) {
        self.proposals.push(Proposal {
            id: id.to_owned(),
            tool: tool.to_owned(),
            arguments: canonical(arguments),
            is_released,
            is_executed: false,
            is_reported: false,
        });
    }

    /// Excludes refused proposals of the same call, because it is proposed again and released.
    pub fn supersede(&mut self, tool: &str, arguments: &Json) {
        let arguments = canonical(arguments);
        let same = |one: &&mut Proposal| !one.is_released && one.tool == tool && one.arguments == arguments;
        self.proposals.iter_mut().filter(same).for_each(|one| one.is_executed = true);
    }

    /// Pairs an execution: by its id; else with the oldest open proposal of the same tool and arguments; else with the
    /// oldest open one of the same tool that was released.
    pub fn execute(&mut self, tool: &str, arguments: &Json, id: Option<&str>) -> Pairing {
        let arguments = canonical(arguments);
        let open = |wanted: &dyn Fn(&Proposal) -> bool| {
            self.proposals
                .iter()
                .position(|one| !one.is_executed && !one.is_reported && one.tool == tool && wanted(one))
        };
        let found = id
            .and_then(|id| open(&|one| one.id == id))
            .or_else(|| open(&|one| one.arguments == arguments))
            .or_else(|| open(&|one| one.is_released));
        let Some(place) = found else {
            self.unproposed += 1;
            return Pairing { findings: vec![Code::UnproposedCall], ..Pairing::default() };
        };
        let proposal = &mut self.proposals[place];
        proposal.is_executed = true;
        let drifted = (proposal.arguments != arguments).then_some(Code::ArgumentDrift);
        let blocked = (!proposal.is_released).then_some(Code::BlockedCallExecuted);
        let findings = blocked.into_iter().chain(drifted).collect();
        Pairing { proposal: Some(proposal.id.clone()), findings, is_self_reported: false }
    }

    /// Pairs a reported result by the id of its call; `None` when this result was reported before.
    pub fn report(&mut self, id: &str) -> Option<Pairing> {
        let Some(proposal) = self.proposals.iter_mut().rev().find(|one| one.id == id) else {
            return Some(Pairing { findings: vec![Code::OrphanResult], ..Pairing::default() });
        };
        if proposal.is_reported {
            return None;
        }
        proposal.is_reported = true;
        let is_new = !proposal.is_executed;
        let is_blocked = is_new && !proposal.is_released;
        let findings = is_blocked.then_some(Code::BlockedCallExecuted).into_iter().collect();
        Some(Pairing { proposal: Some(id.to_owned()), findings, is_self_reported: is_new })
    }

    /// Returns the number of calls: the proposals, and the executions that nobody proposed.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.proposals.len() as u64 + self.unproposed
    }
}
