//! Sessions under tool contracts as people look at them: a lane with a band for each phase, the calls in it with their
//! decisions, and the rules that were broken.
//!
//! A lane is made from the records of a live session, or from the verdict of a `tool_contract` check. Pages and the
//! terminal show the same lanes. All texts in them are untrusted.

mod call;
mod finding;
mod judged;
mod lane;
mod live;
mod logs;
mod record;
#[cfg(test)]
mod tests;
mod words;
mod workflow;

use serde::Serialize;
use serde_json::Value as Json;

use crate::evidence::Evidence;
use crate::result::ScenarioResult;
pub use call::{Approval, ApprovalDecision, CallDecision, CallOutcome, Hold, LaneCall};
pub use finding::{FindingWeight, LaneFinding, RuleSource, Violation};
pub use lane::{LaneNote, LaneOrigin, LaneRow, PhaseBand, SessionLane};
pub use logs::{ContractLog, contract_logs};

/// All lanes of a scenario.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ToolSessions {
    /// The lanes, in the order in which the sessions opened.
    pub lanes: Vec<SessionLane>,
    /// Handoffs and other events between the sessions.
    pub between: Vec<LaneNote>,
}

impl ToolSessions {
    /// The sessions of a scenario: as they were decided live, or else as its checks judged the calls afterwards.
    #[must_use]
    pub fn of(evidence: Option<&Evidence>, result: Option<&ScenarioResult>) -> Self {
        let invariants = result.map_or(&[][..], |result| &result.invariants);
        Self::of_details(evidence, invariants.iter().map(|one| (one.name.as_str(), &one.verdict.details)))
    }

    /// The same, from the names of invariants and the details of their verdicts.
    pub fn of_details<'a>(evidence: Option<&Evidence>, details: impl IntoIterator<Item = (&'a str, &'a Json)>) -> Self {
        if let Some(record) = evidence.and_then(|evidence| evidence.tool_contracts.as_ref()) {
            let lanes = record.sessions.iter().map(|session| SessionLane::of_record(record.mode, session)).collect();
            return Self { lanes, between: workflow::between(record) };
        }
        let lanes = details.into_iter().filter_map(|(name, details)| SessionLane::of_verdict(name, details)).collect();
        Self { lanes, between: Vec::new() }
    }

    /// True when the scenario had no session under tool contracts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty() && self.between.is_empty()
    }
}
