//! Builds a lane from the verdict of a `tool_contract` check.

use serde::Deserialize as _;
use serde_json::Value as Json;

use super::call::LaneCall;
use super::finding::{FindingWeight, LaneFinding, Violation};
use super::lane::{LaneOrigin, LaneRow, SessionLane};
use super::record::Record;

impl SessionLane {
    /// The lane in the details of a verdict; `None` for the verdict of another check, or one without calls.
    #[must_use]
    pub fn of_verdict(invariant: &str, details: &Json) -> Option<Self> {
        let session = details.get("session").filter(|session| session.get("calls").is_some_and(Json::is_array))?;
        let session = Record(session);
        let calls = session.list("calls").filter_map(|call| LaneCall::deserialize(call).ok());
        let details = Record(details);
        Some(Self {
            origin: LaneOrigin::Judged(invariant.to_owned()),
            session: String::new(),
            role: None,
            parent: None,
            status: String::new(),
            final_phase: details.text("final_phase").map(ToOwned::to_owned),
            rows: calls.map(LaneRow::Call).collect(),
            findings: LaneFinding::of_details(details.0),
            violations: details.number("violations").unwrap_or(0),
            attempts: 0,
            left_out: session.number("left_out").unwrap_or(0),
        })
    }
}

impl LaneFinding {
    /// The findings in the details of a `tool_contract` verdict; nothing for the verdict of another check.
    #[must_use]
    pub fn of_details(details: &Json) -> Vec<Self> {
        let details = Record(details);
        let is_own = details.text("contract").is_some_and(|hash| hash.starts_with("sha256:"));
        let findings = details.records("findings").filter(|_| is_own);
        findings.map(|record| Self { violation: violation(record), ..Self::read(record) }).collect()
    }
}

/// The mark of a finding. The first violation may have been left out of the list, so it is not counted here.
fn violation(record: Record<'_>) -> Option<Violation> {
    let is_violation = LaneFinding::read(record).severity == FindingWeight::Fail;
    let is_first = record.flag("first") == Some(true);
    let mark = if is_first { Violation::First } else { Violation::PossibleConsequence };
    is_violation.then_some(mark)
}
